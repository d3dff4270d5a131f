package config

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/knadh/koanf/v2"

	"github.com/gonutch/crawler/sdk/manifest"
)

// ImportOptions say what is to be translated.
type ImportOptions struct {
	Defaults  []byte               // nutch-default.hcl
	Site      string               // path of nutch-site.xml
	Dir       string               // folder of the other files; "" is Site's
	Target    string               // where the result will stand, for relative paths; "" makes paths absolute
	Manifests []*manifest.Manifest // all known plugins
}

// Imported is a Nutch configuration as HCL. Left says what could not be translated, and why; it
// stands in Text as comments, too.
type Imported struct {
	Text string
	Left []string
}

// importer collects settings in the order in which they were met.
type importer struct {
	o        ImportOptions
	schema   *schema
	values   map[string]string // properties of the site, later ones win
	order    []string
	blocks   []*importedBlock
	left     []string
	includes []string // alternatives of plugin.includes that exist here; nil: the default's
	noTika   bool     // parse-tika was replaced
}

// importedBlock is a block of the result and its lines.
type importedBlock struct {
	head  string
	lines []string
}

func (im *importer) set(head, line string) {
	i := slices.IndexFunc(im.blocks, func(b *importedBlock) bool { return b.head == head })
	if i < 0 {
		im.blocks = append(im.blocks, &importedBlock{head: head})
		i = len(im.blocks) - 1
	}
	im.blocks[i].lines = append(im.blocks[i].lines, line)
}

func (im *importer) leave(format string, args ...any) {
	im.left = append(im.left, fmt.Sprintf(format, args...))
}

// Import translates Nutch's nutch-site.xml and the files beside it that its plugins read (nutch.md
// section 4: rule files, tables, parse-plugins.xml, index-writers.xml, exchanges.xml). A file that can't
// be read or is no XML is an error; what has no place here is left over with the reason.
func Import(o ImportOptions) (*Imported, error) {
	c := &Config{ko: koanf.New(delim), environ: map[string]string{}, places: map[string]place{}, broken: map[string]bool{}}
	if err := c.loadDefaults(o.Defaults); err != nil {
		return nil, err
	}
	if o.Dir == "" {
		o.Dir = filepath.Dir(o.Site)
	}
	im := &importer{o: o, schema: c.schema, values: map[string]string{}}
	if err := im.readSite(); err != nil {
		return nil, err
	}
	im.plugins(c.String("plugin.includes"))
	for _, name := range im.order {
		if name != "plugin.includes" {
			im.property(name, im.resolve(im.values[name]))
		}
	}
	im.ruleFiles()
	im.coreFiles()
	if err := errors.Join(im.protocols(), im.contentTypes(), im.intervals(), im.parsers(), im.writers(), im.exchanges()); err != nil {
		return nil, err
	}
	return &Imported{Text: im.text(), Left: im.left}, nil
}

func (im *importer) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Translated from %s.\n", filepath.Base(im.o.Site))
	if len(im.left) > 0 {
		b.WriteString("#\n# Not translated:\n")
		for _, l := range im.left {
			fmt.Fprintf(&b, "#   %s\n", strings.Join(strings.Fields(l), " "))
		}
	}
	for _, bl := range im.blocks {
		fmt.Fprintf(&b, "\n%s {\n", bl.head)
		for _, l := range bl.lines {
			fmt.Fprintf(&b, "  %s\n", l)
		}
		b.WriteString("}\n")
	}
	return b.String()
}

// readXML reads a file of Nutch into v; false when there is none.
func readXML(name string, v any) (bool, error) {
	b, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if pe := (*fs.PathError)(nil); errors.As(err, &pe) {
		err = pe.Err // without the name
	}
	if err == nil {
		if err = xml.Unmarshal(b, v); errors.Is(err, io.EOF) {
			err = errors.New("there is no XML element in it")
		}
	}
	if err != nil {
		return false, fmt.Errorf("read %s: %w", name, err)
	}
	return true, nil
}

