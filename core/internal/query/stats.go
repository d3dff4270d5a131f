package query

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/gonutch/crawler/core/internal/db/crawldb"
	"github.com/gonutch/crawler/core/internal/db/hostdb"
	"github.com/gonutch/crawler/core/internal/quantile"
	"github.com/gonutch/crawler/core/internal/step/update"
	"github.com/gonutch/crawler/core/internal/urlkey"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/model"
)

// Limits of the lists in an answer.
const (
	defaultHosts = 1000
	maxHosts     = 100_000
	maxHolds     = 100
)

// StatsQuery asks for the CrawlDB's totals.
type StatsQuery struct {
	Hosts bool `json:"hosts,omitempty"` // totals of each host, too
	// MaxHosts bounds them, the largest first; 0 is 1000, at most 100,000.
	MaxHosts int `json:"max_hosts,omitempty"`
	// Scan reads every record for the figures in ScanStats; the rest comes from
	// counters and costs nothing.
	Scan      bool      `json:"scan,omitempty"`
	Quantiles []float64 `json:"quantiles,omitempty"` // of the score, 0 to 1; with Scan
}

// StatsAnswer are the CrawlDB's totals.
type StatsAnswer struct {
	Dir        string        `json:"dir"`
	Total      int64         `json:"total"`
	Status     []StatusCount `json:"status"`
	Retries    []RetryCount  `json:"retries"`
	Leased     int64         `json:"leased"`           // handed out in fetch lists
	NextDue    time.Time     `json:"nextDue,omitzero"` // of the next record that is in no fetch list; not after the present when one is due
	Holds      []Hold        `json:"holds,omitempty"`  // that have not ended; the last to end first
	HoldsTotal int           `json:"holdsTotal"`       // of them, without the limit
	Scan       *ScanStats    `json:"scan,omitempty"`   // with StatsQuery.Scan
	// Freshness is what the freshness schedule wants and has reached.
	Freshness  []update.TargetReport `json:"freshness,omitempty"`
	Hosts      []HostCount           `json:"hosts,omitempty"`     // with StatsQuery.Hosts; the largest first
	HostsTotal int                   `json:"hostsTotal,omitzero"` // hosts with records, without the limit
}

// StatusCount is how many records have a status.
type StatusCount struct {
	Code  int    `json:"statusCode"`
	Name  string `json:"statusName"`
	Count int64  `json:"count"`
}

// RetryCount is how many records failed so often in a row.
type RetryCount struct {
	Retries int   `json:"retries"`
	Count   int64 `json:"count"`
}

// Hold is a queue that is held back.
type Hold struct {
	Queue  string    `json:"queue"`
	Until  time.Time `json:"until"`
	Reason string    `json:"reason"`
}

// HostCount are a host's totals.
type HostCount struct {
	Host     string           `json:"host"`
	Total    int64            `json:"total"`
	Status   map[string]int64 `json:"status"` // by name
	Requests int64            `json:"requests"`
	Failures int64            `json:"failures"`
	Bytes    int64            `json:"bytes"`
}

// ScanStats are figures that take reading every record.
type ScanStats struct {
	ScoreMin  float64    `json:"scoreMin"`
	ScoreAvg  float64    `json:"scoreAvg"`
	ScoreMax  float64    `json:"scoreMax"`
	Quantiles []Quantile `json:"scoreQuantiles,omitempty"`
	// Fetch intervals, in seconds.
	IntervalShortest int64     `json:"intervalShortestSeconds"`
	IntervalAvg      int64     `json:"intervalAvgSeconds"`
	IntervalLongest  int64     `json:"intervalLongestSeconds"`
	FetchEarliest    time.Time `json:"fetchTimeEarliest,omitzero"`
	FetchAvg         time.Time `json:"fetchTimeAvg,omitzero"`
	FetchLatest      time.Time `json:"fetchTimeLatest,omitzero"`
}

// Quantile is a score below which the share Q of all scores lies.
type Quantile struct {
	Q     float64 `json:"q"`
	Score float64 `json:"score"`
}

// Stats is the verb of "readdb --stats".
func Stats() Verb[StatsQuery, StatsAnswer] { return Verb[StatsQuery, StatsAnswer]{"stats", stats} }

