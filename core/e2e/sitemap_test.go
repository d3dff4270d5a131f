package e2e

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gonutch/crawler/core/internal/cycle"
	"github.com/gonutch/crawler/core/internal/db/transition"
	"github.com/gonutch/crawler/core/internal/step/inject"
	"github.com/gonutch/crawler/core/internal/step/sitemap"
	"github.com/gonutch/crawler/core/internal/urlkey"
	"github.com/gonutch/crawler/sdk/model"
)

// manyHosts serves texts by "host/path", as a proxy does.
type manyHosts struct {
	mu    sync.Mutex
	texts map[string]string
	asked map[string]int
}

func (m *manyHosts) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked[r.Host+r.URL.Path]++
	text, ok := m.texts[r.Host+r.URL.Path]
	switch {
	case !ok:
		http.NotFound(w, r)
	case strings.HasPrefix(text, "-> "):
		http.Redirect(w, r, text[3:], http.StatusMovedPermanently)
	case text == "busy":
		w.WriteHeader(http.StatusServiceUnavailable)
	default:
		w.Header().Set("Content-Type", "application/octet-stream") // what it is goes by the bytes
		_, _ = w.Write([]byte(text))
	}
}

func urlset(urls ...string) string {
	var b strings.Builder
	b.WriteString(`<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:news="http://www.google.com/schemas/sitemap-news/0.9">`)
	for _, u := range urls {
		loc, more, _ := strings.Cut(u, " ")
		fmt.Fprintf(&b, "<url><loc>%s</loc>%s</url>", loc, more)
	}
	return b.String() + "</urlset>"
}

func sitemapindex(urls ...string) string {
	b := `<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">`
	for _, u := range urls {
		b += "<sitemap><loc>" + u + "</loc></sitemap>"
	}
	return b + "</sitemapindex>"
}

