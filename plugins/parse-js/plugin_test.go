package parsejs_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gonutch/crawler/plugins/internal/libtest"
	parsejs "github.com/gonutch/crawler/plugins/parse-js"
	"github.com/gonutch/crawler/sdk/extension/parsefilter"
	"github.com/gonutch/crawler/sdk/extension/parser"
	"github.com/gonutch/crawler/sdk/model"
)

const url = "http://a.example/js/x.js"

func parse(t testing.TB, own, body string) model.Parse {
	t.Helper()
	out, err := libtest.Must(t, parsejs.Plugin(), own).Parser.Parse(t.Context(), &parser.Input{Content: model.Content{URL: url, Base: url, Body: []byte(body)}})
	if err != nil {
		t.Fatal(err)
	}
	return out.Parses[0]
}

func links(out []model.Outlink) string {
	var s []string
	for _, l := range out {
		s = append(s, strings.TrimPrefix(l.URL, "http://a.example"))
	}
	return strings.Join(s, " ")
}

// What Nutch takes: every quoted text with a slash or dot (nutch.md 2.4, parse-js);
// what it should not take, "many false links": nutch.md 2.4 again.
func TestAddresses(t *testing.T) {
	for src, want := range map[string]string{
		`x = "http://b.example/p:q"`:                               "http://b.example/p:q",
		`x = 'https://b.example'`:                                  "https://b.example",
		`x = "//cdn.example/a"`:                                    "http://cdn.example/a",
		"x = `/whole/template`":                                    "/whole/template",
		"x = `/user/${id}/page.html`":                              "",
		`x = "/user/" + id`:                                        "",
		`x = base + "/user/1"`:                                     "",
		`x = ["/a/1", "/a/2"]`:                                     "/a/1 /a/2",
		`x = "page.html"`:                                          "/js/page.html",
		`x = "../list.php?id=1&s=2"`:                               "/list.php?id=1&s=2",
		`x = "./mod.js"; import y from "./z"`:                      "",
		`x = "http:\/\/b.example\/escaped\u002fhere"`:              "http://b.example/escaped/here",
		`{"url": "http:\/\/b.example\/json", "t": "text/html"}`:    "http://b.example/json",
		`x = "text/html"; y = "application/json"; z = "a/b/c"`:     "",
		`x = "12/31/2024"; y = "/"; z = "//"; w = "/>"`:            "",
		`x = "http://www.w3.org/2000/svg"`:                         "",
		`x = "http://" + host; y = "http://"; z = "http://x"`:      "",
		`x = "a sentence with http://b.example/ in it"`:            "",
		`x = /http:\/\/b.example\/regex/; y = a / "/b/c.html"/2`:   "/b/c.html",
		`return /"\/in\/a\/regex"/.test("/not/there")`:             "/not/there",
		`// "http://b.example/comment"` + "\n/* '/c/d.html' */":    "",
		`x = "javascript:void(0)"; y = "mailto:a@b.example"`:       "",
		`x = "$('.class').find('a.b')"; y = ".css"; z = "index"`:   "",
		`x = "/[a-z]+/"; y = "/^x/i"; z = "*/5"`:                   "",
		`window.open('/popup/1','w','width=1,height=2')`:           "/popup/1",
		`location.href="/next.html#top"`:                           "/next.html#top",
		`x = "http://user:pw@b.example/"; y = "http://b..example"`: "",
		`x = "unterminated /a/b` + "\n" + `y = "/c/d"`:             "/c/d",
		"x = \"/nul/\x00/byte\"":                                   "",
		`x = "/js/x.js"`:                                           "",
		``:                                                         "",
	} {
		if got := links(parse(t, "", src).Outlinks); got != want {
			t.Errorf("%s\n got %s\nwant %s", src, got, want)
		}
	}
}

func TestSettings(t *testing.T) {
	src := "/* A title */\nx = ['/a/1', '/a/2', 'b.html']"
	if p := parse(t, `{"max_links": 1}`, src); links(p.Outlinks) != "/a/1" || p.ParseMeta.First("outlinks.dropped.limit") != "2" {
		t.Errorf("%v %v", p.Outlinks, p.ParseMeta)
	}
	if p := parse(t, `{"relative": false}`, src); links(p.Outlinks) != "/a/1 /a/2" || !p.Robots.NoIndex || p.Text != "" {
		t.Errorf("%+v", p)
	}
	if p := parse(t, `{"index": true}`, src); p.Robots.NoIndex || p.Title != "/* A title */" || p.Text != src {
		t.Errorf("%+v", p)
	}
}

