package query

import (
	"cmp"
	"context"
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
	Expr string `json:"expr,omitempty"` // true for the host (see hostVariables)
}

// HostRow is what the HostDB holds of a host.
type HostRow struct {
	HostCount
	FailuresInRow int            `json:"failuresInRow,omitempty"`
	LastRequest   time.Time      `json:"lastRequest,omitzero"`
	DelaySeconds  float64        `json:"crawlDelaySeconds,omitempty"`
	HeldUntil     time.Time      `json:"heldUntil,omitzero"`
	HeldFor       string         `json:"heldFor,omitempty"`
	Metadata      model.Metadata `json:"metadata,omitempty"`
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
	row := func(host string, c hostdb.Counts, rec *hostdb.Record) error {
		h := HostRow{HostCount: hostCount(host, c)}
		if rec != nil {
			h.FailuresInRow, h.LastRequest, h.DelaySeconds = rec.Failures, rec.LastRequest, rec.Delay.Seconds()
			h.HeldUntil, h.HeldFor, h.Metadata = rec.HoldUntil, rec.HoldReason, rec.Metadata
		}
		if program != nil {
			yes, err := program.Run(hostVariables(&h))
			if err != nil {
				return fault.Errorf(fault.Invalid, "expr at %s: %w", host, err)
			}
			if !yes {
				return nil
			}
		}
		return f(h)
	}
	if q.Host == "" {
		return s.Crawl.Hosts.Each(ctx, row)
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
	return row(q.Host, c, rec)
}

// hostVariables are what an expression about a host may name; the first are
// Nutch's.
func hostVariables(h *HostRow) map[string]any {
	n := func(s model.Status) int64 { return h.Status[s.String()] }
	v := map[string]any{
		"host": h.Host, "unfetched": n(model.StatusDBUnfetched), "fetched": n(model.StatusDBFetched), "gone": n(model.StatusDBGone),
		"redirTemp": n(model.StatusDBRedirTemp), "redirPerm": n(model.StatusDBRedirPerm), "notModified": n(model.StatusDBNotModified),
		"numRecords": h.Total, "ok": n(model.StatusDBFetched) + n(model.StatusDBNotModified), "failures": h.Failures,
		"duplicate": n(model.StatusDBDuplicate), "requests": h.Requests, "bytes": h.Bytes, "failuresInRow": h.FailuresInRow,
		"crawlDelay": h.DelaySeconds, "domain": urlkey.Domain("http://" + h.Host + "/"), "metadata": jexl.Firsts(h.Metadata),
	}
	return v
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
