package sitemap

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/gonutch/crawler/core/internal/db/hostdb"
	"github.com/gonutch/crawler/core/internal/robots"
	"github.com/gonutch/crawler/core/internal/store"
	"github.com/gonutch/crawler/core/internal/urlkey"
	"github.com/gonutch/crawler/sdk/model"
)

// metaRead is the key of a HostDB record that says when the sitemaps of the host
// were last read to their end, by RFC 3339.
const metaRead = "sitemap.read"

// errEnough ends a walk early.
var errEnough = errors.New("enough")

// maxHosts bounds the hosts that are looked at in one go; the next go takes those
// that follow.
const maxHosts = 10_000

// Hosts asks for the sitemaps of the hosts of the CrawlDB: those that their robots.txt
// names and, if there is none, /sitemap.xml. With due, hosts whose sitemaps were read
// already are left out; under "always", until the interval is over. It takes 10,000
// hosts at most, in the order of names from after on, and returns the last one, or ""
// when it came to the end.
func (r *Reader) Hosts(ctx context.Context, due bool, after string) (last string, err error) {
	now := r.deps.Now()
	r.mu.Lock()
	if r.left == 0 {
		clear(r.seen)
		clear(r.names)
	}
	if len(r.tried) > 10*maxHosts {
		clear(r.tried)
	}
	r.mu.Unlock()
	var ts []*task
	n, skip := 0, after != ""
	err = r.deps.Hosts.Each(ctx, func(host string, c hostdb.Counts, rec *hostdb.Record) error {
		if skip {
			skip = host != after
			return nil
		}
		if n == maxHosts {
			return errEnough
		}
		if len(c.URLs) == 0 || due && !r.due(host, rec, now) {
			return nil
		}
		n, last = n+1, host
		got, err := r.ofHost(ctx, host, rec)
		ts = append(ts, got...)
		return err
	})
	if err != nil && !errors.Is(err, errEnough) {
		return "", err
	}
	if err == nil {
		last = ""
	}
	return last, r.ask(ctx, ts)
}

// tryAgain is how long a host is left alone whose sitemaps could not be read.
const tryAgain = time.Hour

func (r *Reader) due(host string, rec *hostdb.Record, now time.Time) bool {
	r.mu.Lock()
	tried, ok := r.tried[host]
	r.mu.Unlock()
	if ok && now.Sub(tried) < tryAgain {
		return false
	}
	if rec == nil {
		return true
	}
	read, err := time.Parse(time.RFC3339, rec.Metadata.First(metaRead))
	return err != nil || r.cfg.FromHosts == "always" && now.Sub(read) >= r.cfg.Interval
}

// ofHost returns what is to be read first of a host.
func (r *Reader) ofHost(ctx context.Context, host string, rec *hostdb.Record) ([]*task, error) {
	h := &home{host: host, mark: true}
	var ts []*task
	if rec != nil {
		for i := range rec.Robots {
			h.origin = rec.Robots[i].Origin
			ts = append(ts, named(h, r.sitemapsOf(&rec.Robots[i]))...)
		}
	}
	if len(ts) == 0 && r.cfg.Default {
		if h.origin == "" {
			origin, err := r.originOf(ctx, host)
			if err != nil || origin == "" {
				return nil, err
			}
			h.origin = origin
		}
		u := h.origin + "/sitemap.xml"
		ts = append(ts, &task{url: u, root: u, home: h, guess: true})
	}
	if len(ts) > 0 {
		r.mu.Lock()
		r.rep.Hosts++
		r.tried[host] = r.deps.Now()
		r.mu.Unlock()
	}
	return ts, nil
}

