package query

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gonutch/crawler/core/internal/chain"
	robotstxt "github.com/gonutch/crawler/core/internal/robots"
	"github.com/gonutch/crawler/core/internal/segment"
	"github.com/gonutch/crawler/core/internal/step/fetch"
	"github.com/gonutch/crawler/core/internal/step/index"
	"github.com/gonutch/crawler/core/internal/step/parse"
	"github.com/gonutch/crawler/core/internal/urlkey"
	"github.com/gonutch/crawler/sdk/extension/urlexemption"
	"github.com/gonutch/crawler/sdk/extension/urlnormalizer"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/manifest"
)

// maxPosition is how many due records are looked at to find a URL's place among
// them.
const maxPosition = 200_000

// ExplainQuery asks for the whole life of a URL.
type ExplainQuery struct {
	URL        string `json:"url"`
	MaxInlinks int    `json:"max_inlinks,omitempty"` // 0 is 20, at most 10,000
}

// Explanation is all that is known of a URL, why it is so, and what comes next.
// Parts that are not there are nil.
type Explanation struct {
	Asked string `json:"asked"`
	URLAnswer
	// Steps are what the normalizers and filters make of the URL asked for, as an
	// outlink; the last one that dropped it, or failed, ends them. Normal is what is
	// left of it, "" when it is dropped.
	Steps  []chain.Step   `json:"steps"`
	Normal string         `json:"normal,omitempty"`
	Robots *RobotsVerdict `json:"robots,omitempty"`
	Scope  []LinkScope    `json:"scope,omitempty"` // of the inlinks, in their order
	// History are the fetches of the segments that are kept, oldest first.
	History  []Visit        `json:"history,omitempty"`
	Document *DocumentState `json:"document,omitempty"` // what indexing makes of it now; nil when it was never fetched
	Queue    *QueuePlace    `json:"queue,omitempty"`
	Sheets   []SheetValue   `json:"sheets,omitempty"` // what sheets set for its host
	Fresh    *TargetState   `json:"freshnessTarget,omitempty"`
	Will     []string       `json:"will"` // what happens next, in order
}

// RobotsVerdict is what the robots.txt that is kept says of the URL.
type RobotsVerdict struct {
	Origin  string    `json:"origin"`
	State   string    `json:"state"` // found, missing, forbidden, unreachable, unknown (not asked for yet), ignored (by setting)
	Allowed bool      `json:"allowed"`
	Agent   string    `json:"agent,omitempty"` // whose group decided
	Line    int       `json:"line,omitempty"`
	Rule    string    `json:"rule,omitempty"`
	Reason  string    `json:"reason,omitempty"` // of the state
	Expires time.Time `json:"expires,omitzero"`
}

// LinkScope is what the rules for internal and external links make of a link.
type LinkScope struct {
	From    string `json:"from"`
	Verdict string `json:"verdict"` // followed, internal, external, exempt
}

// Visit is a fetch and what came of it.
type Visit struct {
	Segment string     `json:"segment"`
	Round   int        `json:"round"`
	Fetch   *Fetched   `json:"fetch,omitempty"`
	Parse   *ParseData `json:"parse,omitempty"`
	// Remarks are what the protocol plugin had to say of the page, by subject: the
	// headers X-Crawler-… that it added.
	Remarks map[string]string `json:"remarks,omitempty"`
}

// DocumentState is what the index step makes of the page now.
type DocumentState struct {
	Indexed bool     `json:"indexed"`           // there is a document
	Why     string   `json:"why,omitempty"`     // there is none
	Delete  bool     `json:"delete,omitempty"`  // it is deleted where it is
	Writers []string `json:"writers,omitempty"` // that get it
	Fields  []string `json:"fields,omitempty"`  // of the document
}

// QueuePlace is where a due URL stands.
type QueuePlace struct {
	Queue    string `json:"queue"`
	Ahead    int    `json:"ahead"`               // due URLs of a better sort value
	Equal    int    `json:"equal"`               // of about the same
	SameHost int    `json:"sameHost"`            // of these, in the same queue
	More     bool   `json:"more,omitempty"`      // the counts are lower bounds
	MaxCount int    `json:"max_count,omitempty"` // generate.max_count: most URLs of a queue in one round
}

