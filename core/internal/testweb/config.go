package testweb

import (
	"errors"
	"fmt"
	"io"
	"time"
)

// PageSize says how large HTML pages are.
type PageSize string

// The page sizes. A page that must hold many links may be larger.
const (
	Size6KB       PageSize = "6KB"       // exactly 6 KiB
	Size50KB      PageSize = "50KB"      // exactly 50 KiB
	SizeRealistic PageSize = "realistic" // log-normal, median 25 kB, mean about 40 kB, at most 1 MiB
)

// Config describes one simulated web. Two webs of equal Config (Log and the limits to
// check aside) answer equally, byte for byte.
type Config struct {
	Hosts int    // number of hosts, at least 1
	Pages int    // number of pages over all hosts, at least one each; redirect hops, robots.txt and sitemaps come on top
	Seed  uint64 // everything is drawn from it

	LargestHost int      // most pages on one host; 0 means 5 % of Pages, or what is needed to place them all
	PageSize    PageSize // "" means SizeRealistic
	Links       int      // usual number of drawn links of a leaf page, at most 60; 0 means by its size: 16 for 6 KB, 55 for 50 KB
	Shares      Shares   // how much of what; see Plain, Standard, Stable
	Port        int      // port that links and the ground truth carry; 0 means none (80)

	// Agent is the crawler's product token. When set, some robots.txt files address it
	// by name and refuse everybody else.
	Agent string

	SlowDelay  time.Duration // longest answer time of a slow host; 0 makes them fast
	CrawlDelay time.Duration // Crawl-delay of hosts that ask for one
	RetryAfter time.Duration // Retry-After of 429 and 503, whole seconds

	// What the politeness check demands, per host. Delay is the least time between the
	// end of one request and the start of the next, 0 checks none; a request that starts while
	// another is in flight is a matter of MaxPerHost alone. A host's own Crawl-delay, when
	// longer, is demanded instead if MaxPerHost is 1.
	Delay      time.Duration
	MaxPerHost int // most requests at a time; 0 checks none

	Log io.Writer `json:"-"` // one line per request, see LogHeader; nil means none. Written by one goroutine at a time.
}

// Shares holds the probability of each feature, between 0 and 1. The first group is
// exclusive among leaf pages, the second adds to a page, the third is per
// host. The zero value is a web of plain pages.
type Shares struct {
	Redirect      float64 // 301, 302, 303, 307, 308; chains of 1 to 6
	RedirectLoop  float64 // loops of 1 to 3 URLs
	MetaRefresh   float64
	NotFound      float64 // 404 and some 410
	Unauthorized  float64 // 401
	Forbidden     float64 // 403
	TooMany       float64 // 429 with Retry-After that recovers on the 2nd or 3rd request
	FlakyError    float64 // 500, 502, 503, 504 that recovers on the 2nd or 3rd request
	ServerError   float64 // 500, 502, 503, 504 for ever
	Duplicate     float64 // byte-equal to another page
	NearDuplicate float64 // equal to another page but for a line
	WrongType     float64 // Content-Type does not fit the body
	Truncated     float64 // Content-Length longer than the body
	PlainText     float64 // text/plain
	NoFollow      float64 // meta robots or X-Robots-Tag nofollow
	NoIndex       float64 // meta robots or X-Robots-Tag noindex

	PathPrivate   float64 // leaf pages below /…/private/
	PathCGI       float64 // leaf pages ending in .cgi
	PathQuery     float64 // leaf pages with a query
	PathBare      float64 // leaf pages without an extension
	Charset       float64 // HTML pages not in UTF-8, or UTF-8 known by BOM or meta only
	Gzip          float64 // HTML pages compressed when the client accepts it
	Changing      float64 // HTML pages that change every 1 to 3 requests
	NoValidator   float64 // HTML pages with neither ETag nor Last-Modified
	MessyLinks    float64 // links not in normal form
	NoFollowLinks float64 // pages with one rel=nofollow link to a URL that nothing else links to

	// UniformLinks is the share of drawn links that lead to any page of the web with equal chance
	// instead of by power laws: with 1 a crawler discovers the most URLs with the fewest fetches.
	UniformLinks float64

	RobotsAllow    float64 // 200, nothing disallowed
	RobotsSome     float64 // 200, some paths disallowed, with * and $ and an Allow inside
	RobotsDelay    float64 // as Some, with Crawl-delay; only hosts of at most 20 pages
	RobotsDenyAll  float64
	Robots4xx      float64 // 401, 403 or 410
	RobotsError    float64 // 5xx for ever
	RobotsFlaky    float64 // 5xx on the first one or two requests, then nothing disallowed
	RobotsRedirect float64 // as Some, after redirects in the host or to host0
	RobotsLoop     float64 // redirects without end
	RobotsHuge     float64 // as Some, 600 KiB
	RobotsGarbage  float64 // no robots.txt at all in a 200 answer
	// What remains has no robots.txt (404).

	Slow    float64
	Dead    float64 // closes the connection inside the header of every answer
	Abrupt  float64 // closes the connection without a byte; many HTTP clients repeat such a request by themselves
	Dying   float64 // only robots.txt and the first pages answer
	Sitemap float64
	// Trap is the share of hosts with endless calendars, deepening paths and session ids
	// below /trap/. Hosts whose robots.txt disallows paths disallow /trap/ too and always have them.
	Trap float64
}

// Plain is a web of 200 answers only, for benchmarks.
func Plain() Shares { return Shares{} }

