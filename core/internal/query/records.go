package query

import (
	"cmp"
	"container/heap"
	"context"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"

	"github.com/gonutch/crawler/core/internal/db/crawldb"
	"github.com/gonutch/crawler/core/internal/urlkey"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/jexl"
	"github.com/gonutch/crawler/sdk/model"
)

// RecordsQuery chooses records of the CrawlDB; the zero value takes all.
type RecordsQuery struct {
	Regex  string  `json:"regex,omitempty"`  // the whole URL must match
	Status string  `json:"status,omitempty"` // name, such as db_fetched
	Retry  int     `json:"retry,omitempty"`  // at least so many retries
	Expr   string  `json:"expr,omitempty"`   // true for the record (see crawldb.Variables)
	Sample float64 `json:"sample,omitempty"` // share of what is left, 0 to 1; 0 is all
}

// Row is a record and its URL.
type Row struct {
	URL string `json:"url"`
	Record
}

// Records lists the CrawlDB's records by reversed host: "readdb --dump".
func Records() List[RecordsQuery, Row] { return List[RecordsQuery, Row]{"records", records} }

func records(ctx context.Context, s *Source, q RecordsQuery, f func(Row) error) error {
	return choose(ctx, s, q, func(url string, r *crawldb.Record) error {
		return f(Row{URL: url, Record: *record(r)})
	})
}

// choose calls f for each record that q takes.
func choose(ctx context.Context, s *Source, q RecordsQuery, f func(url string, r *crawldb.Record) error) error {
	keep, err := q.filter()
	if err != nil {
		return err
	}
	return s.Crawl.DB.Scan(ctx, "", func(k urlkey.Key, r *crawldb.Record) error {
		url, err := urlkey.ToURL(k)
		if err != nil {
			return err
		}
		if ok, err := keep(url, r); err != nil || !ok {
			return err
		}
		return f(url, r)
	})
}

func (q RecordsQuery) filter() (func(url string, r *crawldb.Record) (bool, error), error) {
	var re *regexp.Regexp
	var program *jexl.Program
	var err error
	if q.Regex != "" {
		if re, err = regexp.Compile("^(?:" + q.Regex + ")$"); err != nil {
			return nil, fault.Errorf(fault.Invalid, "regex: %w", err)
		}
	}
	if q.Expr != "" {
		if program, err = jexl.Compile(q.Expr); err != nil {
			return nil, fault.Errorf(fault.Invalid, "expr: %w", err)
		}
	}
	var status model.Status
	if q.Status != "" {
		var ok bool
		if status, ok = statusNamed(q.Status); !ok {
			return nil, fault.Errorf(fault.Invalid, "status %q: want one of %s", q.Status, strings.Join(statusNames(), ", "))
		}
	}
	if q.Sample < 0 || q.Sample > 1 {
		return nil, fault.Errorf(fault.Invalid, "sample %v: want 0 to 1", q.Sample)
	}
	return func(url string, r *crawldb.Record) (bool, error) {
		switch {
		case status != 0 && r.Datum.Status != status, r.Datum.Retries < q.Retry, re != nil && !re.MatchString(url):
			return false, nil
		}
		if program != nil {
			yes, err := program.Run(crawldb.Variables(url, r))
			if err != nil {
				return false, fault.Errorf(fault.Invalid, "expr at %s: %w", url, err)
			}
			if !yes {
				return false, nil
			}
		}
		return q.Sample == 0 || rand.Float64() < q.Sample, nil //nolint:gosec // a sample
	}, nil
}

// dbStatuses are the statuses that records have.
func dbStatuses() []model.Status {
	return []model.Status{
		model.StatusDBUnfetched, model.StatusDBFetched, model.StatusDBGone, model.StatusDBRedirTemp, model.StatusDBRedirPerm,
		model.StatusDBNotModified, model.StatusDBDuplicate, model.StatusDBOrphan, model.StatusDBParseFailed,
	}
}

func statusNames() []string {
	var out []string
	for _, s := range dbStatuses() {
		out = append(out, s.String())
	}
	return out
}

func statusNamed(name string) (model.Status, bool) {
	for _, s := range dbStatuses() {
		if s.String() == name || s.String() == "db_"+name {
			return s, true
		}
	}
	return 0, false
}

// TopQuery asks for the records with the highest scores.
type TopQuery struct {
	RecordsQuery
	N   int     `json:"n"`
	Min float64 `json:"min,omitempty"`
}

// Scored is a URL and its score.
type Scored struct {
	URL   string  `json:"url"`
	Score float64 `json:"score"`
}

// maxTop bounds TopQuery.N: that many records are held.
const maxTop = 1_000_000

// Top lists the records with the highest scores, the highest first, equal ones by
// URL: "readdb --top-n".
func Top() List[TopQuery, Scored] { return List[TopQuery, Scored]{"top", top} }

type best []Scored

func (b best) Len() int           { return len(b) }
func (b best) Less(i, j int) bool { return compareScored(b[i], b[j]) > 0 } // the worst on top
func (b best) Swap(i, j int)      { b[i], b[j] = b[j], b[i] }
func (b *best) Push(x any)        { *b = append(*b, x.(Scored)) }
func (b *best) Pop() any {
	n := len(*b) - 1
	x := (*b)[n]
	*b = (*b)[:n]
	return x
}

func compareScored(a, b Scored) int {
	return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.URL, b.URL))
}

func top(ctx context.Context, s *Source, q TopQuery, f func(Scored) error) error {
	if q.N < 1 || q.N > maxTop {
		return fault.Errorf(fault.Invalid, "top %d: want 1 to %d", q.N, maxTop)
	}
	var h best
	err := choose(ctx, s, q.RecordsQuery, func(url string, r *crawldb.Record) error {
		x := Scored{url, score(r.Datum.Score)}
		switch {
		case x.Score < q.Min:
		case len(h) < q.N:
			heap.Push(&h, x)
		case compareScored(x, h[0]) < 0:
			h[0] = x
			heap.Fix(&h, 0)
		}
		return nil
	})
	if err != nil {
		return err
	}
	slices.SortFunc(h, compareScored)
	for _, x := range h {
		if err := f(x); err != nil {
			return err
		}
	}
	return nil
}
