package query

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gonutch/crawler/core/internal/db/crawldb"
	"github.com/gonutch/crawler/core/internal/db/hostdb"
	"github.com/gonutch/crawler/core/internal/urlkey"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/jexl"
	"github.com/gonutch/crawler/sdk/model"
)

// HostsQuery chooses hosts of the HostDB.
type HostsQuery struct {
	Host string `json:"host,omitempty"` // only this one
	// Expr is true for the host (see hostdb.Variables). A host for which it fails, as it may
	// lack a figure, is left out; it is an error to fail for all.
	Expr string `json:"expr,omitempty"`
}

// HostRow is what the HostDB holds of a host.
type HostRow struct {
	HostCount
	FailuresInRow int            `json:"failuresInRow,omitempty"`
	LastRequest   time.Time      `json:"lastRequest,omitzero"`
	DelaySeconds  float64        `json:"crawlDelaySeconds,omitempty"`
	HeldUntil     time.Time      `json:"heldUntil,omitzero"`
	HeldFor       string         `json:"heldFor,omitempty"`
	DNSFailures   int            `json:"dnsFailures,omitempty"`
	LastCheck     time.Time      `json:"lastCheck,omitzero"` // of the name's addresses
	Score         float64        `json:"score,omitempty"`
	Homepage      string         `json:"homepage,omitempty"`
	Metadata      model.Metadata `json:"metadata,omitempty"`
	// PassedAt is set when only URLs are counted that passed normalizers and filters then.
	PassedAt time.Time `json:"passedAt,omitzero"`
}

// Hosts lists the HostDB: "readhostdb".
func Hosts() List[HostsQuery, HostRow] { return List[HostsQuery, HostRow]{"hosts", hosts} }

func hosts(ctx context.Context, s *Source, q HostsQuery, f func(HostRow) error) error {
	var program *jexl.Program
	if q.Expr != "" {
		var err error
		if program, err = jexl.Compile(q.Expr); err != nil {
			return fault.Errorf(fault.Invalid, "expr: %w", err)
		}
	}
	var failed error // of the expression, the first
	tried, failures := 0, 0
	row := func(host string, c hostdb.Counts, rec *hostdb.Record) error {
		h := HostRow{HostCount: hostCount(host, rec.Counted(c))}
		if rec != nil {
			h.FailuresInRow, h.LastRequest, h.DelaySeconds = rec.Failures, rec.LastRequest, rec.Delay.Seconds()
			h.HeldUntil, h.HeldFor, h.Metadata = rec.HoldUntil, rec.HoldReason, rec.Metadata
			h.DNSFailures, h.LastCheck, h.Score, h.Homepage = rec.DNSFailures, rec.Checked, score(rec.Score), rec.Homepage
			if rec.Passed != nil {
				h.PassedAt = rec.Passed.At
			}
		}
		if program != nil {
			yes, err := program.Run(hostdb.Variables(host, c, rec))
			tried++
			if err != nil {
				failures++
				if failed == nil {
					failed = fault.Errorf(fault.Invalid, "expr at %s: %w", host, err)
				}
			}
			if err != nil || !yes {
				return nil //nolint:nilerr // documented: the host is left out
			}
		}
		return f(h)
	}
	if q.Host == "" {
		err := s.Crawl.Hosts.Each(ctx, row)
		if err == nil && failures == tried {
			err = failed
		}
		return err
	}
	c, err := s.Crawl.Hosts.Counts(q.Host)
	if err != nil {
		return err
	}
	rec, err := s.Crawl.Hosts.Get(q.Host)
	if err != nil {
		return err
	}
	if rec == nil && len(c.URLs) == 0 && c.Requests == 0 {
		return nil
	}
	return errors.Join(row(q.Host, c, rec), failed)
}

// TotalsQuery asks for the CrawlDB's records by some part of their URLs or of
// what became of them.
type TotalsQuery struct {
	// By is host, domain, suffix or tld, or protocol.
	By string `json:"by"`
}

// TotalsRow is one value of the part.
type TotalsRow struct {
	Name    string `json:"name"`
	Fetched int64  `json:"fetched"`
	Other   int64  `json:"notFetched"`
}

// Totals lists the totals of each value, the most fetched first: "domainstats",
// "crawlcomplete" and "protocolstats".
func Totals() List[TotalsQuery, TotalsRow] {
	return List[TotalsQuery, TotalsRow]{"totals", totals}
}

func totals(ctx context.Context, s *Source, q TotalsQuery, f func(TotalsRow) error) error {
	sum := map[string]*TotalsRow{}
	at := func(name string) *TotalsRow {
		if sum[name] == nil {
			sum[name] = &TotalsRow{Name: name}
		}
		return sum[name]
	}
	var err error
	switch part := partOf(q.By); {
	case part != nil:
		err = s.Crawl.Hosts.Each(ctx, func(host string, c hostdb.Counts, _ *hostdb.Record) error {
			for st, n := range c.URLs {
				if st == model.StatusDBFetched || st == model.StatusDBNotModified {
					at(part(host)).Fetched += n
				} else {
					at(part(host)).Other += n
				}
			}
			return nil
		})
	case q.By == "protocol":
		err = s.Crawl.DB.Scan(ctx, "", func(_ urlkey.Key, r *crawldb.Record) error {
			if r.Datum.ProtocolStatus == (model.ProtocolStatus{}) {
				at("UNFETCHED").Other++
				return nil
			}
			name := r.Datum.ProtocolStatus.Code.String()
			if h := r.Datum.ProtocolStatus.HTTP; h > 0 {
				name = fmt.Sprintf("%s, HTTP %d", name, h)
			}
			at(name).Fetched++
			return nil
		})
	default:
		return fault.Errorf(fault.Invalid, "totals by %q: want host, domain, suffix, tld or protocol", q.By)
	}
	if err != nil {
		return err
	}
	rows := make([]*TotalsRow, 0, len(sum))
	for _, r := range sum {
		if r.Fetched+r.Other > 0 {
			rows = append(rows, r)
		}
	}
	slices.SortFunc(rows, func(a, b *TotalsRow) int {
		return cmp.Or(cmp.Compare(b.Fetched, a.Fetched), cmp.Compare(b.Other, a.Other), cmp.Compare(a.Name, b.Name))
	})
	for _, r := range rows {
		if err := f(*r); err != nil {
			return err
		}
	}
	return nil
}

// partOf returns what a host counts under; nil when by names no part of one.
func partOf(by string) func(host string) string {
	switch by {
	case "host":
		return func(h string) string { return h }
	case "domain":
		return func(h string) string { return urlkey.Domain("http://" + h + "/") }
	case "suffix":
		return func(h string) string {
			d := urlkey.Domain("http://" + h + "/")
			if _, suffix, ok := strings.Cut(d, "."); ok {
				return suffix
			}
			return d
		}
	case "tld":
		return func(h string) string { return h[strings.LastIndexByte(h, '.')+1:] }
	}
	return nil
}
