package chain

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"maps"
	"os"
	"slices"

	"github.com/gonutch/crawler/sdk/extension/urlnormalizer"
	"github.com/gonutch/crawler/sdk/manifest"
)

// fingerprint hashes everything that decides over URLs. Every part is written
// with its length, so that no two configurations run together.
func (c *Chains) fingerprint() (string, error) {
	h := sha256.New()
	part(h, fmt.Sprintf("loops %d", c.opts.NormalizerLoops))
	for _, point := range []string{manifest.URLNormalizer, manifest.URLFilter} {
		part(h, point)
		for _, m := range c.order[point] {
			if err := hashMember(h, m); err != nil {
				return "", err
			}
		}
	}
	for n := range len(scopeList()) {
		for _, m := range c.urls.order(scopeList()[n]) {
			part(h, m.id)
		}
		part(h, string(scopeList()[n]))
	}
	return hex.EncodeToString(h.Sum(nil)[:16]), nil
}

func scopeList() []urlnormalizer.Scope {
	return []urlnormalizer.Scope{
		urlnormalizer.ScopeDefault, urlnormalizer.ScopeInject, urlnormalizer.ScopeOutlink,
		urlnormalizer.ScopeFetcher, urlnormalizer.ScopeCrawlDB, urlnormalizer.ScopeLinkDB,
		urlnormalizer.ScopeGenerateHostCount, urlnormalizer.ScopePartition, urlnormalizer.ScopeIndexer,
	}
}

func part(h hash.Hash, s string) {
	_, _ = fmt.Fprintf(h, "%d:", len(s))
	_, _ = io.WriteString(h, s)
}

// hashMember writes the plugin's identity and settings, and the bytes of the
// files its settings name.
func hashMember(h hash.Hash, m *member) error {
	part(h, m.id)
	part(h, m.man.Version)
	part(h, string(m.man.Source))
	part(h, string(m.settings.Own))
	for _, section := range m.man.Sections {
		part(h, section)
		part(h, string(m.settings.Sections[section]))
	}
	own := map[string]json.RawMessage{}
	if len(m.settings.Own) > 0 {
		if err := json.Unmarshal(m.settings.Own, &own); err != nil {
			return fmt.Errorf("settings of plugin %s: %w", m.id, err)
		}
	}
	if err := hashFiles(h, m.man.Settings, own); err != nil {
		return fmt.Errorf("plugin %s: %w", m.id, err)
	}
	for i := range m.man.Blocks {
		b := &m.man.Blocks[i]
		named := map[string]map[string]json.RawMessage{}
		if raw, ok := own[b.Name]; ok {
			if err := json.Unmarshal(raw, &named); err != nil {
				return fmt.Errorf("plugin %s: %s: %w", m.id, b.Name, err)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(named)) {
			if err := hashFiles(h, b.Settings, named[name]); err != nil {
				return fmt.Errorf("plugin %s: %s %q: %w", m.id, b.Name, name, err)
			}
		}
	}
	return nil
}

// hashFiles adds the bytes of the files that values names.
func hashFiles(h hash.Hash, settings []manifest.Setting, values map[string]json.RawMessage) error {
	for i := range settings {
		s := &settings[i]
		if s.Type != manifest.File || len(values[s.Name]) == 0 {
			continue
		}
		var path string
		if err := json.Unmarshal(values[s.Name], &path); err != nil {
			return fmt.Errorf("setting %s: %w", s.Name, err)
		}
		if path == "" {
			continue
		}
		if err := hashFile(h, path); err != nil {
			return fmt.Errorf("setting %s: %w", s.Name, err)
		}
	}
	return nil
}

func hashFile(h hash.Hash, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return err
	}
	part(h, hex.EncodeToString(sum.Sum(nil)))
	return nil
}
