package testweb

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/gonutch/crawler/sdk/model"
)

// Difference is one way in which a crawl is not as it must be.
type Difference struct {
	Kind    DifferenceKind `json:"kind"`
	URL     string         `json:"url"`
	Got     string         `json:"got,omitempty"` // status, "" when missing
	Allowed StatusSet      `json:"allowed,omitempty"`
	Why     string         `json:"why,omitempty"`
}

// DifferenceKind names a kind of difference.
type DifferenceKind string

// The kinds of differences.
const (
	DiffMissing    DifferenceKind = "missing"    // must be in the CrawlDB
	DiffUnexpected DifferenceKind = "unexpected" // must not be: no link leads there, or there is no such URL
	DiffStatus     DifferenceKind = "status"     // ended in a status that is not allowed
	DiffTwice      DifferenceKind = "twice"      // was added twice
	DiffNoWinner   DifferenceKind = "no_winner"  // all of a group of duplicates are db_duplicate
)

// String is one line for people.
func (d Difference) String() string {
	s := string(d.Kind) + " " + d.URL
	if d.Got != "" {
		s += " is " + d.Got
	}
	if d.Allowed != 0 {
		s += ", allowed " + d.Allowed.String()
	}
	if d.Why != "" {
		s += " (" + d.Why + ")"
	}
	return s
}

// Checker compares a CrawlDB with the truth, record by record. It is for one goroutine.
type Checker struct {
	t     *Truth
	pages [][]bool
	other map[ref]bool
	alive map[ref]bool // by original, whether one of the group is no duplicate
	diffs []Difference
}

// Checker starts a comparison.
func (t *Truth) Checker() *Checker {
	return &Checker{t: t, pages: make([][]bool, len(t.pages)), other: map[ref]bool{}, alive: map[ref]bool{}}
}

// Add judges one record. Order doesn't matter.
func (c *Checker) Add(rawURL string, got model.Status) {
	w := c.t.w
	r := w.parse(rawURL)
	if r.host >= 0 && r.kind == kindTrap && !w.denied(r) {
		return
	}
	if r.host < 0 || r.kind == kindUnknown || c.t.reached(r) == unreached {
		c.diffs = append(c.diffs, Difference{Kind: DiffUnexpected, URL: rawURL, Got: got.String()})
		return
	}
	o := w.outcome(r, c.t.o)
	if c.see(r) {
		c.diffs = append(c.diffs, Difference{Kind: DiffTwice, URL: rawURL, Got: got.String()})
	}
	if !o.allowed.Has(got) {
		c.diffs = append(c.diffs, Difference{Kind: DiffStatus, URL: rawURL, Got: got.String(), Allowed: o.allowed, Why: o.why})
	}
	if o.allowed.Has(model.StatusDBDuplicate) && r.kind == kindPage && !c.t.o.TextSignature {
		pg := w.page(r.host, r.a)
		of := ref{kind: kindPage, host: pg.srcHost, a: pg.srcPage}
		c.alive[of] = c.alive[of] || got != model.StatusDBDuplicate
	}
}

// see marks r and reports whether it was marked already.
func (c *Checker) see(r ref) bool {
	if r.kind != kindPage {
		was := c.other[r]
		c.other[r] = true
		return was
	}
	if c.pages[r.host] == nil {
		c.pages[r.host] = make([]bool, c.t.w.hosts[r.host].size)
	}
	was := c.pages[r.host][r.a]
	c.pages[r.host][r.a] = true
	return was
}

// Done adds what is missing and returns all differences: first those of records in the order they
// were added, then the others by URL.
func (c *Checker) Done() []Difference {
	t := c.t
	missing := func(r ref) {
		o := t.w.outcome(r, t.o)
		c.diffs = append(c.diffs, Difference{Kind: DiffMissing, URL: t.w.url(r), Allowed: o.allowed, Why: o.why})
	}
	for h, pages := range t.pages {
		for p, how := range pages {
			if how == surely && (c.pages[h] == nil || !c.pages[h][p]) {
				missing(ref{kind: kindPage, host: int32(h), a: int32(p)})
			}
		}
	}
	for _, r := range slices.SortedFunc(maps.Keys(t.other), compareRefs) {
		if t.other[r] == surely && !c.other[r] && (r.kind != kindTrap || t.w.denied(r)) {
			missing(r)
		}
	}
	for _, r := range slices.SortedFunc(maps.Keys(c.alive), compareRefs) {
		if !c.alive[r] {
			c.diffs = append(c.diffs, Difference{Kind: DiffNoWinner, URL: t.w.url(r), Why: "all its duplicates are db_duplicate"})
		}
	}
	return c.diffs
}

// Check compares a whole CrawlDB with the truth.
func (t *Truth) Check(got map[string]model.Status) []Difference {
	c := t.Checker()
	for _, u := range slices.Sorted(maps.Keys(got)) {
		c.Add(u, got[u])
	}
	return c.Done()
}

// parse returns the URL that rawURL is, if it is in normal form; see find.
func (w *Web) parse(rawURL string) ref {
	u, err := url.Parse(rawURL)
	if err != nil || u.Scheme != "http" || u.User != nil || u.Fragment != "" || u.ForceQuery || strings.ToLower(u.Host) != u.Host ||
		!strings.HasSuffix(u.Host, ".test"+w.portSuffix) {
		return ref{host: -1}
	}
	return w.find(u.Host, u.EscapedPath(), u.RawQuery)
}

// Find returns the entry of one URL, and whether a crawl may know it.
func (t *Truth) Find(rawURL string) (Entry, bool) {
	r := t.w.parse(rawURL)
	if r.host < 0 || r.kind == kindUnknown {
		return Entry{}, false
	}
	how := t.reached(r)
	return t.entry(r, how), how != unreached
}

// Summary counts a truth.
type Summary struct {
	Required  int            `json:"required"`
	Optional  int            `json:"optional"`
	NoRequest int            `json:"no_request"` // of the required ones
	Allowed   map[string]int `json:"allowed"`    // required ones by their allowed statuses
	Why       map[string]int `json:"why"`        // required ones by reason
}

// Summary counts the truth's entries.
func (t *Truth) Summary() Summary {
	s := Summary{Allowed: map[string]int{}, Why: map[string]int{}}
	t.Each(func(e Entry) bool {
		if !e.Required {
			s.Optional++
			return true
		}
		s.Required++
		if e.NoRequest {
			s.NoRequest++
		}
		s.Allowed[e.Allowed.String()]++
		s.Why[e.Why]++
		return true
	})
	return s
}