func stats(ctx context.Context, s *Source, q StatsQuery) (StatsAnswer, error) {
	for _, x := range q.Quantiles {
		if !(x >= 0 && x <= 1) {
			return StatsAnswer{}, fault.Errorf(fault.Invalid, "quantile %v: want 0 to 1", x)
		}
	}
	st, err := s.Crawl.DB.Stats(ctx)
	if err != nil {
		return StatsAnswer{}, err
	}
	next, err := s.Crawl.DB.NextDue(s.now())
	if err != nil {
		return StatsAnswer{}, err
	}
	a := StatsAnswer{Dir: s.Crawl.Dir, Total: st.Total, Leased: st.Leased, NextDue: next, Status: []StatusCount{}, Retries: []RetryCount{}}
	for _, k := range slices.Sorted(maps.Keys(st.ByStatus)) {
		a.Status = append(a.Status, StatusCount{int(k), k.String(), st.ByStatus[k]})
	}
	for _, k := range slices.Sorted(maps.Keys(st.ByRetry)) {
		a.Retries = append(a.Retries, RetryCount{k, st.ByRetry[k]})
	}
	if err := a.holds(ctx, s); err != nil {
		return a, err
	}
	cfg, err := update.LoadConfig(s.Crawl.Config, s.Crawl.Rules)
	if err != nil {
		return a, err
	}
	if a.Freshness, err = cfg.Freshness(ctx, s.Crawl.DB); err != nil {
		return a, err
	}
	if q.Hosts {
		if err := a.hosts(ctx, s, q.MaxHosts); err != nil {
			return a, err
		}
	}
	if q.Scan || len(q.Quantiles) > 0 {
		if a.Scan, err = scan(ctx, s.Crawl.DB, q.Quantiles); err != nil {
			return a, err
		}
	}
	return a, nil
}

func (a *StatsAnswer) holds(ctx context.Context, s *Source) error {
	hs, err := s.Crawl.Hosts.Holds(ctx)
	if err != nil {
		return err
	}
	now := s.now()
	for _, h := range hs {
		if h.Until.After(now) {
			a.Holds = append(a.Holds, Hold(h))
		}
	}
	a.HoldsTotal = len(a.Holds)
	slices.SortStableFunc(a.Holds, func(x, y Hold) int { return y.Until.Compare(x.Until) })
	a.Holds = a.Holds[:min(len(a.Holds), maxHolds)]
	return nil
}

func (a *StatsAnswer) hosts(ctx context.Context, s *Source, limit int) error {
	if limit <= 0 {
		limit = defaultHosts
	}
	limit = min(limit, maxHosts)
	cut := func() {
		slices.SortFunc(a.Hosts, func(x, y HostCount) int {
			return cmp.Or(cmp.Compare(y.Total, x.Total), cmp.Compare(x.Host, y.Host))
		})
		a.Hosts = a.Hosts[:min(len(a.Hosts), limit)]
	}
	err := s.Crawl.Hosts.Each(ctx, func(host string, c hostdb.Counts, _ *hostdb.Record) error {
		h := hostCount(host, c)
		if h.Total == 0 {
			return nil
		}
		a.HostsTotal++
		if a.Hosts = append(a.Hosts, h); len(a.Hosts) >= 2*limit+1000 {
			cut()
		}
		return nil
	})
	cut()
	return err
}

func hostCount(host string, c hostdb.Counts) HostCount {
	h := HostCount{Host: host, Status: map[string]int64{}, Requests: c.Requests, Failures: c.Failures, Bytes: c.Bytes}
	for st, n := range c.URLs {
		h.Status[st.String()] = n
		h.Total += n
	}
	return h
}

// scan reads all records.
func scan(ctx context.Context, db *crawldb.DB, quantiles []float64) (*ScanStats, error) {
	var h quantile.Histogram
	var n, interval, fetched int64
	var sum float64
	var out ScanStats
	err := db.Scan(ctx, "", func(_ urlkey.Key, r *crawldb.Record) error {
		d := &r.Datum
		h.Add(d.Score)
		sum += float64(d.Score)
		sec := int64(d.Interval / time.Second)
		if n == 0 {
			out.IntervalShortest, out.FetchEarliest, out.FetchLatest = sec, d.FetchTime, d.FetchTime
		}
		n++
		interval += sec
		fetched += d.FetchTime.Unix()
		out.IntervalShortest, out.IntervalLongest = min(out.IntervalShortest, sec), max(out.IntervalLongest, sec)
		if d.FetchTime.Before(out.FetchEarliest) {
			out.FetchEarliest = d.FetchTime
		}
		if d.FetchTime.After(out.FetchLatest) {
			out.FetchLatest = d.FetchTime
		}
		return nil
	})
	if err != nil || n == 0 {
		return &out, err
	}
	least, greatest := h.Bounds()
	out.ScoreMin, out.ScoreMax, out.ScoreAvg = score(least), score(greatest), sum/float64(n)/model.Micro
	out.IntervalAvg, out.FetchAvg = interval/n, time.Unix(fetched/n, 0).UTC()
	for _, q := range quantiles {
		out.Quantiles = append(out.Quantiles, Quantile{q, score(h.Quantile(q))})
	}
	return &out, nil
}

// score is a score in units of 1.0.
func score(micro int64) float64 { return float64(micro) / model.Micro }
