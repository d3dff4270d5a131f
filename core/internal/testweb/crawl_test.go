package testweb

import (
	"context"
	"encoding/xml"
	"io"
	"net"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/temoto/robotstxt"
	xhtml "golang.org/x/net/html"
	htmlcharset "golang.org/x/net/html/charset"

	"github.com/gonutch/crawler/sdk/model"
)

// serve runs w until the test ends and returns a client that uses it as its proxy.
func serve(t testing.TB, w *Web) *http.Client {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.Serve(ctx, l) }()
	tr := &http.Transport{
		Proxy:              http.ProxyURL(&url.URL{Scheme: "http", Host: l.Addr().String()}),
		DisableCompression: true,
	}
	t.Cleanup(func() {
		tr.CloseIdleConnections()
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return &http.Client{
		Transport:     tr,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

func newWeb(t testing.TB, change func(*Config)) *Web {
	t.Helper()
	cfg := DefaultConfig()
	cfg.Hosts, cfg.Pages, cfg.PageSize, cfg.SlowDelay, cfg.RetryAfter = 60, 1500, Size6KB, 0, 0
	if change != nil {
		change(&cfg)
	}
	w, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// miniCrawler is a crawler of the simplest kind, for comparison: it knows nothing of this
// package but its URLs.
type miniCrawler struct {
	t       *testing.T
	c       *http.Client
	agent   string
	db      map[string]model.Status
	tries   map[string]int
	robots  map[string]*robotstxt.RobotsData // nil while unreachable
	asked   map[string]int
	onePass bool
	sitemap bool           // read sitemaps
	traps   map[string]int // URLs below /trap/ followed, by host
}

func (m *miniCrawler) crawl(seed string) map[string]model.Status {
	m.db = map[string]model.Status{seed: model.StatusDBUnfetched}
	m.tries, m.robots, m.asked, m.traps = map[string]int{}, map[string]*robotstxt.RobotsData{}, map[string]int{}, map[string]int{}
	queue := []string{seed}
	read := map[string]bool{} // hosts whose sitemap was read
	for len(queue) > 0 {
		u := queue[0]
		queue = queue[1:]
		status, links := m.fetch(u)
		m.db[u] = status
		if status == model.StatusDBUnfetched && !m.onePass && m.tries[u] < 3 {
			queue = append(queue, u) // an unreachable robots.txt counts no try, but ends after three questions
			if m.robots[hostOf(u)] == nil && m.asked[hostOf(u)] >= 3 {
				queue = queue[:len(queue)-1]
			}
		}
		if h := hostOf(u); m.sitemap && !read[h] && m.robots[h] != nil {
			read[h] = true
			for _, at := range m.robots[h].Sitemaps {
				links = append(links, m.readSitemap(at)...)
			}
		}
		for _, l := range links {
			if _, known := m.db[l]; !known && !m.enough(l) {
				m.db[l] = model.StatusDBUnfetched
				queue = append(queue, l)
			}
		}
	}
	return m.db
}

// enough reports whether l is the hundredth-odd URL of a trap.
func (m *miniCrawler) enough(l string) bool {
	if strings.Contains(l, trapPrefix) {
		m.traps[hostOf(l)]++
	}
	return m.traps[hostOf(l)] > 100 && strings.Contains(l, trapPrefix)
}

func (m *miniCrawler) readSitemap(at string) (urls []string) {
	_, body, err := m.get(at)
	if err != nil {
		m.t.Errorf("sitemap %s: %v", at, err)
		return nil
	}
	var doc struct {
		Pages []string `xml:"url>loc"`
		Parts []string `xml:"sitemap>loc"`
	}
	if err := xml.Unmarshal(body, &doc); err != nil {
		m.t.Errorf("sitemap %s: %v", at, err)
	}
	for _, part := range doc.Parts {
		urls = append(urls, m.readSitemap(part)...)
	}
	return append(urls, doc.Pages...)
}

func hostOf(u string) string {
	p, _ := url.Parse(u)
	return p.Host
}

func (m *miniCrawler) get(u string) (*http.Response, []byte, error) {
	resp, err := m.c.Get(u)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return resp, body, err
}

// allowed reports whether u may be fetched; unknown while robots.txt is unreachable.
func (m *miniCrawler) allowed(u string) (ok, known bool) {
	h := hostOf(u)
	data := m.robots[h]
	if data == nil {
		m.asked[h]++
		at := "http://" + h + "/robots.txt"
		for range 6 {
			resp, body, err := m.get(at)
			if err != nil || resp.StatusCode >= 500 {
				return false, false
			}
			if resp.StatusCode/100 == 3 {
				data, _ = robotstxt.FromString("")
				at = resolve(at, resp.Header.Get("Location"))
				continue
			}
			if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "text/plain" {
				body = nil
			}
			body = body[:min(len(body), 500<<10)]
			if data, err = robotstxt.FromBytes(body); err != nil {
				m.t.Fatalf("robots.txt of %s: %v", h, err)
			}
			break
		}
		m.robots[h] = data
	}
	p, _ := url.Parse(u)
	return data.TestAgent(p.RequestURI(), m.agent), true
}

func (m *miniCrawler) fetch(u string) (model.Status, []string) {
	ok, known := m.allowed(u)
	switch {
	case !known:
		return model.StatusDBUnfetched, nil
	case !ok:
		return model.StatusDBGone, nil
	}
	m.tries[u]++
	failed := model.StatusDBUnfetched
	if m.tries[u] >= 3 {
		failed = model.StatusDBGone
	}
	resp, body, err := m.get(u)
	if err != nil {
		return failed, nil
	}
	switch c := resp.StatusCode; {
	case c == 200:
		return m.page(u, resp, body)
	case c == 301 || c == 308:
		return model.StatusDBRedirPerm, []string{resolve(u, resp.Header.Get("Location"))}
	case c == 302 || c == 303 || c == 307:
		return model.StatusDBRedirTemp, []string{resolve(u, resp.Header.Get("Location"))}
	case c == 401 || c == 404 || c == 410:
		return model.StatusDBGone, nil
	}
	return failed, nil
}

func (m *miniCrawler) page(u string, resp *http.Response, body []byte) (model.Status, []string) {
	ctype := resp.Header.Get("Content-Type")
	if !strings.HasPrefix(ctype, "text/html") {
		return model.StatusDBFetched, nil
	}
	r, err := htmlcharset.NewReader(strings.NewReader(string(body)), ctype)
	if err != nil {
		m.t.Fatal(err)
	}
	doc, err := xhtml.Parse(r)
	if err != nil {
		m.t.Fatal(err)
	}
	status, nofollow := model.StatusDBFetched, forbids(resp.Header.Get("X-Robots-Tag"))
	var links []string
	for n := range doc.Descendants() {
		at := func(key string) string {
			for _, a := range n.Attr {
				if a.Key == key {
					return a.Val
				}
			}
			return ""
		}
		switch {
		case n.Data == "meta" && at("name") == "robots":
			nofollow = nofollow || forbids(at("content"))
		case n.Data == "meta" && at("http-equiv") == "refresh":
			m := refresh.FindStringSubmatch(at("content"))
			if m == nil {
				panic("refresh " + at("content"))
			}
			status = model.StatusDBRedirTemp
			if s, _ := strconv.Atoi(m[1]); s >= 5 {
				status = model.StatusDBRedirPerm
			}
			links = append(links, resolve(u, m[2]))
		case n.Data == "a" && !forbids(at("rel")):
			links = append(links, resolve(u, at("href")))
		}
	}
	if len(links) > 100 {
		m.t.Errorf("%s has %d links", u, len(links))
	}
	if nofollow {
		return status, nil
	}
	return status, links
}

var refresh = regexp.MustCompile(`(?i)^\s*(\d+)\s*[;,]\s*(?:url\s*=\s*)?'?([^' ]+)'?\s*$`)

func forbids(robots string) bool {
	robots = strings.ToLower(robots)
	return strings.Contains(robots, "nofollow") || robots == "none"
}

// resolve does what a crawler's URL normalizer does to the links of this web.
func resolve(base, link string) string {
	b, err := url.Parse(base)
	if err != nil {
		panic(err)
	}
	u, err := b.Parse(strings.TrimSpace(link))
	if err != nil {
		panic(err)
	}
	u.Host = strings.TrimSuffix(strings.ToLower(u.Host), ":80")
	u.Fragment = ""
	if clean := path.Clean(u.Path); strings.HasSuffix(u.Path, "/") && clean != "/" {
		u.Path = clean + "/"
	} else {
		u.Path = clean
	}
	return u.String()
}

// TestTruthEqualsCrawl crawls real answers over HTTP and compares.
func TestTruthEqualsCrawl(t *testing.T) {
	tests := []struct {
		name    string
		agent   string
		onePass bool
		sitemap bool
		change  func(*Config)
	}{
		{"standard", "", false, false, func(c *Config) { c.PageSize = SizeRealistic }},
		{"named agent", "minibot", false, false, func(c *Config) { c.Seed, c.Agent = 2, "minibot" }},
		{"one pass", "", true, false, func(c *Config) { c.Seed = 3 }},
		{"one pass, robots late", "", true, false, func(c *Config) { c.Seed, c.Shares.RobotsFlaky = 8, 0.2 }},
		{"stable", "", false, false, func(c *Config) { c.Seed, c.Shares = 4, Stable() }},
		{"sitemaps", "", false, true, func(c *Config) { c.Seed, c.Pages, c.LargestHost = 12, 2500, 1300 }},
		{"traps", "", false, false, func(c *Config) { c.Seed, c.Shares.Trap = 13, 0.5 }},
		{"plain", "", false, false, func(c *Config) { c.Shares, c.PageSize = Plain(), Size6KB }},
		{"port", "", false, false, func(c *Config) { c.Port, c.Seed, c.Pages = 8080, 6, 1000 }},
		{"one host", "", false, false, func(c *Config) { c.Hosts, c.Pages, c.LargestHost = 1, 500, 500 }},
		{"many uniform links", "", false, false, func(c *Config) { c.Links, c.Shares.UniformLinks = 60, 0.9 }},
		{"a page a host", "", false, false, func(c *Config) { c.Hosts, c.Pages = 500, 500 }},
		{"much of everything odd", "", false, false, func(c *Config) {
			c.Seed = 9
			s := &c.Shares
			s.Redirect, s.RedirectLoop, s.FlakyError, s.TooMany, s.Truncated, s.WrongType = 0.2, 0.05, 0.05, 0.05, 0.05, 0.05
			s.Charset, s.MessyLinks, s.PathPrivate, s.PathCGI, s.PathQuery = 0.6, 0.5, 0.2, 0.2, 0.2
			s.RobotsSome, s.RobotsRedirect, s.RobotsHuge, s.RobotsFlaky, s.RobotsError = 0.2, 0.2, 0.1, 0.05, 0.05
			s.Dead, s.Abrupt, s.Dying = 0.1, 0.05, 0.1
		}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			w := newWeb(t, tc.change)
			m := miniCrawler{t: t, c: serve(t, w), agent: tc.agent, onePass: tc.onePass, sitemap: tc.sitemap}
			got := m.crawl(w.PageURL(0))
			truth := w.Truth(Options{OnePass: tc.onePass, Sitemaps: tc.sitemap, NoDedup: true})
			for i, d := range truth.Check(got) {
				if t.Error(d); i > 20 {
					t.Fatal("and more")
				}
			}
			r := w.Report()
			for k, n := range r.ViolationsBy {
				if k != ViolationConcurrent || r.Repeats == 0 {
					t.Errorf("%d violations: %s, such as %+v", n, k, r.Violations[0])
				}
			}
			if len(r.UnknownURLs) > 0 {
				t.Errorf("links to nowhere: %v", r.UnknownURLs)
			}
			if traps := m.traps["host0.test"]; tc.name == "traps" && (traps < 100 || len(got) < 2500) {
				t.Errorf("only %d URLs of host0's trap, %d in all", traps, len(got))
			}
			s := truth.Summary()
			if s.Required < len(got)/3 || s.Required < w.cfg.Pages/3 {
				t.Errorf("truth requires %d URLs of %d pages, crawl knows %d", s.Required, w.cfg.Pages, len(got))
			}
			t.Logf("%d URLs, %d required, %d optional: %v; %v", len(got), s.Required, s.Optional, s.Why, r.ByStatus)
		})
	}
}
