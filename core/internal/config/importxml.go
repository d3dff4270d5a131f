package config

import (
	"cmp"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/gonutch/crawler/sdk/manifest"
)

// named is the path of a file that property names, or its conventional one.
func (im *importer) named(property, name string) string {
	if v := im.values[property]; v != "" { // no property has an empty name
		name = im.resolve(v)
	}
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(im.o.Dir, name)
}

// parsers translates parse-plugins.xml.
func (im *importer) parsers() error {
	var file struct {
		Types []struct {
			Name    string `xml:"name,attr"`
			Plugins []struct {
				ID string `xml:"id,attr"`
			} `xml:"plugin"`
		} `xml:"mimeType"`
		Aliases []struct {
			Name      string `xml:"name,attr"`
			Extension string `xml:"extension-id,attr"`
		} `xml:"aliases>alias"`
	}
	if ok, err := readXML(im.named("parse.plugin.file", "parse-plugins.xml"), &file); !ok {
		return err
	}
	aliases := map[string]string{}
	for _, a := range file.Aliases {
		aliases[a.Name] = a.Extension
	}
	types := map[string]string{}
	for _, t := range file.Types {
		var ids []string
		for _, p := range t.Plugins {
			m := byID(im.o.Manifests, p.ID)
			if x := aliases[p.ID]; m == nil && x != "" {
				m = Provider(x, manifest.Parser, im.o.Manifests)
			} else if m == nil {
				m = Provider(p.ID, manifest.Parser, im.o.Manifests)
			}
			if m != nil {
				p.ID = m.ID
			}
			switch {
			case p.ID == tika && im.noTika: // said of plugin.includes
			case m == nil:
				im.leave("parse-plugins.xml: %s: there is no plugin %s here", t.Name, p.ID)
			case !im.chosen(p.ID):
				im.leave("parse-plugins.xml: %s: plugin.includes does not take %s", t.Name, p.ID)
			case !provides(m, manifest.Parser):
				im.leave("parse-plugins.xml: %s: %s is no parser here", t.Name, p.ID)
			default:
				ids = append(ids, p.ID)
			}
		}
		if len(ids) > 0 {
			types[t.Name] = strings.Join(ids, ",")
		}
	}
	if len(types) > 0 {
		im.set("parser", "mime_types = "+manifest.Literal(types))
	}
	return nil
}

func provides(m *manifest.Manifest, point string) bool { _, ok := m.Provided(point); return ok }

// param is a parameter of a writer or exchange.
type param struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type fieldPair struct {
	Source string `xml:"source,attr"`
	Dest   string `xml:"dest,attr"`
}

type writerXML struct {
	ID     string      `xml:"id,attr"`
	Class  string      `xml:"class,attr"`
	Params []param     `xml:"parameters>param"`
	Copy   []fieldPair `xml:"mapping>copy>field"`
	Rename []fieldPair `xml:"mapping>rename>field"`
	Remove []fieldPair `xml:"mapping>remove>field"`
}

// writerOf returns the plugin that does the work of a Java class of Nutch, or nil.
func (im *importer) writerOf(class string) *manifest.Manifest {
	if strings.Contains(class, "opensearch") {
		class = "ElasticIndexWriter" // it speaks to both
	}
	return Provider(class, manifest.IndexWriter, im.o.Manifests)
}

// instanceName makes a name of the configuration out of Nutch's id.
func instanceName(id string) string {
	name := regexp.MustCompile(`[^A-Za-z0-9_-]+`).ReplaceAllString(id, "-")
	if !validInstance(name) {
		name = "w" + name
	}
	return name[:min(len(name), 64)]
}

// writers translates index-writers.xml.
func (im *importer) writers() error {
	var file struct {
		Writers []writerXML `xml:"writer"`
	}
	if ok, err := readXML(im.named("indexer.indexwriters.file", "index-writers.xml"), &file); !ok {
		return err
	}
	for i := range file.Writers {
		w := &file.Writers[i]
		m := im.writerOf(w.Class)
		switch {
		case m == nil:
			im.leave("index-writers.xml: %s: there is no index writer for %s here", w.ID, w.Class)
			continue
		case !im.chosen(m.ID):
			im.leave("index-writers.xml: %s: plugin.includes does not take %s", w.ID, m.ID)
			continue
		}
		head := "index_writer " + manifest.Literal(instanceName(w.ID))
		im.set(head, "plugin = "+manifest.Literal(m.ID))
		im.parameters("index-writers.xml: "+w.ID, head, m, w.adapted(m.ID))
		copies, renames, removes := map[string]string{}, map[string]string{}, []string{}
		for _, f := range w.Copy {
			copies[f.Source] = f.Dest
		}
		for _, f := range w.Rename {
			renames[f.Source] = f.Dest
		}
		for _, f := range w.Remove {
			removes = append(removes, f.Source)
		}
		if len(copies) > 0 {
			im.set(head, "copy = "+manifest.Literal(copies))
		}
		if len(renames) > 0 {
			im.set(head, "rename = "+manifest.Literal(renames))
		}
		if len(removes) > 0 {
			im.set(head, "remove = "+manifest.Literal(removes))
		}
	}
	return nil
}

