package parsexml_test

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gonutch/crawler/plugins/internal/libtest"
	parsexml "github.com/gonutch/crawler/plugins/parse-xml"
	"github.com/gonutch/crawler/sdk/extension/parser"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/model"
)

const url = "http://a.example/d/x.xml"

func parse(t testing.TB, own string, c model.Content) model.Parse {
	t.Helper()
	if c.URL == "" {
		c.URL, c.Base = url, url
	}
	out, err := libtest.Must(t, parsexml.Plugin(), own).Parser.Parse(t.Context(), &parser.Input{Content: c})
	if err != nil {
		t.Fatal(err)
	}
	return out.Parses[0]
}

func links(p *model.Parse) string {
	var s []string
	for _, l := range p.Outlinks {
		s = append(s, l.URL)
	}
	return strings.Join(s, " ")
}

const book = `<?xml version="1.0"?>
<!DOCTYPE book PUBLIC "-//OASIS//DTD DocBook XML V4.5//EN" "http://www.oasis-open.org/docbook/xml/4.5/docbookx.dtd">
<book xml:lang="en" isbn="123" xmlns:xlink="http://www.w3.org/1999/xlink">
  <info><title>The  Book</title><author>Ann &amp; Bo</author><author>Cy</author></info>
  <chapter><title>One</title><para>Some <em>word</em>s and <link xlink:href="two.xml">a link</link>.</para></chapter>
  <ref><link>http://b.example/</link><link>not a url</link><loc>relative</loc></ref>
  <style>p { color: red }</style>
</book>`

func TestParse(t *testing.T) {
	for _, c := range []struct {
		name, own, body, title, text, links string
		meta                                model.Metadata
	}{
		{
			name: "book", body: book, title: "The Book", text: "The Book Ann & Bo Cy\nOne Some word s and a link .\nhttp://b.example/ not a url relative",
			links: "http://a.example/d/two.xml http://b.example/", meta: model.Metadata{"xml.root": {"book"}},
		},
		{
			name: "fields", own: `{"fields": {"author": "/book/info/author", "isbn": "/book/@isbn", "none": "/author"}, "title": ["chapter/title"], "ignore": ["style", "chapter", "ref"], "links": []}`,
			body: book, title: "One", text: "The Book Ann & Bo Cy", meta: model.Metadata{"xml.root": {"book"}, "author": {"Ann & Bo", "Cy"}, "isbn": {"123"}},
		},
		{name: "first title path wins", own: `{"title": ["nothing", "b/@name", "a"]}`, body: `<r><a>x</a><b name="y"/></r>`, title: "y", text: "x", meta: model.Metadata{"xml.root": {"r"}}},
		{name: "any name", own: `{"title": ["/r/*/t"]}`, body: `<r><t>no</t><q><t>yes</t></q></r>`, title: "yes", text: "no yes", meta: model.Metadata{"xml.root": {"r"}}},
		{name: "svg", body: `<svg xmlns="http://www.w3.org/2000/svg" xmlns:x="l"><title>Pic</title><a x:href="/p"><text>hello</text></a></svg>`, title: "Pic", text: "Pic hello", links: "http://a.example/p", meta: model.Metadata{"xml.root": {"svg"}}},
		{name: "latin-1", body: "<?xml version='1.0' encoding='iso-8859-1'?><a>caf\xe9</a>", text: "café", meta: model.Metadata{"xml.root": {"a"}}},
		{name: "unclosed", body: "<a><b>x</b><c>y", text: "x y", meta: model.Metadata{"xml.root": {"a"}, "parse.truncated": {"unclosed"}}},
	} {
		got := parse(t, c.own, model.Content{Body: []byte(c.body)})
		if !got.Status.OK() || got.Title != c.title || got.Text != c.text || links(&got) != c.links {
			t.Errorf("%s: %v title %q\ntext  %q\nlinks %s", c.name, got.Status, got.Title, got.Text, links(&got))
		}
		if d := cmp.Diff(c.meta, got.ParseMeta); d != "" {
			t.Errorf("%s: %s", c.name, d)
		}
	}
	if got := parse(t, "", model.Content{Body: []byte(book[:400]), Truncated: "length"}); !got.Status.OK() || got.ParseMeta.First("parse.truncated") != "length" || got.Language != "en" {
		t.Errorf("truncated: %v %v", got.Status, got.ParseMeta)
	}
}

func TestRefused(t *testing.T) {
	lol := "<!DOCTYPE lolz [<!ENTITY lol \"lol\">"
	for i := range 9 {
		lol += fmt.Sprintf("<!ENTITY lol%d \"%s\">", i+1, strings.Repeat(fmt.Sprintf("&lol%d;", i), 10))
	}
	for name, c := range map[string]struct{ body, want string }{
		"billion laughs": {lol + "]><lolz>&lol9;</lolz>", "declares entities"},
		"external":       {`<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>`, "declares entities"},
		"deep":           {strings.Repeat("<a>", 1<<20), "nested more than 256 deep"},
		"words":          {"just words", "there is no element"},
		"empty":          {"", "there is no element"},
	} {
		if got := parse(t, "", model.Content{Body: []byte(c.body)}); got.Status.OK() || !strings.Contains(got.Status.Message, c.want) {
			t.Errorf("%s: %v", name, got.Status)
		}
	}
}