func TestFilterParse(t *testing.T) {
	const page = `<html><head><script src=a.js></script><script>var u = "/from/script.html";</script><script type="application/ld+json">{"@id": "/ld/json.html"}</script></head>
		<body onload="go('/from/onload')"><a href="/plain">x</a><a href="JavaScript:open('/from/href.html')">y</a><button onclick="location='/plain'">z</button></body></html>`
	for _, c := range []struct{ name, own, page, want string }{
		{"all", "", page, "/plain /from/script.html /from/onload /from/href.html"},
		{"scripts only", `{"events": []}`, page, "/plain /from/script.html"},
		{"nothing new", "", `<a href="/plain">x</a><script>x = "/plain"</script>`, ""},
		{"nofollow", "", `<meta name=robots content=nofollow><script>x = "/a/b.html"</script>`, ""},
		{"no scripts", "", `<p>x`, ""},
	} {
		p := libtest.FilterPage(t, parsejs.Plugin(), c.own, "http://a.example/", c.page)
		if got := links(p.Outlinks); got != c.want || p.ReplaceLinks != (c.want != "") {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// TestRealScripts: few links, and true ones, in scripts that people wrote.
func TestRealScripts(t *testing.T) {
	want := map[string]string{
		"write-throughput.js": "https://pebble-benchmarks.s3.amazonaws.com/write-throughput/summary.json",
		"playground.js":       "https://play.golang.org/share",
		"slides.js":           "http://a.example/static/",
	}
	files, bytes, found := 0, 0, 0
	for _, dir := range []string{
		filepath.Join(libtest.ModuleDir(t, "github.com/cockroachdb/pebble/v2"), "docs", "js"),
		filepath.Join(libtest.ModuleDir(t, "github.com/cockroachdb/pebble/v2"), "tool", "data"),
		filepath.Join(libtest.ModuleDir(t, "golang.org/x/tools"), "cmd", "present", "static"),
		"/usr/share/doc/python3.11/html/_static",
	} {
		names, err := filepath.Glob(filepath.Join(dir, "*.js"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			body, err := os.ReadFile(name) //nolint:gosec // a test's own list
			if err != nil {
				t.Fatal(err)
			}
			p := parse(t, "", string(body))
			files++
			bytes += len(body)
			found += len(p.Outlinks)
			if len(p.Outlinks) > 20 {
				t.Errorf("%s: %d links flood: %v", name, len(p.Outlinks), p.Outlinks[:20])
			}
			if u := want[filepath.Base(name)]; u != "" && !slices.ContainsFunc(p.Outlinks, func(l model.Outlink) bool { return l.URL == u }) {
				t.Errorf("%s: no link to %s in %v", name, u, p.Outlinks)
			}
		}
	}
	t.Logf("format JavaScript: %d files tried, all parsed, %d bytes, %d links", files, bytes, found)
	if files < 10 {
		t.Errorf("only %d files", files)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("x = \"/a/b\" + `c${d}` /e/ /* f */ // g")
	f.Add(`{"a": "http:\/\/b.example\/\u00e9"}`)
	f.Add("/[/]/g.test('\\x2f')")
	p := libtest.Must(f, parsejs.Plugin(), "")
	f.Fuzz(func(t *testing.T, src string) {
		if _, err := p.Parser.Parse(t.Context(), &parser.Input{Content: model.Content{URL: url, Base: url, Body: []byte(src)}}); err != nil {
			t.Fatal(err)
		}
		in := &parsefilter.Input{Parse: model.Parse{URL: url, Facts: []model.FactResult{{Values: []string{src}}}}}
		if _, err := p.ParseFilter.FilterParse(t.Context(), in); err != nil {
			t.Fatal(err)
		}
	})
}

func BenchmarkParse(b *testing.B) {
	body, err := os.ReadFile(filepath.Join(libtest.ModuleDir(b, "github.com/cockroachdb/pebble/v2"), "docs", "js", "d3.v5.min.js"))
	if err != nil {
		b.Fatal(err)
	}
	p := libtest.Must(b, parsejs.Plugin(), "").Parser
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		if _, err := p.Parse(b.Context(), &parser.Input{Content: model.Content{URL: url, Base: url, Body: body}}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "pages/s")
}