// adapted are the parameters of a writer by the names they have here.
func (w *writerXML) adapted(plugin string) (out []param) {
	get := func(name string) string {
		for _, p := range w.Params {
			if p.Name == name {
				return p.Value
			}
		}
		return ""
	}
	names := map[string]string{"commitSize": "max_docs", "outpath": "path", "weight.field": "weight_field"}
	for _, p := range w.Params {
		if n := names[p.Name]; n != "" {
			p.Name = n
		}
		p.Name = strings.NewReplacer(".", "_", "-", "_").Replace(p.Name)
		switch {
		case (plugin == "indexer-elastic" || plugin == "indexer-kafka") && (p.Name == "host" || p.Name == "port" || p.Name == "scheme"),
			p.Name == "auth", p.Name == "collection" && plugin == "indexer-solr" && get("type") != "cloud":
			continue
		case (p.Name == "username" || p.Name == "password") && get("auth") == "false", p.Value == "" && p.Name != "weight_field":
			continue
		case p.Name == "max_bulk_size":
			p.Value += "B"
		}
		out = append(out, p)
	}
	switch plugin {
	case "indexer-elastic":
		prefix := cmp.Or(get("scheme"), "http") + "://"
		if urls := servers(prefix, get("host"), cmp.Or(get("port"), "9200")); urls != "" {
			out = append(out, param{"url", urls})
		}
	case "indexer-kafka":
		if brokers := servers("", get("host"), cmp.Or(get("port"), "9092")); brokers != "" {
			out = append(out, param{"brokers", brokers})
		}
	case "indexer-solr":
		if get("type") != "cloud" {
			out = append(out, param{"collection", ""}) // the address names it
		}
	}
	return out
}

// servers are the addresses of hosts, which are separated by commas, as a list of the same form.
func servers(prefix, hosts, port string) string {
	var out []string
	for h := range strings.SplitSeq(hosts, ",") {
		if h = strings.TrimSpace(h); h != "" {
			out = append(out, prefix+h+":"+port)
		}
	}
	return strings.Join(out, ",")
}

// parameters writes those that the plugin takes.
func (im *importer) parameters(where, head string, m *manifest.Manifest, params []param) {
	known, _ := parameters(m)
	for _, p := range params {
		i := slices.IndexFunc(known, func(s manifest.Setting) bool { return s.Name == p.Name })
		if i < 0 {
			im.leave("%s: %s has no setting %s", where, m.ID, p.Name)
			continue
		}
		im.value(where+": "+p.Name, head, p.Name, p.Value, &known[i])
	}
}

// exchanges translates exchanges.xml.
func (im *importer) exchanges() error {
	var file struct {
		Exchanges []struct {
			ID      string `xml:"id,attr"`
			Class   string `xml:"class,attr"`
			Writers []struct {
				ID string `xml:"id,attr"`
			} `xml:"writers>writer"`
			Params []param `xml:"params>param"`
		} `xml:"exchange"`
	}
	if ok, err := readXML(im.named("exchanges.exchanges.file", "exchanges.xml"), &file); !ok {
		return err
	}
	for _, e := range file.Exchanges {
		where := "exchanges.xml: " + e.ID
		m := Provider(e.Class, manifest.Exchange, im.o.Manifests)
		if e.Class == "default" {
			m = byID(im.o.Manifests, "exchange-jexl")
		}
		if m == nil || !im.chosen(m.ID) && e.Class != "default" {
			im.leave("%s: no chosen plugin serves %s", where, e.Class)
			continue
		}
		var to []string
		for _, w := range e.Writers {
			name := instanceName(w.ID)
			if !slices.ContainsFunc(im.blocks, func(b *importedBlock) bool { return b.head == "index_writer "+manifest.Literal(name) }) {
				im.leave("%s: its writer %s was not translated", where, w.ID)
				continue
			}
			to = append(to, name)
		}
		if len(to) == 0 {
			im.leave("%s: none of its writers is there", where)
			continue
		}
		head := "exchange " + manifest.Literal(instanceName(e.ID))
		im.set(head, "plugin = "+manifest.Literal(m.ID))
		im.set(head, "writers = "+manifest.Literal(to))
		if e.Class == "default" {
			im.set(head, "default = true")
			continue
		}
		im.parameters(where, head, m, e.Params)
	}
	return nil
}