// Explain is the verb of "crawler explain".
func Explain() Verb[ExplainQuery, *Explanation] {
	return Verb[ExplainQuery, *Explanation]{"explain", explain}
}

func explain(ctx context.Context, s *Source, q ExplainQuery) (*Explanation, error) {
	if strings.TrimSpace(q.URL) == "" {
		return nil, fault.Errorf(fault.Invalid, "no URL given")
	}
	e := &Explanation{Asked: q.URL}
	if err := e.steps(ctx, s); err != nil {
		return nil, err
	}
	about, err := lookUp(ctx, s, URLQuery(q))
	if err != nil {
		return nil, err
	}
	e.URLAnswer = *about
	if !e.Found() && e.Normal != "" && e.Normal != e.URL {
		if about, err = lookUp(ctx, s, URLQuery{URL: e.Normal, MaxInlinks: q.MaxInlinks}); err != nil {
			return nil, err
		}
		e.URLAnswer = *about
	}
	for _, f := range []func(context.Context, *Source) error{e.robots, e.sheets, e.scopes, e.history, e.document, e.place} {
		if err := f(ctx, s); err != nil {
			return nil, err
		}
	}
	e.Will = e.will(s)
	return e, nil
}

// steps asks the normalizers and filters.
func (e *Explanation) steps(ctx context.Context, s *Source) error {
	steps, err := s.Crawl.Chains.Explain(ctx, urlnormalizer.ScopeOutlink, e.Asked)
	if err != nil {
		return err
	}
	e.Steps, e.Normal = steps, e.Asked
	if e.Steps == nil {
		e.Steps = []chain.Step{}
	}
	if n := len(steps); n > 0 {
		e.Normal = steps[n-1].Out
	}
	return nil
}

// robots judges by the robots.txt that is kept, as the fetch step would.
func (e *Explanation) robots(_ context.Context, s *Source) error {
	cfg, err := fetch.LoadConfig(s.Crawl.Config, nil)
	if err != nil {
		return err
	}
	host := urlkey.Host(e.URL)
	at, ok := robotstxt.URLFor(e.URL)
	if !ok || host == "" {
		return nil
	}
	e.Robots = &RobotsVerdict{Origin: strings.TrimSuffix(at, "/robots.txt"), State: "unknown", Allowed: true}
	if cfg.Robots.Allowlist[host] {
		e.Robots.State, e.Robots.Reason = "ignored", "http.robots_rules_allowlist names the host"
		return nil
	}
	rec, err := s.Crawl.Hosts.Get(host)
	if err != nil || rec == nil {
		return err
	}
	for _, r := range rec.Robots {
		if r.Origin != urlkey.Origin(e.URL) {
			continue
		}
		entry, err := robotstxt.DecodeEntry(r.Body)
		if err != nil {
			return fmt.Errorf("robots.txt of %s: %w", r.Origin, err)
		}
		v := entry.Rules(cfg.Robots.Agents).Check(e.URL)
		*e.Robots = RobotsVerdict{
			Origin: e.Robots.Origin, State: string(entry.State), Allowed: v.Allowed, Agent: v.Agent, Line: v.Line, Rule: v.Rule, Reason: entry.Reason, Expires: entry.Expires,
		}
		if entry.State == robotstxt.Unreachable {
			e.Robots.Allowed = !cfg.Robots.Defer
		}
	}
	return nil
}

// scopes judges the links that lead to the URL.
func (e *Explanation) scopes(ctx context.Context, s *Source) error {
	cfg, err := parse.LoadConfig(s.Crawl.Config)
	if err != nil {
		return err
	}
	for _, l := range e.Inlinks {
		v := LinkScope{From: l.From, Verdict: cfg.Links.Check(l.From, e.URL)}
		switch v.Verdict {
		case "":
			v.Verdict = "followed"
		case parse.DropExternal:
			if ok, err := s.Crawl.Chains.Exempt(ctx, []urlexemption.Pair{{From: l.From, To: e.URL}}); err != nil {
				return err
			} else if ok[0] {
				v.Verdict = "exempt"
			}
		}
		e.Scope = append(e.Scope, v)
	}
	return nil
}

