package cycle

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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
