package libhttp

import (
	"container/list"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"

	"golang.org/x/net/publicsuffix"
)

const (
	maxCookieFile  = 16 << 20
	maxCookieSites = 4096 // whose cookies are kept; of more the longest unused goes
	maxCookies     = 200  // of one site; one that sets more loses them all
	maxCookieSize  = 4 << 10
)

// hostCookie is a line of http.cookie_file.
type hostCookie struct {
	host   hostPattern
	cookie string
}

// readCookieFile reads Nutch's cookies.txt: the host, a tab, the cookie as it
// is sent. Lines that begin with # are comments. (Nutch also skips lines with a
// # anywhere, which loses cookies.) "" is no file.
func readCookieFile(file string) ([]hostCookie, error) {
	if file == "" {
		return nil, nil
	}
	info, err := os.Stat(file)
	if err != nil {
		return nil, invalid("http.cookie_file: %w", err)
	}
	if info.Size() > maxCookieFile {
		return nil, invalid("http.cookie_file: %s has more than %d bytes", file, maxCookieFile)
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, invalid("http.cookie_file: %w", err)
	}
	var out []hostCookie
	n := 0
	for line := range strings.Lines(string(raw)) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		host, cookie, ok := strings.Cut(line, "\t")
		cookie = strings.TrimSpace(cookie)
		if !ok || cookie == "" {
			return nil, invalid("%s:%d: want a host, a tab and its cookie", file, n)
		}
		p, err := parseHost(host)
		if err != nil {
			return nil, invalid("%s:%d: %q: %w", file, n, host, err)
		}
		if !isHeaderValue(cookie) {
			return nil, invalid("%s:%d: the cookie has characters that a header can't carry", file, n)
		}
		out = append(out, hostCookie{p, cookie})
	}
	return out, nil
}

// cookies are the cookies to send: those of the file, and those that servers
// set, by registered domain and in memory only. It is safe for concurrent use.
type cookies struct {
	file []hostCookie
	all  bool // servers' cookies are kept for every site, not only for those with a login

	mu    sync.Mutex
	sites map[string]*list.Element // of *siteCookies, by registered domain
	lru   *list.List               // most recently used first
}

type siteCookies struct {
	domain string
	jar    *cookiejar.Jar
	names  map[string]bool
}

// site returns the cookies of u's registered domain; nil when there are none
// and create is false.
func (c *cookies) site(u *url.URL, create bool) *siteCookies {
	host := u.Hostname()
	domain, err := publicsuffix.EffectiveTLDPlusOne(host)
	if err != nil {
		domain = host
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if el, ok := c.sites[domain]; ok {
		c.lru.MoveToFront(el)
		return el.Value.(*siteCookies)
	}
	if !create {
		return nil
	}
	if c.sites == nil {
		c.sites, c.lru = map[string]*list.Element{}, list.New()
	}
	jar, err := cookiejar.New(&cookiejar.Options{PublicSuffixList: publicsuffix.List})
	if err != nil {
		return nil // it never fails
	}
	s := &siteCookies{domain: domain, jar: jar, names: map[string]bool{}}
	c.sites[domain] = c.lru.PushFront(s)
	if c.lru.Len() > maxCookieSites {
		last := c.lru.Remove(c.lru.Back()).(*siteCookies)
		delete(c.sites, last.domain)
	}
	return s
}

// forget drops all cookies that servers set for u's registered domain.
func (c *cookies) forget(u *url.URL) {
	s := c.site(u, false)
	if s == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if el, ok := c.sites[s.domain]; ok {
		c.lru.Remove(el)
		delete(c.sites, s.domain)
	}
}

// keepsCookies reports whether what servers set is kept for c.
func (f *Fetcher) keepsCookies(c *call) bool {
	return c.page && (f.cookies.all || c.keep || c.login() != nil)
}

// cookieOf returns the Cookie header of c, or "".
func (f *Fetcher) cookieOf(c *call) string {
	if !c.page {
		return ""
	}
	var parts []string
	if f.cfg.HTTP.Cookies {
		if isHeaderValue(c.recordCookie) {
			parts = append(parts, c.recordCookie)
		}
		for _, hc := range f.cookies.file {
			if hc.host.matches(c.u.Scheme, c.x.host, c.x.port) {
				parts = append(parts, hc.cookie)
			}
		}
	}
	if f.keepsCookies(c) {
		if s := f.cookies.site(c.u, false); s != nil {
			for _, k := range s.jar.Cookies(c.u) {
				parts = append(parts, k.Name+"="+k.Value)
			}
		}
	}
	return strings.Join(parts, "; ")
}

// takeCookies keeps what resp sets.
func (f *Fetcher) takeCookies(c *call, resp *http.Response) {
	if len(resp.Header["Set-Cookie"]) == 0 || !f.keepsCookies(c) {
		return
	}
	set := slices.DeleteFunc(resp.Cookies(), func(k *http.Cookie) bool { return len(k.Name)+len(k.Value) > maxCookieSize })
	s := f.cookies.site(c.u, true)
	if !f.cookies.count(s, set) {
		f.cookies.forget(c.u)
		s = f.cookies.site(c.u, true)
		f.cookies.count(s, set)
	}
	s.jar.SetCookies(c.u, set)
}

// count notes the names in set; it reports whether the site still has few
// enough.
func (c *cookies) count(s *siteCookies, set []*http.Cookie) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range set {
		s.names[k.Domain+"\x00"+k.Path+"\x00"+k.Name] = true
	}
	return len(s.names) <= maxCookies
}