// history reads what every segment has of the URL.
func (e *Explanation) history(ctx context.Context, s *Source) error {
	metas, err := segment.List(ctx, s.Crawl.Store)
	if err != nil {
		return err
	}
	key := urlkey.FromURL(e.URL)
	for _, m := range metas {
		f, err := s.Crawl.Segs.GetFetch(m.ID, key)
		if err != nil {
			return err
		}
		if f == nil {
			continue
		}
		v := Visit{Segment: m.ID, Round: m.Round, Fetch: fetched(f)}
		p, err := s.Crawl.Segs.GetParse(m.ID, key, segment.Want{Outlinks: true})
		if err != nil {
			return err
		}
		if p != nil {
			v.Parse = parseData(p)
		}
		if v.Remarks, err = s.remarks(m.ID, key); err != nil {
			return err
		}
		e.History = append(e.History, v)
	}
	slices.SortStableFunc(e.History, func(a, b Visit) int { return a.Fetch.FetchTime.Compare(b.Fetch.FetchTime) })
	return nil
}

// remarks reads those of a fetch.
func (s *Source) remarks(seg string, key urlkey.Key) (map[string]string, error) {
	c, err := s.Crawl.Segs.GetContent(seg, key)
	if errors.Is(err, segment.ErrNoContent) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for name := range c.Headers {
		if subject, ok := strings.CutPrefix(name, "X-Crawler-"); ok {
			out[subject] = c.Headers.First(name)
		}
	}
	return out, nil
}

// document runs the page through the index step, which sends nothing.
func (e *Explanation) document(ctx context.Context, s *Source) error {
	if e.Record == nil || len(e.History) == 0 {
		return nil
	}
	c := s.Crawl
	cfg, err := index.LoadConfig(c.Config)
	if err != nil {
		return err
	}
	j, err := index.New(cfg, index.Deps{DB: c.DB, Segs: c.Segs, Links: c.Links, Plugins: c.Chains, Routed: c.Chains.Routed(), Log: c.Log}).Judge(ctx, urlkey.FromURL(e.URL))
	if err != nil {
		return err
	}
	d := &DocumentState{Indexed: j.Document != nil, Why: j.Why, Delete: j.Delete, Writers: j.Writers}
	if j.Document != nil {
		for f := range j.Document.Fields {
			d.Fields = append(d.Fields, f)
		}
		slices.Sort(d.Fields)
		if len(d.Writers) == 0 && !c.Chains.Routed() {
			for _, w := range c.Instances {
				d.Writers = append(d.Writers, w.Name)
			}
		}
	}
	e.Document = d
	return nil
}

// place finds the URL among those that are due.
func (e *Explanation) place(_ context.Context, s *Source) error {
	if e.Next != "due" && e.Next != "held" {
		return nil
	}
	p, err := s.Crawl.DB.Position(urlkey.FromURL(e.URL), s.now(), maxPosition)
	if err != nil || !p.Ready {
		return err
	}
	var g struct {
		MaxCount int    `hcl:"max_count"`
		Mode     string `hcl:"count_mode"`
	}
	if err := s.Crawl.Config.Decode("generate", &g); err != nil {
		return err
	}
	mode := urlkey.ByHost
	if g.Mode == "domain" {
		mode = urlkey.ByDomain
	}
	most := max(g.MaxCount, 0)
	for _, v := range e.Sheets {
		if n, err := strconv.Atoi(v.Value); v.Setting == "max_count" && err == nil {
			most = n
		}
	}
	e.Queue = &QueuePlace{Queue: urlkey.QueueKey(e.URL, mode, ""), Ahead: p.Ahead, Equal: p.Equal, SameHost: p.Queue, More: p.More, MaxCount: most}
	return nil
}

// served reports whether a chosen protocol plugin takes the URL's scheme.
func served(s *Source, url string) (scheme string, ok bool) {
	scheme, _, _ = strings.Cut(url, ":")
	scheme = strings.ToLower(scheme)
	for _, m := range s.Crawl.Choice.Chain(manifest.Protocol) {
		for i := range m.Provides {
			if m.Provides[i].Point == manifest.Protocol && slices.Contains(m.Provides[i].Schemes, scheme) {
				return scheme, true
			}
		}
	}
	return scheme, false
}
