package cycle

import (
	"archive/zip"
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gonutch/crawler/core/internal/step/refilter"
	"github.com/gonutch/crawler/core/internal/urlkey"
)

// rssFeed is a feed of entries "path|title|text"; an entry without a path has a guid.
func rssFeed(entries ...string) http.HandlerFunc {
	var b strings.Builder
	b.WriteString(`<rss version="2.0"><channel><title>The feed</title>`)
	for _, e := range entries {
		f := strings.Split(e, "|")
		fmt.Fprintf(&b, "<item><title>%s</title><description>%s</description><author>Ann</author>", f[1], f[2])
		if f[0] != "" {
			fmt.Fprintf(&b, "<link>%s</link>", f[0])
		} else {
			fmt.Fprintf(&b, `<guid isPermaLink="false">id-%s</guid>`, f[1])
		}
		b.WriteString("</item>")
	}
	b.WriteString("</channel></rss>")
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/rss+xml")
		_, _ = w.Write([]byte(b.String()))
	}
}

// TestFeedEntries: entries are documents at once; those with a page of their own give
// way to it, those inside the feed come and go with it.
func TestFeedEntries(t *testing.T) {
	w := newWorld(t, map[string]http.HandlerFunc{
		"/":     page("root", "/feed"),
		"/feed": rssFeed("/post|Post|excerpt", "|Note|a note", "|Old|an old note", "http://evil.example/|Bank|not ours"),
		"/post": page("The whole post"),
	})
	check := func(step string, want map[string]string) {
		t.Helper()
		if d := cmp.Diff(want, w.indexed()); d != "" {
			t.Errorf("%s: index (-want +got):\n%s", step, d)
		}
	}
	w.cycle.SetRounds(2)
	w.run()
	check("the feed was fetched", map[string]string{"/": "root", "/feed": "The feed", "/post": "Post", "/feed#id-Note": "Note", "/feed#id-Old": "Old"})
	doc := w.idx.docs[w.site.URL+"/feed#id-Note"]
	if d := cmp.Diff([]string{"Ann"}, doc.Fields["author"]); d != "" || doc.Fields["feedTitle"][0] != "The feed" || doc.Fields["content"][0] != "Note\na note" {
		t.Errorf("document of an entry: %v", doc.Fields)
	}

	w.cycle.SetRounds(-1)
	w.run()
	check("the page of an entry was fetched", map[string]string{"/": "root", "/feed": "The feed", "/post": "The whole post", "/feed#id-Note": "Note", "/feed#id-Old": "Old"})
	if n := w.site.count("/feed"); n != 1 {
		t.Errorf("the feed was asked for %d times", n)
	}

	w.site.set("/feed", rssFeed("/post|Post|excerpt, changed", "|Note|a note, changed", "|New|a new note"))
	w.again()
	check("the feed changed", map[string]string{"/": "root", "/feed": "The feed", "/post": "The whole post", "/feed#id-Note": "Note", "/feed#id-New": "New"})
	if got := w.idx.docs[w.site.URL+"/feed#id-Note"].Fields["content"][0]; got != "Note\na note, changed" {
		t.Errorf("changed entry: %q", got)
	}

	w.reopen() // a new process
	w.site.set("/feed", nil)
	w.again()
	check("the feed is gone", map[string]string{"/": "root", "/post": "The whole post"})
	for path, status := range w.statuses() {
		if strings.Contains(path, "#") {
			t.Errorf("%s is still %s", path, status)
		}
	}
}

// zipped is a zip file of "name=text" files.
func zipped(t *testing.T, files ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, f := range files {
		name, text, _ := strings.Cut(f, "=")
		w, err := z.Create(name)
		if err == nil {
			_, err = w.Write([]byte(text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func file(mime string, body []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", mime)
		_, _ = w.Write(body)
	}
}

// TestArchives: files of archives are parsed by the parsers of their types, and hostile
// archives cost their own page only.
func TestArchives(t *testing.T) {
	inner := zipped(t, "deep.txt=in the inner archive")
	nested := inner
	for range 20 {
		nested = zipped(t, "next.zip="+string(nested))
	}
	bomb := zipped(t, "zeros="+strings.Repeat("\x00", 8<<20))
	w := newWorld(t, map[string]http.HandlerFunc{
		"/":       page("root", "/x", "/nested", "/bomb"),
		"/x":      file("application/zip", zipped(t, "a.html=<title>A</title>words of a <a href=http://127.0.0.1/no>x</a><a href=rel.html>y</a>", "d/b.txt=words of b", "inner.zip="+string(inner), "pic.bin=\x00\x01")),
		"/nested": file("application/zip", nested),
		"/bomb":   file("application/zip", bomb),
	}, "plugin.add=[\"parse-zip\"]", "plugin.parse-zip.max_file=1MiB")
	w.cycle.SetRounds(2)
	w.run()
	content := w.idx.docs[w.site.URL+"/x"].Fields["content"]
	if d := cmp.Diff([]string{"A\nwords of a xy\nwords of b\nin the inner archive"}, content); d != "" {
		t.Errorf("text of the archive: %s", d)
	}
	if _, ok := w.statuses()["/rel.html"]; ok {
		t.Error("a relative link of a file in an archive was followed")
	}
	for path, want := range map[string]string{
		"/nested": "failed(2,200): documents are nested deeper than parser.members_depth allows",
		"/bomb":   "failed(2,203): archive: it is a bomb: a file says that it unpacks to more than 200 times its packed size",
	} {
		rec, err := w.DB.Get(urlkey.FromURL(w.site.URL + path))
		if err != nil {
			t.Fatal(err)
		}
		if got := rec.Datum.Metadata.First("parse.status"); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}

	w.reopen("plugin.add=[\"parse-zip\"]", "parser.members=documents")
	w.site.set("/nested", nil)
	w.site.set("/bomb", nil)
	w.again()
	want := map[string]string{"/": "root", "/x": "", "/x#a.html": "A", "/x#d/b.txt": "words of b", "/x#inner.zip/deep.txt": "in the inner archive"}
	if d := cmp.Diff(want, w.indexed()); d != "" {
		t.Errorf("as documents: index (-want +got):\n%s", d)
	}
	w.site.set("/x", nil)
	w.again()
	if d := cmp.Diff(map[string]string{"/": "root"}, w.indexed()); d != "" {
		t.Errorf("the archive is gone: index (-want +got):\n%s", d)
	}
}

// TestRefilterParts: what is inside a page is judged by the page's URL.
func TestRefilterParts(t *testing.T) {
	w := newWorld(t, map[string]http.HandlerFunc{"/": page("root", "/feed"), "/feed": rssFeed("|Note|a note")})
	w.cycle.SetRounds(2)
	w.run()
	rep, err := w.cycle.Refilter(t.Context(), refilter.Options{Apply: true})
	if err != nil || w.statuses()["/feed#id-Note"] != "db_fetched" {
		t.Fatalf("rules that changed nothing: %+v, %v, %v", rep, w.statuses(), err)
	}
	w.reopen("plugin.urlfilter-regex.rules=[\"-/feed$\", \"+.\"]")
	if rep, err = w.cycle.Refilter(t.Context(), refilter.Options{Apply: true}); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(map[string]string{"/": "db_fetched"}, w.statuses()); d != "" {
		t.Errorf("%+v: %s", rep, d)
	}
}