func (im *importer) readSite() error {
	var site struct {
		XMLName    xml.Name `xml:"configuration"`
		Properties []struct {
			Name  string `xml:"name"`
			Value string `xml:"value"`
		} `xml:"property"`
	}
	ok, err := readXML(im.o.Site, &site)
	if err == nil && !ok {
		err = fmt.Errorf("read %s: %w", im.o.Site, fs.ErrNotExist)
	}
	for _, p := range site.Properties {
		name := strings.TrimSpace(p.Name)
		if _, twice := im.values[name]; !twice {
			im.order = append(im.order, name)
		}
		im.values[name] = strings.TrimSpace(p.Value)
	}
	return err
}

// resolve replaces Hadoop's ${property} by the site's value; others stay.
func (im *importer) resolve(v string) string {
	re := regexp.MustCompile(`\$\{([^{}$\s]+)\}`)
	for range 20 { // as deep as Hadoop goes
		next := re.ReplaceAllStringFunc(v, func(s string) string {
			if x, ok := im.values[s[2:len(s)-1]]; ok {
				return x
			}
			return s
		})
		if next == v {
			break
		}
		v = next
	}
	return v
}

// successors are the plugins that do the work of Nutch's under another name.
func successors() map[string]string {
	return map[string]string{
		"protocol-httpclient": "protocol-http", "protocol-okhttp": "protocol-http", "protocol-htmlunit": "protocol-browser",
		"protocol-selenium": "protocol-browser", "protocol-interactiveselenium": "protocol-browser", "urlfilter-domainblacklist": "urlfilter-domaindenylist",
		"indexer-elastic-rest": "indexer-elastic", "indexer-opensearch-1x": "indexer-elastic",
	}
}

const tika = "parse-tika"

// insteadOfTika are the parsers for what Nutch gives to Tika. Tika itself runs as a server here, of
// which Nutch's configuration knows nothing.
func insteadOfTika() []string {
	return []string{"parse-text", "parse-pdf", "parse-office", "parse-xml", "parse-image"}
}

// withoutTika translates parse-tika.
func (im *importer) withoutTika() {
	var own []string
	for _, id := range insteadOfTika() {
		if byID(im.o.Manifests, id) != nil {
			own = append(own, id)
		}
	}
	for _, id := range own {
		if !slices.Contains(im.includes, id) {
			im.includes = append(im.includes, id)
		}
	}
	im.noTika = true
	im.leave("plugin.includes: parse-tika is replaced by %s here; for types that they don't take add it, with the address of a Tika server: "+
		`plugin { add = ["parse-tika"] } plugin "parse-tika" { url = "http://127.0.0.1:9998" }`, strings.Join(own, ", "))
}

// plugins translates plugin.includes.
func (im *importer) plugins(standard string) {
	text, given := im.values["plugin.includes"]
	if !given {
		text = standard
	}
	text = im.resolve(text)
	if _, err := fullMatch(text); err != nil {
		im.leave("plugin.includes: %v", err)
		text, given = standard, false
	}
	for _, alt := range alternatives(strings.Join(strings.Fields(text), "")) {
		name := alt.text
		if to := successors()[name]; to != "" && byID(im.o.Manifests, to) != nil {
			im.leave("plugin.includes: %s is replaced by %s here", name, to)
			name = to
		}
		re, err := fullMatch(name)
		known := err == nil && slices.ContainsFunc(im.o.Manifests, func(m *manifest.Manifest) bool { return re.MatchString(m.ID) })
		switch {
		case name == tika && !im.noTika:
			im.withoutTika()
		case name == "nutch-extensionpoints" || name == "" || name == tika || slices.Contains(im.includes, name):
		case !known:
			im.leave("plugin.includes: there is no plugin %s here", name)
		default:
			im.includes = append(im.includes, name)
		}
	}
	if given {
		im.set("plugin", "includes = "+manifest.Literal(strings.Join(im.includes, "|")))
	}
	if im.chosen(tika) { // by an expression
		im.set("plugin", "remove = "+manifest.Literal([]string{tika}))
		im.withoutTika()
	}
}

// chosen reports whether plugin.includes takes a plugin.
func (im *importer) chosen(id string) bool {
	re, err := fullMatch(strings.Join(im.includes, "|"))
	return err == nil && re.MatchString(id) && (id != tika || !im.noTika)
}

