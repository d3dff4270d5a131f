// Package hostupdate brings the HostDB up to date with what takes reading the whole
// CrawlDB or asking the net: addresses of hosts, figures of their records'
// metadata, first pages, scores (Nutch's updatehostdb). It owns which hosts are looked up
// and when one is given up. Counts of URLs by status need no job, as package crawldb keeps
// them, unless only URLs are to count that pass normalizers and filters. It must not know who uses the figures.
//
// Corrected against Nutch (nutch.md section 12): a host is looked up when its interval
// is over, not while it lasts; it is given up when its failures reach the threshold; each
// percentile is its own; no host sees figures of another; the interval is what it says.
package hostupdate

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gonutch/crawler/core/internal/chain"
	"github.com/gonutch/crawler/core/internal/db/crawldb"
	"github.com/gonutch/crawler/core/internal/db/hostdb"
	"github.com/gonutch/crawler/core/internal/store"
	"github.com/gonutch/crawler/core/internal/urlkey"
	"github.com/gonutch/crawler/sdk/extension/urlnormalizer"
	"github.com/gonutch/crawler/sdk/model"
)

// HoldReason is why the queue of a host without address is held.
const HoldReason = "dns"

// Resolver finds the addresses of a host; net.Resolver is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Deps are what the step works with.
type Deps struct {
	DB       *crawldb.DB
	Hosts    *hostdb.DB
	Plugins  chain.URLChain // for Config.Filter and Normalize
	Resolver Resolver       // nil is the system's
	Now      func() time.Time
	Told     func(records int64) // of progress; may be nil
}

// Scores returns the score of a host in micro-units; false when it has none. nil gives none.
type Scores func(host string) (micro int64, ok bool, err error)

// Report says what was done. Counts are of hosts, under names like Nutch's counters.
type Report struct {
	Hosts        int64 `json:"total_hosts"`
	NotEligible  int64 `json:"skipped_not_eligible"` // not looked up: not asked for, or their interval lasts
	Checked      int64 `json:"checked_hosts"`
	NewKnown     int64 `json:"new_known_host"`
	NewUnknown   int64 `json:"new_unknown_host"`
	Known        int64 `json:"existing_known_host"`
	Unknown      int64 `json:"existing_unknown_host"`
	Rediscovered int64 `json:"rediscovered_host"`
	Purged       int64 `json:"purged_unknown_host"` // given up
	Undecided    int64 `json:"undecided"`           // no answer either way: the resolver failed
	Scored       int64 `json:"scored_hosts"`
	Values       int64 `json:"dropped_values"` // of text fields beyond the most that are counted for a host
	Filtered     int64 `json:"filtered_records"`
	Moved        int64 `json:"moved_records"`         // counted under another host
	BelowLimit   int64 `json:"url_limit_not_reached"` // left as they were
}

const (
	portion       = 500    // hosts committed, and URLs judged, at once
	maxMoved      = 10_000 // hosts that counts of others' URLs are kept for at once
	lookupTimeout = 10 * time.Second
)

// page is a record of the CrawlDB.
type page struct {
	host, url string
	rec       *crawldb.Record
}

// task is a host to be written.
type task struct {
	host  string
	agg   *aggregate
	urls  map[model.Status]int64 // that count
	rec   *hostdb.Record
	check bool
	found bool // by the look-up
	err   error
}

func (t *task) total() (n int64) {
	for _, c := range t.urls {
		n += c
	}
	return n
}

type step struct {
	deps   Deps
	cfg    Config
	scores Scores
	start  time.Time
	rep    Report
	pages  []page
	seen   int64 // records
	now    *task // the host whose records come
	batch  []*task
	moved  map[string]map[model.Status]int64 // URLs of other hosts' records
}

// Run updates all hosts that have records. Memory does not grow with the CrawlDB.
func Run(ctx context.Context, deps Deps, cfg Config, scores Scores) (Report, error) {
	if deps.Resolver == nil {
		deps.Resolver = net.DefaultResolver
	}
	s := &step{deps: deps, cfg: cfg, scores: scores, start: deps.Now().UTC().Truncate(time.Microsecond), moved: map[string]map[model.Status]int64{}}
	err := deps.DB.Scan(ctx, "", func(k urlkey.Key, r *crawldb.Record) error {
		host := k.Host()
		if host == "" {
			return nil // such as file: URLs
		}
		url, err := urlkey.ToURL(k)
		if err != nil {
			return err
		}
		if s.pages = append(s.pages, page{host, url, r}); len(s.pages) < portion {
			return nil
		}
		return s.judge(ctx)
	})
	for _, f := range []func(context.Context) error{
		s.judge, func(ctx context.Context) error { return s.end(ctx, s.now) }, s.flush, s.flushMoved, s.clear,
	} {
		if err == nil {
			err = f(ctx)
		}
	}
	if err != nil {
		return s.rep, fmt.Errorf("update the HostDB: %w", err)
	}
	return s.rep, nil
}

