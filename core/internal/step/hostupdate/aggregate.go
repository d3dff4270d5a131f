package hostupdate

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/gonutch/crawler/core/internal/db/crawldb"
	"github.com/gonutch/crawler/core/internal/quantile"
	"github.com/gonutch/crawler/sdk/model"
)

// maxValues bounds the values of a text field that are counted for one host.
const maxValues = 200

// aggregate gathers what the records of one host say.
type aggregate struct {
	cfg      *Config
	numbers  []number           // of cfg.Numeric
	texts    []map[string]int64 // of cfg.Strings
	dropped  int64              // values that were one too many
	homepage string
	rank     int // of homepage; greater is better
}

// number are the values of a field, in thousandths.
type number struct {
	h   quantile.Histogram
	sum float64
}

func newAggregate(cfg *Config) *aggregate {
	a := &aggregate{cfg: cfg, numbers: make([]number, len(cfg.Numeric)), texts: make([]map[string]int64, len(cfg.Strings))}
	for i := range a.texts {
		a.texts[i] = map[string]int64{}
	}
	return a
}

// add counts a record.
func (a *aggregate) add(url string, r *crawldb.Record) {
	d := &r.Datum
	for i, f := range a.cfg.Numeric {
		v, err := strconv.ParseFloat(strings.TrimSpace(d.Metadata.First(f)), 64)
		if err == nil && math.Abs(v) < 1e15 {
			a.numbers[i].h.Add(int64(math.Round(v * 1000)))
			a.numbers[i].sum += v
		}
	}
	for i, f := range a.cfg.Strings {
		v := d.Metadata.First(f)
		if v == "" {
			continue
		}
		if _, known := a.texts[i][v]; known || len(a.texts[i]) < maxValues {
			a.texts[i][v]++
		} else {
			a.dropped++
		}
	}
	a.home(url, d)
}

// home notes the host's first page: that of https before that of http, a page before a
// redirect, whose target it is when the CrawlDB has it as the representative URL.
func (a *aggregate) home(url string, d *model.CrawlDatum) {
	scheme, rest, ok := strings.Cut(url, "://")
	if _, path, _ := strings.Cut(rest, "/"); !ok || path != "" || strings.Contains(rest, "?") {
		return
	}
	var rank int
	switch d.Status {
	case model.StatusDBFetched, model.StatusDBNotModified, model.StatusDBDuplicate:
		rank = 3
	case model.StatusDBRedirPerm, model.StatusDBRedirTemp:
		rank = 1
		if d.ReprURL != "" {
			url = d.ReprURL
		}
	default:
		return
	}
	if scheme == "https" {
		rank++
	}
	if rank > a.rank {
		a.rank, a.homepage = rank, url
	}
}

// merge returns m with the figures of earlier runs replaced by the host's own.
func (a *aggregate) merge(m model.Metadata) model.Metadata {
	out := a.metadata()
	for k, v := range m {
		if !a.ours(k) {
			out[k] = v
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// ours reports whether k is the key of a figure, of the fields as they are configured
// now or as they were.
func (a *aggregate) ours(k string) bool {
	kind, _, ok := strings.Cut(k, ".")
	if !ok {
		return false
	}
	if kind == "min" || kind == "max" || kind == "avg" || strings.HasPrefix(kind, "pct") {
		return true
	}
	return slices.ContainsFunc(a.cfg.Strings, func(f string) bool { return strings.HasPrefix(k, f+".") })
}

// metadata returns the figures under Nutch's names.
func (a *aggregate) metadata() model.Metadata {
	m := model.Metadata{}
	for i, f := range a.cfg.Numeric {
		n := &a.numbers[i]
		if n.h.Len() == 0 {
			continue
		}
		least, greatest := n.h.Bounds()
		m.Set("min."+f, thousandths(least))
		m.Set("max."+f, thousandths(greatest))
		m.Set("avg."+f, strconv.FormatFloat(math.Round(n.sum/float64(n.h.Len())*1000)/1000, 'f', -1, 64))
		for _, p := range a.cfg.Percentiles {
			m.Set(fmt.Sprintf("pct%g.%s", p, f), thousandths(n.h.Quantile(p/100)))
		}
	}
	for i, f := range a.cfg.Strings {
		for v, n := range a.texts[i] {
			m.Set(f+"."+v, strconv.FormatInt(n, 10))
		}
	}
	return m
}

func thousandths(n int64) string { return strconv.FormatFloat(float64(n)/1000, 'f', -1, 64) }
