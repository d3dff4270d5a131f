package config

import (
	"fmt"
	"os"
	"regexp"
	"strings"

	"github.com/gonutch/crawler/sdk/hclconf"
	"github.com/gonutch/crawler/sdk/manifest"
)

// maxMapping bounds protocol.mapping_file.
const maxMapping = 16 << 20

// protocolMapping reads Nutch's host-protocol-mapping.txt: by host, registered
// domain or scheme the id of the plugin that fetches it.
func (ch *chooser) protocolMapping(chosen []*manifest.Manifest) map[string]string {
	out := map[string]string{}
	e := ch.c.entry("protocol.mapping_file")
	if e == nil {
		return out
	}
	name, _ := e.value.(string)
	if name == "" {
		return out
	}
	raw, err := readMapping(e, name)
	if err != nil {
		ch.problems = append(ch.problems, e.wrong(err))
		return out
	}
	n := 0
	for line := range strings.Lines(raw) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		wrong := ""
		key, id, ok := strings.Cut(line, "\t")
		key, id = strings.ToLower(strings.TrimSpace(key)), strings.TrimSpace(id)
		if !ok || key == "" || id == "" {
			wrong = "want a host or protocol:scheme, a tab and the id of a plugin"
		} else if m, why := ch.pick(id, manifest.Protocol, chosen); why != "" {
			wrong = why
		} else {
			out[strings.TrimPrefix(key, "protocol:")] = m.ID
		}
		if wrong != "" {
			ch.problems = append(ch.problems, hclconf.Problem{Where: fmt.Sprintf("%s:%d", name, n), Text: wrong})
		}
	}
	return out
}

// protocolRules reads protocol.rules.
func (ch *chooser) protocolRules(chosen []*manifest.Manifest) []ProtocolRule {
	e := ch.c.entry("protocol.rules")
	if e == nil {
		return nil
	}
	list, _ := e.value.([]string)
	var out []ProtocolRule
	for i, text := range list {
		id, pattern, _ := strings.Cut(strings.TrimSpace(text), " ")
		pattern = strings.TrimSpace(pattern)
		if pattern == "" {
			ch.problems = append(ch.problems, e.element(i, "%q: want the id of a plugin, a space and a regular expression", text))
			continue
		}
		m, why := ch.pick(id, manifest.Protocol, chosen)
		if why != "" {
			ch.problems = append(ch.problems, e.element(i, "%s", why))
			continue
		}
		re, err := regexp.Compile(pattern)
		if err != nil {
			ch.problems = append(ch.problems, e.element(i, "%q is no regular expression: %s", pattern, strings.TrimPrefix(err.Error(), "error parsing regexp: ")))
			continue
		}
		out = append(out, ProtocolRule{ID: m.ID, URL: re})
	}
	return out
}

func readMapping(e *entry, name string) (string, error) {
	path, err := e.path(name)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if info.Size() > maxMapping {
		return "", fmt.Errorf("%s has more than %d bytes", path, maxMapping)
	}
	raw, err := os.ReadFile(path)
	return string(raw), err
}
