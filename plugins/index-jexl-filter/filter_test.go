package indexjexlfilter_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	indexjexlfilter "github.com/gonutch/crawler/plugins/index-jexl-filter"
	"github.com/gonutch/crawler/plugins/internal/libtest"
	"github.com/gonutch/crawler/sdk/extension/indexingfilter"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/model"
)

func settings(t testing.TB, filter, onError string) string {
	t.Helper()
	b, err := json.Marshal(map[string]string{"filter": filter, "on_error": onError})
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func sample() *indexingfilter.Input {
	return &indexingfilter.Input{
		URL: "http://www.example.org/a",
		Doc: model.Document{Fields: map[string][]string{"lang": {"en"}, "tag": {"a", "b"}, "host": {"www.example.org"}, "path": {`a\b`}}},
		Datum: model.CrawlDatum{
			Status: model.StatusDBFetched, Score: 1_500_000, Retries: 2, Interval: time.Hour, FetchTime: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC),
			Metadata: model.Metadata{"my-key": {"v"}, "url": {"never"}},
		},
		Parse:   model.Parse{Title: "A title", Text: "two\nlines", ParseMeta: model.Metadata{"h1": {"One"}}},
		Headers: model.Metadata{"Content-Type": {"text/html"}},
	}
}

// Variables: nutch.md 6.1; operators: Apache Commons JEXL's syntax reference.
func TestFilterDocument(t *testing.T) {
	for _, c := range []struct {
		filter string
		keep   bool
	}{
		{"", true},
		{"true", true},
		{"false", false},
		{"doc.lang == 'en'", true},
		{`doc.lang != "en"`, false},
		{"doc.getFieldValue('lang') eq 'en'", true},
		{"doc . getFieldValue( \"lang\" ) ne 'de'", true},
		{"doc['lang'] == 'en' && !(score < 1.0f)", true},
		{"not (doc.lang eq 'en') or retries gt 5", false},
		{"retries le 2L and interval ge 3600", true},
		{"status == 'db_fetched'", true},
		{"url =~ '.*example\\.org/.*'", true},
		{"url =~ 'example'", false}, // the whole text
		{"url !~ '.*\\\\.pdf'", true},
		{"text =~ 'two.lines'", true},
		{"url =^ 'http:' and url =$ '/a'", true},
		{"url !^ 'http:' || url !$ '/a'", false},
		{"doc.lang =~ ['de', 'en']", true},
		{"doc.lang !~ ['de', 'en']", false},
		{"doc.path == 'a\\\\b'", true},
		{"fetchTime > 2026-03-04T00:00:00Z && fetchTime < 2026-03-05T00:00:00Z", true},
		{"'2026-03-04T00:00:00Z' == '2026-03-04T00:00:00Z'", true},
		{"my_key == 'v' && db['my-key'] == 'v'", true},
		{"url == 'never'", false},
		{"parse.h1 == 'One' && headers['Content-Type'] == 'text/html' && title == 'A title'", true},
		{"'b' in fields.tag and size(fields.tag) == 2", true},
		{"empty(doc.nothing) && empty('') && !empty(doc.lang) && size(nothing) == 0", true},
		{"nothing == nil", true},
		{"doc.nothing == 'x'", false},
		{"doc.eq == nil", true},
		{"retries > 1 ## a comment\n && true", true},
		{"doc.lang contains 'e'", true}, // expr's own
	} {
		p := libtest.FilterDocument(t, indexjexlfilter.Plugin(), settings(t, c.filter, "fail"), sample())
		if (p.Drop == "") != c.keep {
			t.Errorf("%s: drop %q", c.filter, p.Drop)
		}
	}
}

func TestErrors(t *testing.T) {
	for filter, want := range map[string]string{
		"doc.lang = 'en'":        `"= 'en'" assigns; write == to compare`,
		"doc.lang ==":            "unexpected token EOF",
		"'a":                     `the text that begins with "'a" does not end`,
		"url =~ doc.lang":        "=~ wants a pattern in quotes or a list behind it",
		"url =~ '('":             "missing closing )",
		"doc.getFieldValue(x)":   "want getFieldValue('name')",
		"empty doc.x":            "write empty(x) with brackets",
		"1 + 2":                  "expected bool, but got int",
		"var x = 1; x":           "assigns",
		"2026-13-04T00:00:00Z>1": "is no date",
	} {
		if _, err := libtest.New(t, indexjexlfilter.Plugin(), settings(t, filter, "drop")); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", filter, err, want)
		}
	}
	// On the document: a missing number is no reason to fail the whole step.
	for onError, drop := range map[string]bool{"drop": true, "keep": false} {
		for _, filter := range []string{"doc.nothing > 1", "doc.lang", "all(1..1000000, # > 0)"} {
			p := libtest.FilterDocument(t, indexjexlfilter.Plugin(), settings(t, filter, onError), sample())
			if strings.HasPrefix(p.Drop, "expression failed: ") != drop {
				t.Errorf("%s %s: drop %q", onError, filter, p.Drop)
			}
		}
	}
	_, err := libtest.Must(t, indexjexlfilter.Plugin(), settings(t, "doc.nothing > 1", "fail")).IndexingFilter.FilterDocument(t.Context(), sample())
	if !fault.Is(err, fault.Permanent) {
		t.Errorf("fail: %v", err)
	}
}

func FuzzFilter(f *testing.F) {
	f.Add("doc.getFieldValue('a') =~ 'b.*' && x lt 2L")
	f.Add("a !~ [1] ## \xff")
	f.Fuzz(func(t *testing.T, filter string) {
		ext, err := libtest.New(t, indexjexlfilter.Plugin(), settings(t, filter, "drop"))
		if err != nil {
			return
		}
		if _, err := ext.IndexingFilter.FilterDocument(t.Context(), sample()); err != nil {
			t.Errorf("%q: %v", filter, err)
		}
	})
}

func BenchmarkFilter(b *testing.B) {
	f := libtest.Must(b, indexjexlfilter.Plugin(), settings(b, "doc.lang == 'en' && url =~ '.*example.*' && score > 1", "drop")).IndexingFilter
	in := sample()
	for b.Loop() {
		if _, err := f.FilterDocument(b.Context(), in); err != nil {
			b.Fatal(err)
		}
	}
}
