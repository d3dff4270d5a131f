// Package sheet owns what holds for some hosts or URLs only: sheets, which lay
// settings over the general ones, and the targets of the freshness schedule. It
// reads them from the configuration and finds the ones that hold. It must not know
// what a setting does.
package sheet

import (
	"net/textproto"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/gonutch/crawler/core/internal/config"
	"github.com/gonutch/crawler/core/internal/urlkey"
	"github.com/gonutch/crawler/sdk/hclconf"
	"github.com/gonutch/crawler/sdk/setting"
)

// Value is what a sheet sets; Sheet is "" when none does.
type Value[T any] struct {
	V     T
	Sheet string
}

// Set reports whether a sheet sets it.
func (v Value[T]) Set() bool { return v.Sheet != "" }

// Header is a header that goes with requests.
type Header struct {
	Name  string // canonical
	Value string // a secret
	Sheet string
}

// Settings are what the sheets set for a host.
type Settings struct {
	CrawlDelay   Value[time.Duration]
	Threads      Value[int]
	MaxCount     Value[int]
	Interval     Value[time.Duration]
	ContentLimit Value[int64] // bytes
	Headers      []Header     // by name
}

// Sheets are the sheets of a configuration. They never change; the zero value has
// none.
type Sheets struct {
	m     matcher
	rules []Settings
}

// Any reports whether there is a sheet.
func (s *Sheets) Any() bool { return s != nil && len(s.rules) > 0 }

// Of returns what holds for host (lower case, as urlkey.Host), or nil when no sheet
// is for it. The most specific sheet decides, each setting and header for itself.
func (s *Sheets) Of(host string) *Settings {
	if !s.Any() {
		return nil
	}
	found := s.m.find(host)
	switch len(found) {
	case 0:
		return nil
	case 1:
		return &s.rules[found[0]]
	}
	out := s.rules[found[0]]
	out.Headers = slices.Clone(out.Headers)
	for _, n := range found[1:] {
		out.fill(&s.rules[n])
	}
	return &out
}

// OfURL is Of for the host of a URL.
func (s *Sheets) OfURL(url string) *Settings {
	if !s.Any() {
		return nil
	}
	return s.Of(urlkey.Host(url))
}

func fill[T any](v *Value[T], from Value[T]) {
	if !v.Set() {
		*v = from
	}
}

// fill takes from other what s does not set.
func (s *Settings) fill(other *Settings) {
	fill(&s.CrawlDelay, other.CrawlDelay)
	fill(&s.Threads, other.Threads)
	fill(&s.MaxCount, other.MaxCount)
	fill(&s.Interval, other.Interval)
	fill(&s.ContentLimit, other.ContentLimit)
	for _, h := range other.Headers {
		i, has := slices.BinarySearchFunc(s.Headers, h, byName)
		if !has {
			s.Headers = slices.Insert(s.Headers, i, h)
		}
	}
}

// section is a sheet block as it is written.
type section struct {
	Hosts        []string          `hcl:"hosts"`
	Domains      []string          `hcl:"domains"`
	CrawlDelay   setting.Duration  `hcl:"crawl_delay"`
	Threads      int               `hcl:"threads"`
	MaxCount     int               `hcl:"max_count"`
	Interval     setting.Duration  `hcl:"interval"`
	ContentLimit setting.Size      `hcl:"content_limit"`
	Headers      map[string]string `hcl:"headers"`
}

// Rules are the sheets and the targets of a configuration.
type Rules struct {
	Sheets  *Sheets
	Targets *Targets // nil with another schedule than the freshness one
}

// Load reads the sheets and targets. The error holds every mistake in them with its place
// (hclconf.Problems). It is called once for a configuration.
func Load(c *config.Config) (Rules, error) {
	sheets, err := loadSheets(c)
	targets, terr := loadTargets(c)
	return Rules{sheets, targets}, hclconf.Merge(err, terr)
}

func loadSheets(c *config.Config) (*Sheets, error) {
	var d struct {
		Most setting.Duration `hcl:"fetch_interval_max"`
	}
	if err := c.Decode("db", &d); err != nil {
		return nil, err
	}
	s := &Sheets{m: newMatcher()}
	var ps hclconf.Problems
	for n, r := range c.Rules("sheet") {
		x := section{CrawlDelay: -1, Threads: -1, MaxCount: -1, Interval: -1, ContentLimit: -1}
		if err := r.Decode(&x); err != nil {
			return nil, err
		}
		if len(x.Hosts)+len(x.Domains) == 0 {
			ps = append(ps, r.Problem("", -1, "which hosts is it for? write hosts = [\"www.example.org\"] or domains = [\"example.org\"]"))
		}
		ps = append(ps, s.m.read(r, n, x.Hosts, x.Domains)...)
		if x.Interval > d.Most {
			ps = append(ps, r.Problem("interval", -1, "%v is above db.fetch_interval_max, %v", x.Interval.D(), d.Most.D()))
		}
		set := Settings{}
		value(&set.CrawlDelay, x.CrawlDelay.D(), x.CrawlDelay >= 0, r.Name)
		value(&set.Threads, x.Threads, x.Threads >= 0, r.Name)
		value(&set.MaxCount, x.MaxCount, x.MaxCount >= 0, r.Name)
		value(&set.Interval, x.Interval.D(), x.Interval >= 0, r.Name)
		value(&set.ContentLimit, int64(x.ContentLimit), x.ContentLimit >= 0, r.Name)
		headers, more := readHeaders(r, x.Headers)
		set.Headers, ps = headers, append(ps, more...)
		s.rules = append(s.rules, set)
	}
	return s, ps.Err()
}

func value[T any](to *Value[T], v T, set bool, name string) {
	if set {
		*to = Value[T]{V: v, Sheet: name}
	}
}

func byName(a, b Header) int { return strings.Compare(a.Name, b.Name) }

// readHeaders checks names and values. Values are secrets and not in messages.
func readHeaders(r config.Rule, m map[string]string) (hs []Header, ps hclconf.Problems) {
	for name, v := range m {
		h := Header{Name: textproto.CanonicalMIMEHeaderKey(name), Value: v, Sheet: r.Name}
		switch {
		case !httpguts.ValidHeaderFieldName(name):
			ps = append(ps, r.Problem("headers", -1, "%q is no name of a header", name))
		case slices.Contains(ownHeaders(), h.Name):
			ps = append(ps, r.Problem("headers", -1, "%s can't be set", h.Name))
		case !httpguts.ValidHeaderFieldValue(v):
			ps = append(ps, r.Problem("headers", -1, "the hidden value of %s has characters that a header can't carry", h.Name))
		case slices.ContainsFunc(hs, func(x Header) bool { return x.Name == h.Name }):
			ps = append(ps, r.Problem("headers", -1, "%s is there twice", h.Name))
		default:
			hs = append(hs, h)
		}
	}
	slices.SortFunc(hs, byName)
	return hs, ps
}

// ownHeaders are those that the protocol sets by itself.
func ownHeaders() []string {
	return []string{"Host", "Content-Length", "Transfer-Encoding", "Connection", "Trailer", "Accept-Encoding", "Proxy-Authorization"}
}