// Standard holds everything at shares like the real web's, and lets a crawl end.
func Standard() Shares {
	return Shares{
		Redirect: 0.06, RedirectLoop: 0.003, MetaRefresh: 0.01, NotFound: 0.04, Unauthorized: 0.002, Forbidden: 0.004,
		TooMany: 0.004, FlakyError: 0.008, ServerError: 0.004, Duplicate: 0.04, NearDuplicate: 0.03, WrongType: 0.01,
		Truncated: 0.005, PlainText: 0.015, NoFollow: 0.02, NoIndex: 0.02,
		PathPrivate: 0.03, PathCGI: 0.02, PathQuery: 0.05, PathBare: 0.10, Charset: 0.10, Gzip: 0.30, Changing: 0.05,
		NoValidator: 0.20, MessyLinks: 0.05, NoFollowLinks: 0.05,
		RobotsAllow: 0.20, RobotsSome: 0.20, RobotsDelay: 0.03, RobotsDenyAll: 0.02, Robots4xx: 0.03, RobotsError: 0.01,
		RobotsFlaky: 0.01, RobotsRedirect: 0.03, RobotsLoop: 0.01, RobotsHuge: 0.01, RobotsGarbage: 0.02,
		Slow: 0.02, Dead: 0.015, Abrupt: 0.005, Dying: 0.01, Sitemap: 0.30,
	}
}

// Stable is Standard without what depends on the n-th request of a URL or
// makes clients repeat requests by themselves: an interrupted and resumed crawl sees the same web as
// an undisturbed one.
func Stable() Shares {
	s := Standard()
	s.TooMany, s.FlakyError, s.Changing, s.RobotsFlaky, s.Abrupt = 0, 0, 0, 0, 0
	return s
}

// Profile returns the shares called name: plain, standard, stable or traps (Standard with endless traps).
func Profile(name string) (Shares, error) {
	switch name {
	case "plain":
		return Plain(), nil
	case "standard":
		return Standard(), nil
	case "stable":
		return Stable(), nil
	case "traps":
		s := Standard()
		s.Trap = 0.1
		return s, nil
	}
	return Shares{}, fmt.Errorf("unknown profile %q: use plain, standard, stable or traps", name)
}

// DefaultConfig is a small standard web: 100 hosts, 10,000 pages, seed 1.
func DefaultConfig() Config {
	return Config{
		Hosts: 100, Pages: 10_000, Seed: 1, PageSize: SizeRealistic, Shares: Standard(),
		SlowDelay: 500 * time.Millisecond, CrawlDelay: 500 * time.Millisecond, RetryAfter: time.Second,
		MaxPerHost: 1,
	}
}

// maxPages bounds page numbers to int32 with room to spare.
const maxPages = 1 << 30

// validate fills what was left to a default and says everything that is wrong.
func (c *Config) validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if c.Hosts < 1 {
		bad("hosts is %d, at least 1 is needed", c.Hosts)
	}
	if c.Pages < c.Hosts || c.Pages > maxPages {
		bad("pages is %d, must be from hosts (%d) to %d", c.Pages, c.Hosts, maxPages)
	}
	if len(errs) == 0 && c.LargestHost == 0 {
		c.LargestHost = max((c.Pages+19)/20, (c.Pages+c.Hosts-1)/c.Hosts)
	}
	if len(errs) == 0 && c.LargestHost*c.Hosts < c.Pages {
		bad("largest host is %d, too small to place %d pages on %d hosts: at least %d is needed",
			c.LargestHost, c.Pages, c.Hosts, (c.Pages+c.Hosts-1)/c.Hosts)
	}
	switch c.PageSize {
	case "":
		c.PageSize = SizeRealistic
	case Size6KB, Size50KB, SizeRealistic:
	default:
		bad("unknown page size %q: use %s, %s or %s", c.PageSize, Size6KB, Size50KB, SizeRealistic)
	}
	if c.Links < 0 || c.Links > maxLinks {
		bad("links is %d, must be from 0 to %d", c.Links, maxLinks)
	}
	if c.Port < 0 || c.Port > 65535 {
		bad("port is %d, must be from 0 to 65535", c.Port)
	}
	if c.Port == 80 {
		c.Port = 0
	}
	if c.SlowDelay < 0 || c.CrawlDelay < 0 || c.RetryAfter < 0 || c.Delay < 0 || c.MaxPerHost < 0 {
		bad("delays and limits must not be negative")
	}
	if c.RetryAfter%time.Second != 0 {
		bad("retry after is %s, must be whole seconds", c.RetryAfter)
	}
	errs = append(errs, c.Shares.validate())
	return errors.Join(errs...)
}

func (s *Shares) validate() error {
	for _, v := range s.each() {
		if !(v >= 0 && v <= 1) {
			return fmt.Errorf("a share is %v, must be from 0 to 1", v)
		}
	}
	sum := func(vs []share) (t float64) {
		for _, v := range vs {
			t += v.p
		}
		return t
	}
	const slack = 1e-9 // sums of decimal fractions
	for _, g := range []struct {
		name string
		sum  float64
	}{{"page", sum(s.fates())}, {"path", sum(s.styles())}, {"robots.txt", sum(s.robots())}, {"dead, abrupt and dying", s.Dead + s.Abrupt + s.Dying}} {
		if g.sum > 1+slack {
			return fmt.Errorf("the %s shares add up to %v, more than 1", g.name, g.sum)
		}
	}
	return nil
}
