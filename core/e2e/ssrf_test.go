package e2e

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/gonutch/crawler/sdk/testsite"
)

// way is one by which a page or a server may try to lead the crawler to an address or a
// file that is not for it. A new protocol adds its own ways here.
type way struct {
	name string
	// lead makes what leads there and returns what the front page has of it.
	lead func(*world) string
	// url is the record that must tell the reason; nil when there is to be none.
	url func(*world) string
	// reason is what that record tells; without one, the report of the run. "" when it
	// is enough that nothing goes inside.
	reason string
	// told is the command that tells it, with the URL behind; readdb --url when nil.
	told []string
}

// group is a crawl that several ways share.
type group struct {
	name   string
	config func(*world) string // added to site.hcl; nil: nothing
	needs  func(testing.TB)    // skips what can't run on this machine
	names  bool                // names are looked up in the test's own DNS server
	ways   []way
}

// world is what a crawl of the table has: a site that is crawled and others that must not
// be reached.
type world struct {
	t   *testing.T
	out *testsite.Server
	// in is inside, on 127.0.0.1 and 127.0.0.2. Whatever connects to it, in whatever
	// protocol, is counted.
	in    *testsite.Server
	path  string   // of the way that is being led to
	seeds []string // besides the front page
	allow []string // http.allow_private
	after []func() // checks when the crawl has ended
	zone  *zone    // names, for groups that have them
}

// inner is the inner address and port.
func (w *world) inner() string { return w.in.Addr() }

// fill puts the inner address for INNER and its port for PORT.
func (w *world) fill(text string) string {
	port := w.in.Port()
	return strings.NewReplacer("INNER", w.inner(), "PORT", strconv.Itoa(port), "PATH", w.path, "PASV", fmt.Sprintf("%d,%d", port/256, port%256)).Replace(text)
}

// at is a URL in which the inner address and the way's path are filled in.
func at(url string) func(*world) string { return func(w *world) string { return w.fill(url) } }

// front is the URL of the front page, page that of the way's own page.
func front(w *world) string { return w.out.Site().URL("/") }
func page(w *world) string  { return w.out.Site().URL(w.path) }

// linkTo leads by a link of the front page.
func linkTo(url string) func(*world) string {
	return func(w *world) string { return anchor(w.fill(url)) }
}

func anchor(url string) string { return `<a href="` + url + `">x</a>` }

// onPage leads by a page of its own.
func onPage(html string) func(*world) string {
	return func(w *world) string {
		w.out.Site().Page(w.path, "<p>page"+w.fill(html))
		return anchor(w.path)
	}
}

// redirect leads by a redirect from a page of the site.
func redirect(code int, to string) func(*world) string {
	return func(w *world) string {
		w.out.Site().Redirect(w.path, code, w.fill(to))
		return anchor(w.path)
	}
}

const isLoopback = "is loopback: refused"

// TestNothingInside tries every way into the network and the files of the machine that a
// page, a redirect, robots.txt, a sitemap, a script in the browser, an FTP server, an S3
// service or a name has. Nothing inside is ever connected to, and the reason stands in the
// record or in the report.
func TestNothingInside(t *testing.T) {
	for _, g := range groups() {
		t.Run(strings.ReplaceAll(g.name, " ", "_"), func(t *testing.T) { nothingInside(t, g) })
	}
}

func groups() []group {
	out := append(httpGroups(), proxyGroups()...)
	out = append(out, browserGroup(), ftpGroup(), s3Group())
	return append(out, nameGroups()...)
}

func nothingInside(t *testing.T, g group) {
	if g.needs != nil {
		g.needs(t)
	}
	w := &world{
		t: t, in: testsite.Start(t, testsite.Options{Addrs: []string{"127.0.0.2", "127.0.0.1"}}), out: testsite.Start(t, testsite.Options{}),
	}
	if g.names {
		w.zone = startZone(t)
	}
	html := "<title>front</title>"
	for _, way := range g.ways {
		w.path = pathOf(way)
		html += way.lead(w)
	}
	w.out.Site().Page("/", html)
	dir := filepath.Join(t.TempDir(), "crawl")
	files := w.config(g)
	common := []string{"--dir", dir}
	for _, f := range files {
		common = append(common, "--config", f)
	}
	w.seeds = append(w.seeds, front(w))
	var report string
	if g.names {
		w.zone.crawl(dir, files, w.seeds)
	} else {
		args := append([]string{"run", "--rounds", "4"}, common...)
		for _, s := range w.seeds {
			args = append(args, "--seeds", s)
		}
		report = mustRun(t, args...)
	}
	if w.out.Site().Count("/") != 1 {
		t.Fatalf("the front page was asked for %d times\n%s", w.out.Site().Count("/"), report)
	}
	for _, way := range g.ways {
		w.path = pathOf(way)
		w.judge(way, dir, common, report)
	}
	for _, f := range w.after {
		f()
	}
	if total, _ := w.in.Connections("127.0.0.1"); total != 0 {
		t.Errorf("%d connections went inside: %v", total, w.in.Requests())
	}
}

func pathOf(w way) string { return "/" + strings.ReplaceAll(w.name, " ", "-") }

// config writes what all crawls have and what this one adds, and returns the files.
func (w *world) config(g group) []string {
	texts := []string{`plugin { remove = ["urlfilter-validator", "urlfilter-regex", "urlnormalizer-basic", "urlnormalizer-regex"] }
http {
  agent_name = "testbot"
  agent_url  = "http://example.org/bot"
}
fetcher {
  server_delay  = "0s"
  release_after = "0s"
}
store { low_water = "0" }
log { level = "error" }
`, "http { allow_private = [" + quoted(w.allow) + "] }\n"}
	if g.config != nil {
		texts = append(texts, g.config(w))
	}
	dir := w.t.TempDir()
	var files []string
	for i, text := range texts {
		files = append(files, writeFile(w.t, dir, fmt.Sprintf("site%d.hcl", i), text))
	}
	return files
}

// judge looks for the reason of a way.
func (w *world) judge(way way, dir string, common []string, report string) {
	w.t.Helper()
	if way.url == nil {
		if !strings.Contains(report, way.reason) {
			w.t.Errorf("%s: the report does not tell %q:\n%s", way.name, way.reason, report)
		}
		return
	}
	url, told := way.url(w), way.told
	if told == nil {
		told = []string{"readdb", "--url"}
	}
	if rec := mustRun(w.t, append(append(told[:len(told):len(told)], url), common...)...); !strings.Contains(rec, w.fill(way.reason)) {
		w.t.Errorf("%s: %s of %s does not tell %q:\n%s", way.name, told[0], url, w.fill(way.reason), rec)
	}
}