// judge counts pages under their hosts. What can't be judged counts as it is.
func (s *step) judge(ctx context.Context) error {
	urls := make([]string, len(s.pages))
	for i := range s.pages {
		urls[i] = s.pages[i].url
	}
	res, err := chain.Judge(ctx, s.deps.Plugins, urlnormalizer.ScopeDefault, s.cfg.Normalize, s.cfg.Filter, urls)
	if err != nil {
		return err
	}
	for i, p := range s.pages {
		if s.now == nil || s.now.host != p.host {
			if err := s.end(ctx, s.now); err != nil {
				return err
			}
			s.now = &task{host: p.host, agg: newAggregate(&s.cfg), urls: map[model.Status]int64{}}
		}
		status := p.rec.Datum.Status
		host := p.host
		if r := res[i]; r.Err == nil && r.Dropped {
			s.rep.Filtered++
			continue
		} else if r.Err == nil && r.URL != p.url {
			p.url, host = r.URL, urlkey.Host(r.URL)
		}
		switch {
		case host == p.host:
			s.now.agg.add(p.url, p.rec)
			s.now.urls[status]++
		case host != "":
			s.rep.Moved++
			if s.moved[host] == nil {
				s.moved[host] = map[model.Status]int64{}
			}
			s.moved[host][status]++
		}
	}
	s.seen += int64(len(s.pages))
	if s.deps.Told != nil {
		s.deps.Told(s.seen)
	}
	s.pages = s.pages[:0]
	if len(s.moved) > maxMoved {
		return s.flushMoved(ctx)
	}
	return nil
}

// end takes a host whose records have all been seen.
func (s *step) end(ctx context.Context, t *task) error {
	if t == nil {
		return nil
	}
	n := t.total()
	if n < s.cfg.URLLimit {
		s.rep.BelowLimit++
		return nil
	}
	rec, err := s.deps.Hosts.Get(t.host)
	if err != nil {
		return err
	}
	if rec == nil {
		rec = new(hostdb.Record)
	}
	t.rec = rec
	s.rep.Hosts++
	if t.check = n > 0 && s.cfg.wants(rec, s.deps.Now()); !t.check {
		s.rep.NotEligible++
	}
	if s.batch = append(s.batch, t); len(s.batch) < portion {
		return nil
	}
	return s.flush(ctx)
}

// wants reports whether a host is looked up at now.
func (c *Config) wants(r *hostdb.Record, now time.Time) bool {
	switch {
	case r.Checked.IsZero():
		return c.New
	case r.DNSFailures > 0 && !c.Failed, r.DNSFailures == 0 && !c.Known:
		return false
	}
	return c.Force || !now.Before(c.due(r))
}

// due is when a host is looked up again.
func (c *Config) due(r *hostdb.Record) time.Time {
	return r.Checked.Add(c.Recheck * time.Duration(max(r.DNSFailures, 1)))
}

// flush looks hosts up, several at a time, and commits what is known of them.
func (s *step) flush(ctx context.Context) error {
	slots := make(chan struct{}, s.cfg.Resolvers)
	var wg sync.WaitGroup
	for _, t := range s.batch {
		if !t.check {
			continue
		}
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			t.found, t.err = s.lookup(ctx, t.host)
		})
	}
	wg.Wait()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	rep := s.rep
	err := s.deps.Hosts.Update(ctx, func(tx *store.Tx) error {
		s.rep = rep
		for _, t := range s.batch {
			if err := s.write(tx, t); err != nil {
				return err
			}
		}
		return nil
	})
	s.batch = s.batch[:0]
	return err
}

// lookup reports whether host has an address. An error says that nobody knows: the
// resolver could not be asked.
func (s *step) lookup(ctx context.Context, host string) (bool, error) {
	if _, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		return true, nil
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	ips, err := s.deps.Resolver.LookupNetIP(ctx, "ip", host)
	var dns *net.DNSError
	switch {
	case err == nil:
		return len(ips) > 0, nil
	case errors.As(err, &dns) && dns.IsNotFound:
		return false, nil
	}
	return false, err
}

