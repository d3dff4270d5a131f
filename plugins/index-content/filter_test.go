package indexcontent_test

import (
	"os"
	"strings"
	"testing"

	indexcontent "github.com/gonutch/crawler/plugins/index-content"
	"github.com/gonutch/crawler/plugins/internal/libtest"
	"github.com/gonutch/crawler/sdk/extension/indexingfilter"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/model"
)

func page(t testing.TB) string {
	t.Helper()
	b, err := os.ReadFile("testdata/article.html")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func input(mime, body string) *indexingfilter.Input {
	return &indexingfilter.Input{
		URL: "http://a.example/x", Parse: model.Parse{Text: "the whole text"},
		Content: &model.Content{URL: "http://a.example/x", Base: "http://a.example/x", Body: []byte(body), MIMEType: mime, ContentType: mime},
	}
}

func TestArticle(t *testing.T) {
	p := libtest.FilterDocument(t, indexcontent.Plugin(), `{"html_field": "main_html", "excerpt_field": "excerpt"}`, input("text/html", page(t)))
	text := p.Set["main_content"][0]
	for _, want := range []string{"A kettle is a vessel", "nineteenth century", "safe to forget."} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in %q", want, text)
		}
	}
	for _, other := range []string{"All our teas", "cookies", "mugs", "Copyright", "<p>"} {
		if strings.Contains(text, other) {
			t.Errorf("%q is in %q", other, text)
		}
	}
	if h := p.Set["main_html"][0]; !strings.Contains(h, "<p>Electric kettles") || strings.Contains(h, "mugs") {
		t.Errorf("html: %s", h)
	}
	if e := p.Set["excerpt"][0]; e != "What a kettle is." {
		t.Errorf("excerpt %q", e)
	}
}

func TestFilterDocument(t *testing.T) {
	short := "<p>Too short."
	noindex := input("text/html", page(t))
	noindex.Parse.Robots.NoIndex, noindex.Parse.Text = true, ""
	latin := input("text/html; charset=iso-8859-1", strings.Replace(strings.Replace(page(t), `<meta charset="utf-8">`, "", 1), "A kettle is", "Gr\xfc\xdfe: a kettle is", 1))
	for _, c := range []struct {
		name, own string
		in        *indexingfilter.Input
		want      string // beginning of the field
	}{
		{"no html", ``, input("application/pdf", page(t)), "the whole text"},
		{"xhtml", ``, input("application/xhtml+xml", page(t)), "A kettle is"},
		{"too short", ``, input("text/html", short), "the whole text"},
		{"no fallback", `{"fallback": false}`, input("text/html", short), ""},
		{"any length", `{"min_length": 0}`, input("text/html", short), "Too short."},
		{"too much markup", `{"max_nodes": 20}`, input("text/html", page(t)), "the whole text"},
		{"cut", `{"max_length": "8B"}`, input("text/html", page(t)), "A kettle"},
		{"noindex", ``, noindex, ""},
		{"charset", ``, latin, "Grüße: a kettle is"},
		{"no content", ``, &indexingfilter.Input{Parse: model.Parse{Text: "text"}}, "text"},
		{"nothing", ``, input("text/html", ""), "the whole text"},
	} {
		p := libtest.FilterDocument(t, indexcontent.Plugin(), c.own, c.in)
		got := strings.Join(p.Set["main_content"], "|")
		got = strings.TrimPrefix(got, "On kettles\n")
		if !strings.HasPrefix(got, c.want) || c.want == "" && got != "" || c.name == "cut" && got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
	if _, err := libtest.New(t, indexcontent.Plugin(), `{"field": ""}`); !fault.Is(err, fault.Invalid) {
		t.Errorf("no field: %v", err)
	}
}

// TestHostile: pages made to be slow cost that page's time only, and no more
// than a bound.
func TestHostile(t *testing.T) {
	f := libtest.Must(t, indexcontent.Plugin(), "").IndexingFilter
	for name, body := range map[string]string{
		"deep":  strings.Repeat("<div>", 20000) + "text",
		"wide":  strings.Repeat("<p>word, word, word", 20000),
		"table": strings.Repeat("<table><tr><td>", 5000),
		"links": strings.Repeat("<a href=x>word</a> ", 10000),
	} {
		if _, err := f.FilterDocument(t.Context(), input("text/html", body)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzExtract(f *testing.F) {
	f.Add([]byte(`<div class="article"><p>Text, text, text.<table><td><p>x`))
	f.Add([]byte("<svg><title><p>\xff"))
	p := libtest.Must(f, indexcontent.Plugin(), `{"min_length": 0, "html_field": "h"}`).IndexingFilter
	f.Fuzz(func(t *testing.T, body []byte) {
		if _, err := p.FilterDocument(t.Context(), input("text/html", string(body))); err != nil {
			t.Error(err)
		}
	})
}

func BenchmarkArticle(b *testing.B) {
	f, in := libtest.Must(b, indexcontent.Plugin(), "").IndexingFilter, input("text/html", page(b))
	for b.Loop() {
		if _, err := f.FilterDocument(b.Context(), in); err != nil {
			b.Fatal(err)
		}
	}
}
