package e2e

import (
	"archive/zip"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gonutch/crawler/sdk/testsite"
)

const quickSite = `
http {
  agent_name = "testbot"
  agent_url  = "http://example.org/bot"
}
fetcher { server_delay = "0s" }
store { low_water = "0" }
log { level = "error" }
`

// TestTextFormats: documents that are text without being called text/plain are found by
// their words with the default plugins, whatever name their type has, and what is no
// document of theirs says why it is not.
func TestTextFormats(t *testing.T) {
	s := testsite.Start(t, testsite.Options{})
	for _, d := range []struct{ path, mime, body string }{
		{"/a.json", "application/json", "{\n  \"name\": \"marmalade\",\n  \"more\": \"http://example.org/from-json\"\n}"},
		{"/b", "application/ld+json", `{"@context": "https://schema.org", "name": "marmalade"}`},
		{"/c.csv", "text/csv; charset=utf-8", "fruit,jam\norange,marmalade\n"},
		{"/d.md", "text/markdown", "# About marmalade\n\nIt is bitter."},
		{"/e.yaml", "application/x-yaml", "---\njam: marmalade\n"},
		{"/f.yml", "application/octet-stream", "jam: marmalade\n"},
		{"/g.geojson", "application/geo+json", `{"type": "Feature", "properties": {"name": "marmalade"}}`},
		{"/h.py", "text/x-python", "# marmalade\nimport os\n"},
		{"/i.toml", "application/toml", "jam = 'marmalade'\n"},
		{"/j.ndjson", "application/x-ndjson", "{\"a\": \"marmalade\"}\n{\"a\": 2}\n"},
		{"/k", "application/x-mine", "marmalade"},
		{"/feed.json", "application/json", `{"version": "https://jsonfeed.org/version/1.1", "title": "A feed", "items": [{"id": "1", "url": "http://example.org/x", "title": "Marmalade day", "content_text": "x"}]}`},
	} {
		s.Site().File(d.path, d.mime, []byte(d.body))
	}
	s.Site().File("/none", "application/x-unheard-of", []byte("marmalade"))
	tmp := t.TempDir()
	dir, config := filepath.Join(tmp, "crawl"), writeFile(t, tmp, "site.hcl", quickSite+"parser { mime_types = { \"application/x-mine\" = \"parse-text\" } }\n")
	args := []string{"run", "--config", config, "--dir", dir, "--rounds", "1"}
	paths := []string{"/a.json", "/b", "/c.csv", "/d.md", "/e.yaml", "/f.yml", "/g.geojson", "/h.py", "/i.toml", "/j.ndjson", "/k", "/feed.json"}
	for _, p := range append(paths, "/none") {
		args = append(args, "--seeds", s.Site().URL(p))
	}
	mustRun(t, args...)
	found := mustRun(t, "search", "--config", config, "--dir", dir, "--json", "--limit", "50", "marmalade")
	for _, p := range paths {
		if !strings.Contains(found, `"`+s.Site().URL(p)+`"`) {
			t.Errorf("%s is not found:\n%s", p, mustRun(t, "explain", "--config", config, "--dir", dir, s.Site().URL(p)))
		}
	}
	if !strings.Contains(found, `"About marmalade"`) {
		t.Errorf("no title of Markdown in %s", found)
	}
	if got := mustRun(t, "explain", "--config", config, "--dir", dir, s.Site().URL("/none")); !strings.Contains(got, `no parser for type "application/x-unheard-of"`) {
		t.Errorf("explain: %s", got)
	}
}

// wordDocument is a text document of so many paragraphs, each packed in little.
func wordDocument(t *testing.T, paragraphs int) []byte {
	t.Helper()
	var text strings.Builder
	text.WriteString(`<?xml version="1.0"?><w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>`)
	for i := range paragraphs {
		fmt.Fprintf(&text, "<w:p><w:r><w:t>Paragraph %d, %x.</w:t></w:r></w:p>", i, i*i*2654435761)
	}
	text.WriteString("</w:body></w:document>")
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	w, err := z.Create("word/document.xml")
	if err != nil {
		t.Fatal(err)
	}
	_, _ = w.Write([]byte(text.String()))
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestContentLimit: documents that are longer than http.content_limit are parsed as far as
// they go and marked in their records, where all commands show it.
func TestContentLimit(t *testing.T) {
	const manual = "/usr/share/doc/bash/bashref.pdf"
	pdf, err := os.ReadFile(manual)
	if err != nil {
		t.Skip("Debian package bash-doc is not installed; .ci/run installs it")
	}
	word := wordDocument(t, 40_000)
	s := testsite.Start(t, testsite.Options{})
	s.Site().File("/manual.pdf", "application/pdf", pdf)
	s.Site().File("/report.docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document", word)
	tmp := t.TempDir()
	const limit = 200 << 10
	if len(word) < 2*limit || len(pdf) < 2*limit {
		t.Fatalf("documents of %d and %d bytes", len(word), len(pdf))
	}
	dir, config := filepath.Join(tmp, "crawl"), writeFile(t, tmp, "site.hcl", quickSite+`
plugin { add = ["parse-pdf", "parse-office"] }
plugin "parse-pdf" { time_limit = "100s" }
parser { timeout = "120s" }
`)
	conf := []string{"--config", config, "--dir", dir, "-D", "http.content_limit=200KiB"}
	mustRun(t, append([]string{"run", "--rounds", "1", "--seeds", s.Site().URL("/manual.pdf"), "--seeds", s.Site().URL("/report.docx")}, conf...)...)
	segments, err := filepath.Glob(filepath.Join(dir, "segments", "*"))
	if err != nil || len(segments) != 1 {
		t.Fatalf("segments %v, %v", segments, err)
	}
	for path, words := range map[string]string{"/manual.pdf": "Bash Reference Manual", "/report.docx": "Paragraph 10000,"} {
		u := s.Site().URL(path)
		for _, c := range []struct {
			args  []string
			wants []string
		}{
			{[]string{"explain", u}, []string{"truncated        length", "its document is in main"}},
			{[]string{"readseg", "--get", "--nocontent", filepath.Base(segments[0]), u}, []string{"parse.truncated", words}},
			{[]string{"warc", "list"}, []string{u}},
		} {
			out := mustRun(t, append(c.args, conf...)...)
			for _, w := range c.wants {
				if !strings.Contains(out, w) {
					t.Errorf("%s: %s says nothing of %q:\n%.3000s", path, c.args[0], w, out)
				}
			}
		}
		if out := mustRun(t, append([]string{"search", `"` + strings.TrimSuffix(words, ",") + `"`}, conf...)...); !strings.Contains(out, u) {
			t.Errorf("%s is not found: %s", path, out)
		}
	}
}