func gz(t *testing.T, text string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestSitemapCommand: which sitemaps are read, what they may name, and what becomes
// of the rest.
func TestSitemapCommand(t *testing.T) {
	robots := func(maps ...string) string {
		return "User-agent: *\nDisallow: /secret\nSitemap: " + strings.Join(maps, "\nSitemap: ") + "\n"
	}
	for name, c := range map[string]struct {
		texts   map[string]string
		seeds   string // hosts of the CrawlDB
		given   string
		sets    string
		want    string // new URLs
		failed  map[string]int
		dropped map[string]int
	}{
		"robots.txt, unknown before": {
			seeds: "http://a.test/", texts: map[string]string{"a.test/robots.txt": robots("http://a.test/deep/map.xml"), "a.test/deep/map.xml": urlset("http://a.test/1", "http://a.test/deep/2")},
			want: "http://a.test/1 http://a.test/deep/2",
		},
		"/sitemap.xml": {
			seeds: "http://a.test/", texts: map[string]string{"a.test/sitemap.xml": urlset("http://a.test/1")}, want: "http://a.test/1",
		},
		"/sitemap.xml, not wanted": {
			seeds: "http://a.test/", texts: map[string]string{"a.test/sitemap.xml": urlset("http://a.test/1")}, sets: "sitemap.url_default_sitemap_xml=false",
		},
		"index, gzip, text, redirect": {
			given: "http://a.test/index.xml",
			texts: map[string]string{
				"a.test/index.xml": sitemapindex("http://a.test/1.xml.gz", "http://a.test/2.txt", "http://a.test/3.xml", "http://a.test/index.xml"),
				"a.test/1.xml.gz":  gz(t, urlset("http://a.test/1")), "a.test/2.txt": "http://a.test/2\nhttp://a.test/22\n",
				"a.test/3.xml": "-> http://a.test/4.xml", "a.test/4.xml": urlset("http://a.test/4"),
			},
			want: "http://a.test/1 http://a.test/2 http://a.test/22 http://a.test/4",
		},
		"redirects without end": {
			given: "http://a.test/1.xml", sets: "sitemap.redir_max=1",
			texts:  map[string]string{"a.test/1.xml": "-> http://a.test/2.xml", "a.test/2.xml": "-> http://a.test/3.xml", "a.test/3.xml": urlset("http://a.test/1")},
			failed: map[string]int{"redirect not followed": 1},
		},
		"other hosts": {
			seeds: "http://a.test/ http://c.test/", given: "http://a.test/map.xml",
			texts: map[string]string{
				"c.test/robots.txt": robots("http://a.test/map.xml"), "c.test/sitemap.xml": urlset(),
				"a.test/map.xml": urlset("http://a.test/1", "http://b.test/1", "http://c.test/1"),
			},
			want:    "http://a.test/1 http://c.test/1",
			dropped: map[string]int{"on another host, whose robots.txt does not name the sitemap (sitemap.strict_parsing)": 1},
		},
		"not strict": {
			given: "http://a.test/map.xml", sets: "sitemap.strict_parsing=false",
			texts: map[string]string{"a.test/map.xml": urlset("http://a.test/1", "http://b.test/1")}, want: "http://a.test/1 http://b.test/1",
		},
		"not strict, but on the site": {
			given: "http://a.test/map.xml", sets: "sitemap.strict_parsing=false db.ignore_external_links=true",
			texts: map[string]string{"a.test/map.xml": urlset("http://a.test/1", "http://b.test/1")}, want: "http://a.test/1",
			dropped: map[string]int{"external (db.ignore_external_links)": 1},
		},
		"index to another host": {
			given: "http://a.test/index.xml", texts: map[string]string{"a.test/index.xml": sitemapindex("http://b.test/1.xml"), "b.test/1.xml": urlset("http://b.test/1")},
			dropped: map[string]int{"sitemap of an index: on another host, whose robots.txt does not name the sitemap (sitemap.strict_parsing)": 1},
		},
		"limits": {
			given: "http://a.test/index.xml http://b.test/1.xml", sets: "sitemap.max_depth=1 sitemap.max_urls=2 sitemap.max_urls_per_host=3 sitemap.max_per_host=3",
			texts: map[string]string{
				"a.test/index.xml": sitemapindex("http://a.test/1.xml", "http://a.test/2.xml"),
				"a.test/1.xml":     sitemapindex("http://a.test/3.xml"), "a.test/2.xml": urlset("http://a.test/1", "http://a.test/2", "http://a.test/3"),
				"a.test/3.xml": urlset("http://a.test/no"), "b.test/1.xml": urlset("http://b.test/1"),
			},
			want: "http://a.test/1 http://a.test/2 http://b.test/1",
			dropped: map[string]int{
				"index deeper than sitemap.max_depth": 1, "more than sitemap.max_urls of the sitemap": 1,
			},
		},
		"too many sitemaps": {
			given: "http://a.test/index.xml", sets: "sitemap.max_per_host=1",
			texts:  map[string]string{"a.test/index.xml": sitemapindex("http://a.test/1.xml"), "a.test/1.xml": urlset("http://a.test/no")},
			failed: map[string]int{"more than sitemap.max_per_host of the host": 1},
		},
		"too many URLs of a host": {
			given: "http://a.test/1.xml", sets: "sitemap.max_urls_per_host=1", texts: map[string]string{"a.test/1.xml": urlset("http://a.test/1", "http://a.test/2")},
			want: "http://a.test/1", dropped: map[string]int{"more than sitemap.max_urls_per_host of the host": 1},
		},
		"normalizers and filters": {
			given: "http://a.test/1.xml", texts: map[string]string{"a.test/1.xml": urlset("HTTP://A.test:80/x/../1#f", "http://a.test/pic.gif")},
			want: "http://a.test/1", dropped: map[string]int{"rejected by urlfilter-regex": 1},
		},
		"no filters": {
			given: "http://a.test/1.xml", sets: "sitemap.url_filter=false", texts: map[string]string{"a.test/1.xml": urlset("http://a.test/pic.gif")}, want: "http://a.test/pic.gif",
		},
		"what can't be read": {
			given:  "http://a.test/page http://a.test/none http://a.test/secret/1.xml http://b.test/busy",
			texts:  map[string]string{"a.test/robots.txt": robots("http://a.test/page"), "a.test/page": "<html><p>Hello</html>", "b.test/busy": "busy"},
			failed: map[string]int{"not a sitemap": 1, "notfound": 1, "robots_denied": 1, "exception": 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			web := &manyHosts{texts: c.texts, asked: map[string]int{}}
			srv := httptest.NewServer(web)
			defer srv.Close()
			l := openLocal(t, filepath.Join(t.TempDir(), "crawl"), strings.TrimPrefix(srv.URL, "http://"), strings.Fields(c.sets)...)
			seeds := strings.Fields(c.seeds)
			if len(seeds) > 0 {
				l.inject(t, seeds...)
				// Their robots.txt is known from now on, as after a first round; but for
				// those cases that begin with hosts never asked.
				if c.given != "" {
					if _, err := l.cycle.Sitemaps(t.Context(), cycle.SitemapOptions{Hosts: true, Change: func(s *sitemap.Config) { s.Additions = false }}, nil); err != nil {
						t.Fatal(err)
					}
				}
			}
			rep, err := l.cycle.Sitemaps(t.Context(), cycle.SitemapOptions{URLs: strings.Fields(c.given), Hosts: c.given == "", Change: func(s *sitemap.Config) { s.Additions = true }}, nil)
			if err != nil {
				t.Fatal(err)
			}
			want := map[string]model.Status{}
			for _, u := range append(strings.Fields(c.want), seeds...) {
				want[u] = model.StatusDBUnfetched
			}
			if d := cmp.Diff(want, l.statuses(t)); d != "" {
				t.Error(d)
			}
			for _, m := range []map[string]int{rep.Failed, rep.Dropped} {
				maps.DeleteFunc(m, func(_ string, n int) bool { return n == 0 })
			}
			if d := cmp.Diff(c.failed, rep.Failed); d != "" && len(c.failed)+len(rep.Failed) > 0 {
				t.Errorf("failed: %s", d)
			}
			if d := cmp.Diff(c.dropped, rep.Dropped); d != "" && len(c.dropped)+len(rep.Dropped) > 0 {
				t.Errorf("dropped: %s", d)
			}
			if check, err := l.DB.Check(t.Context()); err != nil || check.Total != 0 {
				t.Errorf("%+v %v", check, err)
			}
		})
	}
}

// TestSitemapHints: score, interval and modification time of new records, and of
// known ones only when that is wanted.
func TestSitemapHints(t *testing.T) {
	web := &manyHosts{asked: map[string]int{}, texts: map[string]string{"a.test/map.xml": urlset(
		"http://a.test/new <priority>0.9</priority><changefreq>daily</changefreq><lastmod>2024-05-17</lastmod><news:news><news:title>x</news:title></news:news>",
		"http://a.test/plain", "http://a.test/old <priority>1.0</priority><changefreq>hourly</changefreq><lastmod>2999-01-01</lastmod>",
	)}}
	srv := httptest.NewServer(web)
	defer srv.Close()
	l := openLocal(t, filepath.Join(t.TempDir(), "crawl"), strings.TrimPrefix(srv.URL, "http://"))
	seed := inject.Seed{URL: "http://a.test/old", Where: "test", Seed: transition.Seed{Score: 7 * model.Micro, ScoreSet: true}}
	if _, err := l.cycle.Inject(t.Context(), []inject.Seed{seed}, transition.InjectNew, false); err != nil {
		t.Fatal(err)
	}
	read := func(overwrite bool) {
		t.Helper()
		_, err := l.cycle.Sitemaps(t.Context(), cycle.SitemapOptions{
			URLs: []string{"http://a.test/map.xml"}, Change: func(s *sitemap.Config) { s.Overwrite = overwrite },
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
	}
	wants := func(path string, score float64, interval time.Duration, modified string) {
		t.Helper()
		rec, err := l.DB.Get(urlkey.FromURL("http://a.test/" + path))
		if err != nil || rec == nil {
			t.Fatalf("%s: %v %v", path, rec, err)
		}
		m := ""
		if !rec.Datum.ModifiedTime.IsZero() {
			m = rec.Datum.ModifiedTime.UTC().Format(time.DateOnly)
		}
		if d := &rec.Datum; d.Score != int64(score*model.Micro) || d.Interval != interval || m != modified {
			t.Errorf("%s: score %d, interval %v, modified %q; want %v, %v, %q", path, d.Score, d.Interval, m, score, interval, modified)
		}
	}
	const day = 24 * time.Hour
	read(false)
	wants("new", 0.9, day, "2024-05-17")
	wants("plain", 0.5, 30*day, "")
	wants("old", 7, 30*day, "")
	read(true)
	wants("old", 1, time.Hour, "") // a date to come is no modification
	if n := web.asked["a.test/map.xml"]; n != 2 {
		t.Errorf("the sitemap was asked for %d times", n)
	}
}

// TestSitemapsOfHostOnce: a run reads the sitemaps of a host once, or again after the
// interval.
func TestSitemapsOfHostOnce(t *testing.T) {
	web := &manyHosts{asked: map[string]int{}, texts: map[string]string{"a.test/": "<p>x", "a.test/hidden": "<p>y", "a.test/sitemap.xml": urlset("http://a.test/hidden")}}
	srv := httptest.NewServer(web)
	defer srv.Close()
	l := openLocal(t, filepath.Join(t.TempDir(), "crawl"), strings.TrimPrefix(srv.URL, "http://"), "sitemap.from_hostdb=once", "indexer.enabled=false")
	l.inject(t, "http://a.test/")
	for range 2 {
		if _, err := l.cycle.NewRunner().Run(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]model.Status{"http://a.test/": model.StatusDBFetched, "http://a.test/hidden": model.StatusDBFetched}
	if d := cmp.Diff(want, l.statuses(t)); d != "" {
		t.Error(d)
	}
	if n := web.asked["a.test/sitemap.xml"]; n != 1 {
		t.Errorf("the sitemap was asked for %d times, want once", n)
	}
}
