package feed_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gonutch/crawler/plugins/feed"
	"github.com/gonutch/crawler/plugins/internal/libtest"
	"github.com/gonutch/crawler/sdk/extension/parser"
	"github.com/gonutch/crawler/sdk/model"
)

// TestRealDocuments parses feeds that hugo made of the modules' descriptions.
func TestRealDocuments(t *testing.T) {
	dir := libtest.Hugo(t)
	var docs []libtest.Real
	for _, lang := range libtest.Languages() {
		docs = append(docs, libtest.Real{
			Format: "RSS 2.0", Path: filepath.Join(dir, lang, "index.xml"), Type: "application/rss+xml", Title: "Docs " + lang,
			Sentence: "About gofeed", Link: libtest.HugoBase + lang + "/cascadia/",
		}, libtest.Real{
			Format: "JSON Feed", Path: filepath.Join(dir, lang, "index.json"), Type: "application/json", Title: "Docs " + lang,
			Sentence: "About gofeed", Link: libtest.HugoBase + lang + "/parse/",
		})
	}
	p := libtest.Must(t, feed.Plugin(), "").Parser
	libtest.RealDocuments(t, p, docs, 10)

	body, err := os.ReadFile(filepath.Join(dir, "en", "index.xml"))
	if err != nil {
		t.Fatal(err)
	}
	url := libtest.HugoBase + "en/index.xml"
	out, err := p.Parse(t.Context(), &parser.Input{Content: model.Content{URL: url, Base: url, Body: body}})
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for _, e := range out.Parses[1:] {
		texts[e.URL] = e.Text
		if e.ParseMeta.First("published") != "1704153600000" {
			t.Errorf("%s: %v", e.URL, e.ParseMeta)
		}
	}
	if got := texts[libtest.HugoBase+"en/gofeed/"]; !strings.Contains(got, "gofeed is a powerful and flexible library designed for parsing RSS, Atom, and JSON feeds") {
		t.Errorf("entry: %q", got)
	}
}

// TestCorpus parses the test documents of the feed library, which come from the
// Universal Feed Parser's, and compares titles with those that the library's
// authors expect.
func TestCorpus(t *testing.T) {
	root := filepath.Join(libtest.ModuleDir(t, "github.com/mmcdole/gofeed"), "testdata")
	p := libtest.Must(t, feed.Plugin(), "").Parser
	type row struct{ tried, parsed, entries int }
	rows := map[string]*row{}
	failed := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		name := d.Name()
		isJSON := strings.Contains(path, "/json/") && strings.HasSuffix(name, ".json") && !strings.Contains(name, "expected")
		if err != nil || d.IsDir() || !isJSON && !strings.HasSuffix(name, ".xml") {
			return err
		}
		body, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		mime, format := "text/xml", "RSS"
		switch {
		case isJSON:
			mime, format = "application/feed+json", "JSON Feed"
		case strings.Contains(string(body), "<feed"):
			format = "Atom"
		case strings.Contains(string(body), ":RDF"):
			format = "RDF"
		}
		if rows[format] == nil {
			rows[format] = &row{}
		}
		rows[format].tried++
		out, err := p.Parse(t.Context(), &parser.Input{Content: model.Content{URL: url, Base: url, Body: body, MIMEType: mime}})
		if err != nil {
			return err
		}
		if !out.Parses[0].Status.OK() {
			failed[strings.TrimPrefix(path, root)] = out.Parses[0].Status.Message
			return nil
		}
		rows[format].parsed++
		rows[format].entries += len(out.Parses) - 1
		var want struct {
			Title *string `json:"title"`
		}
		expected, err := os.ReadFile(strings.TrimSuffix(path, ".xml") + ".json")
		if err != nil || json.Unmarshal(expected, &want) != nil || want.Title == nil || strings.ContainsAny(*want.Title, "<&\n") {
			return nil //nolint:nilerr // nothing to compare with
		}
		if got := out.Parses[0].Title; got != strings.Join(strings.Fields(*want.Title), " ") {
			t.Errorf("%s: title %q, want %q", name, got, *want.Title)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	total := 0
	for format, r := range rows {
		t.Logf("%-10s %4d tried %4d parsed %4d entries", format, r.tried, r.parsed, r.entries)
		total += r.tried
		if r.tried < 10 && format != "JSON Feed" {
			t.Errorf("%s: only %d documents", format, r.tried)
		}
	}
	for path, why := range failed {
		t.Logf("failed: %s: %s", path, why)
		if !strings.Contains(path, "unknown") && !strings.Contains(path, "invalid") && !strings.Contains(path, "empty") && !strings.Contains(path, "entity") {
			t.Errorf("%s: %s", path, why)
		}
	}
	if total < 300 {
		t.Errorf("only %d documents", total)
	}
}