func TestSettingMistakes(t *testing.T) {
	for own, want := range map[string]string{
		`{"title": ["a[1]"]}`:       `title: path "a[1]": "a[1]" is no name`,
		`{"links": ["@href/a"]}`:    `links: path "@href/a": an attribute comes last`,
		`{"fields": {"k": "a//b"}}`: `fields.k: path "a//b": "" is no name`,
		`{"ignore": [""]}`:          `ignore: path "": "" is no name`,
	} {
		if _, err := libtest.New(t, parsexml.Plugin(), own); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", own, err)
		}
	}
}

// TestRealDocuments parses XML that this project did not make: feeds' test
// documents, what hugo makes, and Debian's documentation where it is.
func TestRealDocuments(t *testing.T) {
	p := libtest.Must(t, parsexml.Plugin(), "").Parser
	const boost, pg = "/usr/share/doc/libboost1.81-doc/", "/usr/share/doc/postgresql-doc-15/html/"
	docs := []libtest.Real{
		{Format: "XML", Path: boost + "doc/src/boost.xml", Title: "The Boost C++ Libraries BoostBook Documentation Subset", Sentence: "What's Included in This Document", Link: "http://www.boost.org/libs"},
		{Format: "XML", Path: boost + "doc/test/array.xml", Title: "Introduction", Sentence: "The C++ Standard Template Library STL as part of the C++ Standard Library", Link: "http://www.boost.org"},
		{Format: "XML", Path: boost + "doc/test/array1.xml", Sentence: "STL compliant container wrapper for arrays of constant size"},
		{Format: "XML", Path: boost + "doc/test/array2.xml", Title: "Design Rationale", Sentence: "There was an important design tradeoff regarding the constructors"},
		{Format: "XML", Path: boost + "doc/test/array3.xml", Title: "For more information...", Sentence: "To find more details about using ordinary arrays", Link: "http://www.josuttis.com/"},
		{Format: "XML", Path: boost + "doc/test/array4.xml", Title: "Acknowledgements", Sentence: "Doug Gregor ported the documentation to the BoostBook format."},
		{Format: "XML", Path: boost + "examples/libs/property_tree/examples/debug_settings.xml", Sentence: "debug.log Finance Admin HR"},
		{Format: "XML", Path: boost + "examples/libs/serialization/example/demo_save.xml", Title: "White House", Sentence: "24th Street"},
		{Format: "XML", Path: boost + "examples/tools/quickbook/examples/simple-boostbook/simple.xml", Title: "Simple Example", Sentence: "Interesting stuff goes here."},
		{Format: "XML", Path: pg + "genetic-algorithm.svg", Title: "%3", Sentence: "evaluate FITNESS of P(t)"},
		{Format: "XML", Path: pg + "gin.svg", Title: "gin", Sentence: "posting tree"},
		{Format: "XML", Path: pg + "pagelayout.svg", Sentence: "PageHeaderData"},
	}
	root := filepath.Join(libtest.ModuleDir(t, "github.com/mmcdole/gofeed"), "testdata", "parser", "atom")
	tried, parsed := 0, 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".xml") {
			return err
		}
		body, err := libtest.ReadFile(path)
		if err != nil {
			return err
		}
		tried++
		if got := parse(t, "", model.Content{Body: body}); got.Status.OK() {
			parsed++
		} else {
			t.Errorf("%s: %v", path, got.Status)
		}
		return nil
	})
	if err != nil || tried < 100 {
		t.Fatalf("%d documents, %v", tried, err)
	}
	t.Logf("format Atom as XML: %d tried, %d parsed", tried, parsed)
	libtest.RealDocuments(t, p, docs, 10)
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(book))
	f.Add([]byte("<a href='x'><title>t</title><a><a><b/></a>"))
	p := libtest.Must(f, parsexml.Plugin(), `{"fields": {"k": "a", "l": "@href"}}`).Parser
	f.Fuzz(func(t *testing.T, body []byte) {
		if _, err := p.Parse(t.Context(), &parser.Input{Content: model.Content{URL: url, Base: url, Body: body}}); err != nil {
			t.Fatal(err)
		}
	})
}

func BenchmarkParse(b *testing.B) {
	chapter := `<chapter><title>One</title><para>Some <em>words</em> of a paragraph and <link xlink:href="two.xml">a link</link> in it.</para></chapter>` + "\n"
	c := model.Content{URL: url, Base: url, Body: []byte("<book>" + strings.Repeat(chapter, 400) + "</book>")}
	p := libtest.Must(b, parsexml.Plugin(), "").Parser
	b.SetBytes(int64(len(c.Body)))
	for b.Loop() {
		if _, err := p.Parse(b.Context(), &parser.Input{Content: c}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "pages/s")
}
