package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"strconv"
	"strings"

	"github.com/gonutch/crawler/sdk/manifest"
)

// conventional are the files that Nutch's plugins read when no property names another.
func conventional() map[string]string {
	return map[string]string{
		"urlfilter.regex.file": "regex-urlfilter.txt", "urlfilter.automaton.file": "automaton-urlfilter.txt", "urlfilter.prefix.file": "prefix-urlfilter.txt",
		"urlfilter.suffix.file": "suffix-urlfilter.txt", "urlfilter.domain.file": "domain-urlfilter.txt",
		"urlfilter.domaindenylist.file": "domaindenylist-urlfilter.txt", "urlfilter.fast.file": "fast-urlfilter.txt",
		"db.ignore.external.exemptions.file": "db-ignore-external-exemptions.txt", "urlnormalizer.regex.file": "regex-normalize.xml",
		"urlnormalizer.hosts.file": "host-urlnormalizer.txt", "urlnormalizer.protocols.file": "protocols.txt", "urlnormalizer.slashes.file": "slashes.txt",
		"mimetype.filter.file": "mimetype-filter.txt", "subcollections.config": "subcollections.xml", "parsefilter.regex.file": "regex-parsefilter.txt",
		"parsefilter.naivebayes.trainfile": "naivebayes-train.txt", "parsefilter.naivebayes.wordlist": "naivebayes-wordlist.txt",
		"scoring.similarity.stopword.file": "stopwords.txt", "cosine.goldstandard.file": "goldstandard.txt",
	}
}

// ruleFiles names the files of chosen plugins, whose formats are Nutch's here, too.
func (im *importer) ruleFiles() {
	for _, m := range im.o.Manifests {
		for i := range m.Settings {
			s := &m.Settings[i]
			name := conventional()[s.Nutch]
			if _, given := im.values[s.Nutch]; name == "" || given || !im.chosen(m.ID) {
				continue
			}
			if path, ok := im.file(name); ok {
				im.set("plugin "+manifest.Literal(m.ID), s.Name+" = "+manifest.Literal(path))
			}
		}
	}
}

// coreFiles names the files of the core that Nutch reads when no property names another.
func (im *importer) coreFiles() {
	on := func(property, value string) bool { return strings.HasSuffix(im.resolve(im.values[property]), value) }
	for _, x := range []struct {
		property, file string
		section, key   string
		used           bool
	}{
		{"http.agent.host.cookie.file", "cookies.txt", "http", "cookie_file", true},
		{"http.agent.rotate.file", "agents.txt", "http", "agent_rotate_file", on("http.agent.rotate", "true")},
		{"http.auth.file", "httpclient-auth.xml", "http", "auth_file", strings.Contains(im.values["plugin.includes"], "protocol-httpclient")},
		{"db.fetch.schedule.mime.file", "adaptive-mimetypes.txt", "db", "fetch_schedule_mime_file", on("db.fetch.schedule.class", "MimeAdaptiveFetchSchedule")},
	} {
		if _, given := im.values[x.property]; given || !x.used {
			continue
		}
		if path, ok := im.file(x.file); ok {
			im.set(x.section, x.key+" = "+manifest.Literal(path))
		}
	}
	for _, x := range [][2]string{
		{"date-styles.txt", "index-more reads dates in all usual forms, without a list of patterns"},
		{"tika-config.xml", "a Tika server has its own configuration"},
		{"log4j2.xml", "logging is configured in log { ... }"},
	} {
		if _, ok := im.file(x[0]); ok {
			im.leave("%s: %s", x[0], x[1])
		}
	}
}

// lines calls f with the lines of a file beside nutch-site.xml, without comments and blank ones;
// not at all when there is no such file.
func (im *importer) lines(name string, f func(n int, line string)) error {
	b, err := os.ReadFile(im.named("", name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	n := 0
	for line := range strings.Lines(string(b)) {
		n++
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			f(n, line)
		}
	}
	return nil
}

// protocols translates host-protocol-mapping.txt.
func (im *importer) protocols() error {
	const name = "host-protocol-mapping.txt"
	plugins := map[string]string{}
	err := im.lines(name, func(n int, line string) {
		key, id, ok := strings.Cut(line, "\t")
		key, id = strings.TrimPrefix(strings.ToLower(strings.TrimSpace(key)), "protocol:"), strings.TrimSpace(id)
		switch m := im.protocolOf(id); {
		case !ok || key == "" || id == "":
			im.leave("%s:%d: want a host or protocol:scheme, a tab and an extension", name, n)
		case m == nil:
			im.leave("%s:%d: there is no plugin for %s here", name, n, id)
		case !im.chosen(m.ID):
			im.leave("%s:%d: plugin.includes does not take %s", name, n, m.ID)
		default:
			plugins[key] = m.ID
		}
	})
	if len(plugins) > 0 {
		im.set("protocol", "plugins = "+manifest.Literal(plugins))
	}
	return err
}

// protocolOf is the plugin that does the work of one of Nutch's, which is named by its id or an
// extension id, such as org.apache.nutch.protocol.okhttp.OkHttp; nil when there is none.
func (im *importer) protocolOf(name string) *manifest.Manifest {
	if m := regexp.MustCompile(`\.protocol\.(\w+)\.\w+$`).FindStringSubmatch(name); m != nil {
		name = "protocol-" + m[1]
	}
	if to := successors()[name]; to != "" {
		name = to
	}
	return Provider(name, manifest.Protocol, im.o.Manifests)
}

// contentTypes translates contenttype-mapping.txt, a line of which has a name and the MIME types that it
// stands for.
func (im *importer) contentTypes() error {
	types := map[string]string{}
	err := im.lines("contenttype-mapping.txt", func(_ int, line string) {
		names := strings.Split(line, "\t")
		for _, t := range names[1:] {
			if t = strings.TrimSpace(t); t != "" {
				types[t] = strings.TrimSpace(names[0])
			}
		}
	})
	if len(types) > 0 && im.values["moreIndexingFilter.mapMimeTypes"] == "true" && im.chosen("index-more") {
		im.set(`plugin "index-more"`, "mime_types = "+manifest.Literal(types))
	}
	return err
}

// intervals translates adaptive-host-specific-intervals.txt, as far as a sheet can say the same: where the
// shortest interval of a host is the longest.
func (im *importer) intervals() error {
	const name = "adaptive-host-specific-intervals.txt"
	return im.lines(name, func(n int, line string) {
		f := strings.Fields(line)
		if !strings.Contains(im.values["db.fetch.schedule.class"], "Adaptive") {
			return // Nutch does not read it then
		}
		if len(f) == 3 && f[1] == f[2] { //nolint:mnd // host, shortest, longest
			if sec, err := strconv.ParseFloat(f[1], 64); err == nil && sec > 0 {
				host := strings.ToLower(f[0])
				if head := "sheet " + manifest.Literal(instanceName(host)); im.line(head, "hosts") == "" {
					s := *findSetting(im.schema.rules["sheet"], "interval")
					s.NutchUnit = "s"
					im.set(head, "hosts = "+manifest.Literal([]string{host}))
					im.value(fmt.Sprintf("%s:%d", name, n), head, "interval", f[1], &s)
				}
				return
			}
		}
		im.leave("%s:%d: bounds of the interval are for all hosts here (db.fetch_schedule_adaptive_min_interval); "+
			"a sheet sets one interval for a host, and the freshness schedule takes bounds by host", name, n)
	})
}