// property translates one property of the core or a plugin.
func (im *importer) property(name, value string) {
	if strings.Contains(value, "${") {
		im.leave("%s: nothing is known of what %q refers to", name, value)
		return
	}
	if name == "plugin.folders" {
		im.leave("plugin.folders: Nutch's plugins are Java classes, which this program does not run; its own folders of plugins are plugin { folders = [...] }")
		return
	}
	done := false
	for _, n := range im.schema.nutch[name] {
		s := *im.schema.settings[n.key]
		s.NutchUnit = n.unit
		section, key, _ := strings.Cut(n.key, delim)
		im.value(name, section, key, value, &s)
		done = true
	}
	for _, m := range im.o.Manifests {
		for i := range m.Settings {
			if s := m.Settings[i]; s.Nutch == name {
				im.value(name, "plugin "+manifest.Literal(m.ID), s.Name, value, &s)
				done = true
			}
		}
	}
	switch name {
	case "parse.plugin.file", "indexer.indexwriters.file", "exchanges.exchanges.file": // read as files
		done = true
		if _, ok := im.file(value); !ok && value != "" {
			im.leave("%s: there is no file %s in %s", name, value, im.o.Dir)
		}
	}
	if done {
		return
	}
	text, plugin, _ := nutchInstead(name)
	switch to := successors()[plugin]; {
	case plugin == "" && text != "":
		im.leave("%s: %s", name, text)
	case plugin == "":
		im.leave("%s: neither Nutch's default properties nor this program know it", name)
	case byID(im.o.Manifests, plugin) != nil:
		im.leave("%s: plugin %s has no setting here that stands for it; its README lists those it has", name, plugin)
	case to != "" && byID(im.o.Manifests, to) != nil:
		im.leave("%s: plugin %s is replaced by %s here, which has no setting that stands for it", name, plugin, to)
	default:
		im.leave("%s: there is no plugin %s here", name, plugin)
	}
}

// javaValue returns the text of a property as settings want it: Java takes 1.0f for a number, and what is empty for not set. It is false for a value that says nothing.
func javaValue(property, text string, t manifest.Type) (string, bool) {
	switch t {
	case manifest.Float:
		text = strings.TrimRight(text, "fFdD")
	case manifest.Int, manifest.Bool, manifest.Duration, manifest.Size:
	default: // texts and lists can be empty
		return text, property != "moreIndexingFilter.mapMimeTypes" // a switch in Nutch, the mapping itself here
	}
	return text, text != ""
}

// value writes one setting if its value is one that it takes.
func (im *importer) value(property, head, key, text string, s *manifest.Setting) {
	if s.Secret && text != "" {
		im.leave("%s is a secret and not copied: write %s = env(\"NAME\") or file(\"path\") into %s { ... }", property, key, head)
		return
	}
	if s.Type == manifest.File && text != "" {
		path, ok := im.file(text)
		if !ok {
			im.leave("%s: there is no file %s in %s", property, text, im.o.Dir)
			return
		}
		text = path
	}
	text, ok := javaValue(property, text, s.Type)
	if !ok {
		return
	}
	v, err := s.Parse(text, true)
	if err != nil {
		im.leave("%s: %v", property, err)
		return
	}
	line := key + " = " + manifest.Literal(v)
	switch old := im.line(head, key); old {
	case "":
		im.set(head, line)
	case line: // two properties of Nutch that are one here, and agree
	default:
		im.leave("%s: another property stands for the same setting and says otherwise: %s { %s }", property, head, old)
	}
}

// line returns the line of a block that sets key, "" when there is none.
func (im *importer) line(head, key string) string {
	for _, b := range im.blocks {
		for _, l := range b.lines {
			if b.head == head && strings.HasPrefix(l, key+" = ") {
				return l
			}
		}
	}
	return ""
}

// file finds a file of the configuration and returns how the result names it.
func (im *importer) file(name string) (string, bool) {
	path := name
	if !filepath.IsAbs(path) {
		path = filepath.Join(im.o.Dir, name)
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", false
	}
	if info, err := os.Stat(abs); err != nil || info.IsDir() {
		return "", false
	}
	if im.o.Target == "" || filepath.IsAbs(name) {
		return abs, true
	}
	target, err := filepath.Abs(filepath.Dir(im.o.Target))
	if err != nil {
		return abs, true
	}
	if rel, err := filepath.Rel(target, abs); err == nil {
		return rel, true
	}
	return abs, true
}