// originOf returns scheme and host of the first URL that the CrawlDB has of a
// host whose robots.txt nobody asked for yet.
func (r *Reader) originOf(ctx context.Context, host string) (origin string, err error) {
	keys := urlkey.HostRange(host)
	err = r.deps.DB.EachKey(ctx, keys.Lo, func(k urlkey.Key) error {
		if !keys.Contains(k) {
			return errEnough
		}
		u, err := urlkey.ToURL(k)
		if err != nil {
			return err
		}
		if isWeb(u) {
			origin = urlkey.Origin(u)
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return origin, err
}

func named(h *home, urls []string) []*task {
	var ts []*task
	for _, u := range urls {
		ts = append(ts, &task{url: u, root: u, home: h, named: true})
	}
	return ts
}

// sitemapsOf returns the sitemaps that a stored robots.txt names. Relative ones,
// which the protocol forbids and the web has, count from the origin.
func (r *Reader) sitemapsOf(x *hostdb.Robots) []string {
	e, err := robots.DecodeEntry(x.Body)
	if err != nil || e.State != robots.Found {
		return nil
	}
	base, err := url.Parse(x.Origin + "/")
	if err != nil {
		return nil
	}
	var out []string
	for _, s := range e.Rules(r.deps.Agents).Sitemaps {
		u, err := base.Parse(s)
		if err != nil || u.Host == "" {
			continue
		}
		u.Fragment = ""
		if s := u.String(); isWeb(s) {
			out = append(out, s)
		}
	}
	return out
}

// afterGuess asks for the sitemaps that robots.txt names, when it was asked for
// only because of /sitemap.xml.
func (r *Reader) afterGuess(ctx context.Context, t *task) error {
	r.mu.Lock()
	asked := t.home.askedForGuess
	t.home.askedForGuess = true
	r.mu.Unlock()
	if asked {
		return nil
	}
	rec, err := r.deps.Hosts.Get(t.home.host)
	if err != nil || rec == nil {
		return err
	}
	x := rec.RobotsOf(t.home.origin)
	if x == nil {
		return nil
	}
	return r.ask(ctx, named(t.home, r.sitemapsOf(x)))
}

// markRead notes in the HostDB that the sitemaps of a host were read.
func (r *Reader) markRead(ctx context.Context, h *home) error {
	return r.deps.DB.Store().UpdateNoSync(ctx, func(tx *store.Tx) error {
		rec, err := hostdb.GetTx(tx, h.host)
		if err != nil {
			return err
		}
		if rec == nil {
			rec = new(hostdb.Record)
		}
		rec.Metadata = rec.Metadata.Clone()
		if rec.Metadata == nil {
			rec.Metadata = model.Metadata{}
		}
		rec.Metadata.Set(metaRead, r.deps.Now().UTC().Format(time.RFC3339))
		hostdb.Put(tx, h.host, rec)
		return nil
	})
}

// mayName says why the sitemap of t must not name u, or "". A sitemap may name what
// is on its own host below its own folder, and everything on hosts whose robots.txt
// names it (sitemaps.org, "Sitemap file location" and "Sitemaps & Cross Submits"). Without
// sitemap.strict_parsing it may name everything.
func (r *Reader) mayName(t *task, u string, page bool) (why string, err error) {
	host := urlkey.Host(u)
	if !isWeb(u) || host == "" {
		return "no URL of the web", nil
	}
	if page && r.cfg.IgnoreExternal && !r.internal(host, t.home.host) {
		return "external (db.ignore_external_links)", nil
	}
	if !r.cfg.Strict {
		return "", nil
	}
	if t.named && t.home.mark && host == t.home.host {
		return "", nil // robots.txt of the very host names it
	}
	if host == urlkey.Host(t.root) && (!page || t.named && host == t.home.host || strings.HasPrefix(path(u), folder(t.url))) {
		return "", nil
	}
	names, err := r.namedBy(host)
	switch {
	case err != nil:
		return "", err
	case slices.Contains(names, t.root) || slices.Contains(names, t.url):
		return "", nil
	case host == urlkey.Host(t.root):
		return "not below the sitemap's folder (sitemap.strict_parsing)", nil
	}
	return "on another host, whose robots.txt does not name the sitemap (sitemap.strict_parsing)", nil
}

func (r *Reader) internal(host, home string) bool {
	return host == home || r.cfg.ByDomain && urlkey.DomainOf(host) == urlkey.DomainOf(home)
}

// maxNames bounds the hosts whose robots.txt is remembered for the cross-host rule.
const maxNames = 10_000

// namedBy returns the sitemaps that the robots.txt files of host name, as far as
// they are known.
func (r *Reader) namedBy(host string) ([]string, error) {
	r.mu.Lock()
	names, ok := r.names[host]
	r.mu.Unlock()
	if ok {
		return names, nil
	}
	rec, err := r.deps.Hosts.Get(host)
	if err != nil {
		return nil, err
	}
	if rec != nil {
		for i := range rec.Robots {
			names = append(names, r.sitemapsOf(&rec.Robots[i])...)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.names) >= maxNames {
		clear(r.names)
	}
	r.names[host] = names
	return names, nil
}

// path returns the path of a URL, "/" for none.
func path(u string) string {
	_, rest, _ := strings.Cut(u, "://")
	i := strings.IndexAny(rest, "/?#")
	if i < 0 || rest[i] != '/' {
		return "/"
	}
	rest, _, _ = strings.Cut(rest[i:], "?")
	return rest
}

// folder returns the path of a URL up to its last slash.
func folder(u string) string {
	p := path(u)
	return p[:strings.LastIndexByte(p, '/')+1]
}
