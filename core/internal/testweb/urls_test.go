package testweb

import (
	"net/url"
	"strings"
	"testing"
)

// allRefs returns every URL of w that is not endless.
func allRefs(w *Web) (out []ref) {
	for i := range w.hosts {
		h := int32(i)
		for k := kindPage; k < kindTrap; k++ {
			for a := range max(w.hosts[h].size, int32(len(w.hosts))) {
				for b := range int32(7) {
					r := ref{kind: k, host: h, a: a, b: b}
					if w.exists(r) && (b == 0) == (k != kindHop) && (a == 0 || k != kindSitemapOnly) {
						out = append(out, r)
					}
				}
			}
		}
	}
	return out
}

func TestEveryURLIsFoundAgain(t *testing.T) {
	for _, port := range []int{0, 8080} {
		w := newWeb(t, func(c *Config) { c.Port, c.Shares.Trap, c.Shares.RobotsRedirect, c.Pages = port, 0.5, 0.3, 2000 })
		kinds := map[kind]int{}
		seen := map[string]ref{}
		for _, r := range allRefs(w) {
			u := w.url(r)
			if was, twice := seen[u]; twice {
				t.Fatalf("%s is both %+v and %+v", u, was, r)
			}
			seen[u] = r
			if got := w.parse(u); got != r {
				t.Fatalf("%s of %+v is parsed as %+v", u, r, got)
			}
			kinds[r.kind]++
		}
		for k := kindPage; k < kindTrap; k++ {
			if kinds[k] == 0 {
				t.Errorf("no URL of kind %d", k)
			}
		}
	}
}

func TestOnlyNormalFormIsFound(t *testing.T) {
	w := newWeb(t, func(c *Config) { c.Shares = Plain() })
	for _, u := range []string{
		"http://host0.test/s1/p33.html", "http://host0.test/", "http://host0.test/s1/", "http://host59.test/robots.txt",
	} {
		if r := w.parse(u); r.kind == kindUnknown {
			t.Errorf("%s is not found", u)
		}
	}
	for _, u := range []string{
		"", "host0.test", "https://host0.test/", "http://host0.test/s1/p033.html", "http://host0.test/s1/./p33.html",
		"http://host0.test/s2/p33.html", "http://host0.test/s1/p33.htm", "http://host0.test/s1/p33.html?", "http://host0.test/s1",
		"http://host0.test/s0/", "http://host0.test/s99999/", "http://host60.test/", "http://host00.test/", "http://HOST0.test/",
		"http://host0.test/s1/p33.html#a", "http://u@host0.test/", "http://host0.test/robots-1.txt", "http://host0.test/s1/hop33-1",
		"http://host0.test/s1/bait33.html", "http://host0.test/s1/p99999999999.html", "http://host-1.test/", "http://host.test/",
		"http://host0.test/s1/p33.html?view=full", "http://host0.test/s1/private/p33.html", "http://host0.test:80/",
	} {
		if r := w.parse(u); r.host >= 0 && r.kind != kindUnknown {
			t.Errorf("%s is taken for %s", u, w.url(r))
		}
	}
}

func FuzzFind(f *testing.F) {
	w := newWeb(f, func(c *Config) { c.Shares.Trap = 0.5; c.Pages = 500 })
	for _, s := range []string{"/", "/s1/p34.html", "/s1/p35.html?view=full", "/s0/hop3-1", "/robots-1.txt", "/trap/deep/more/", "/s1/private/p3"} {
		p, q, _ := strings.Cut(s, "?")
		f.Add("host3.test", p, q)
	}
	f.Add("HOST3.test:80", "/sitemap-1.xml", "x")
	f.Fuzz(func(t *testing.T, host, path, query string) {
		r := w.find(host, path, query)
		if r.host >= int32(len(w.hosts)) {
			t.Fatalf("no such host: %+v", r)
		}
		if r.host < 0 || r.kind == kindUnknown || r.kind == kindTrap {
			return
		}
		want := path
		if query != "" {
			want += "?" + query
		}
		if got := string(w.appendPath(nil, r)); got != want {
			t.Fatalf("%q is taken for %q", want, got)
		}
		if u, err := url.Parse(w.url(r)); err != nil || u.EscapedPath() != path {
			t.Fatalf("%q is no URL in normal form: %v", w.url(r), err)
		}
	})
}