// count notes the URLs of a host that count, besides those that this run noted before.
func (s *step) count(rec *hostdb.Record, urls map[model.Status]int64) {
	if !s.cfg.judges() {
		rec.Passed = nil
		return
	}
	if rec.Passed == nil || !rec.Passed.At.Equal(s.start) {
		rec.Passed = &hostdb.Passed{At: s.start, URLs: map[model.Status]int64{}}
	}
	for st, n := range urls {
		rec.Passed.URLs[st] += n
	}
}

// flushMoved adds the URLs of other hosts' records that normalizers gave to hosts.
func (s *step) flushMoved(ctx context.Context) error {
	hosts := slices.Sorted(maps.Keys(s.moved))
	for part := range slices.Chunk(hosts, portion) {
		err := s.change(ctx, part, func(host string, rec *hostdb.Record) { s.count(rec, s.moved[host]) })
		if err != nil {
			return err
		}
	}
	clear(s.moved)
	return nil
}

// clear takes counts of earlier runs off hosts that have no records any more.
func (s *step) clear(ctx context.Context) error {
	var hosts []string
	flush := func() error {
		err := s.change(ctx, hosts, func(_ string, rec *hostdb.Record) { rec.Passed = nil })
		hosts = hosts[:0]
		return err
	}
	err := s.deps.Hosts.Each(ctx, func(host string, c hostdb.Counts, rec *hostdb.Record) error {
		if rec == nil || rec.Passed == nil || rec.Passed.At.Equal(s.start) || len(c.URLs) > 0 {
			return nil
		}
		if hosts = append(hosts, host); len(hosts) < portion {
			return nil
		}
		return flush()
	})
	if err == nil {
		err = flush()
	}
	return err
}

// change calls f with the records of hosts, new ones where there are none, and commits them.
func (s *step) change(ctx context.Context, hosts []string, f func(host string, rec *hostdb.Record)) error {
	if len(hosts) == 0 {
		return nil
	}
	return s.deps.Hosts.Update(ctx, func(tx *store.Tx) error {
		for _, h := range hosts {
			rec, err := hostdb.GetTx(tx, h)
			if err != nil {
				return err
			}
			if rec == nil {
				rec = new(hostdb.Record)
			}
			f(h, rec)
			hostdb.Put(tx, h, rec)
		}
		return nil
	})
}

// write puts what is known of a host into its record. Others may have changed
// the record meanwhile, so it is read again.
func (s *step) write(tx *store.Tx, t *task) error {
	rec, err := hostdb.GetTx(tx, t.host)
	if err != nil {
		return err
	}
	if rec == nil {
		rec = new(hostdb.Record)
	}
	rec.Metadata = t.agg.merge(rec.Metadata)
	rec.Homepage = t.agg.homepage
	s.rep.Values += t.agg.dropped
	s.count(rec, t.urls)
	if s.scores != nil {
		n, ok, err := s.scores(t.host)
		if err != nil {
			return fmt.Errorf("score of host %s: %w", t.host, err)
		}
		if ok {
			rec.Score = n
			s.rep.Scored++
		}
	}
	if t.check {
		s.looked(tx, t, rec)
	}
	hostdb.Put(tx, t.host, rec)
	return nil
}

// looked applies the answer of a look-up.
func (s *step) looked(tx *store.Tx, t *task, rec *hostdb.Record) {
	s.rep.Checked++
	if t.err != nil {
		s.rep.Undecided++
		return
	}
	isNew, before := rec.Checked.IsZero(), rec.DNSFailures
	rec.Checked = s.deps.Now()
	queue := t.host
	if t.found {
		rec.DNSFailures = 0
		switch {
		case before > 0:
			s.rep.Rediscovered++
			if rec.HoldReason == HoldReason {
				rec.HoldUntil, rec.HoldReason = time.Time{}, ""
				hostdb.DropHold(tx, queue)
			}
		case isNew:
			s.rep.NewKnown++
		default:
			s.rep.Known++
		}
		return
	}
	rec.DNSFailures++
	if isNew {
		s.rep.NewUnknown++
	} else {
		s.rep.Unknown++
	}
	if s.cfg.Threshold == 0 || rec.DNSFailures < s.cfg.Threshold {
		return
	}
	s.rep.Purged++
	*rec = hostdb.Record{DNSFailures: rec.DNSFailures, Checked: rec.Checked, Score: rec.Score, Passed: rec.Passed, HoldReason: HoldReason}
	rec.HoldUntil = s.cfg.due(rec)
	hostdb.PutHold(tx, hostdb.Hold{Queue: queue, Until: rec.HoldUntil, Reason: HoldReason})
}
