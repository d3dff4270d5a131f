package transition

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/google/go-cmp/cmp"

	"github.com/gonutch/crawler/core/internal/schedule"
	"github.com/gonutch/crawler/sdk/model"
)

const day = 24 * time.Hour

// t0 is day 0 of every script.
var t0 = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func newRules(t *testing.T, name string) Rules {
	t.Helper()
	cfg := schedule.DefaultConfig()
	cfg.Name = name
	cfg.MIMERates = schedule.DefaultMIMERates()
	cfg.Targets = map[string]schedule.Target{schedule.DefaultTarget: {Age: day, Min: time.Hour, Max: 90 * day}}
	s, err := schedule.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return DefaultRules(s)
}

// TestScripts runs testdata/*: each file is a readable story of records. Commands:
//
//	rules   set the rules that follow (schedule, retry-max, delete-failed-parse, no-additions)
//	matrix  apply one outcome to a record of every old status
//	record  set the current record ("record none": there is none)
//	fetch   apply an outcome to the current record
//	link, inject, representative
//	row     apply one outcome, under each schedule, to a record of 20 days that was fetched
//	        then and found changed 5 days before (old=STATUS; old=none: to none). Its name is for the reader
//
// Times are days after day 0; "-" is unset.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		if strings.Contains(path, "/fuzz/") {
			return
		}
		r := newRules(t, schedule.Default)
		var cur *model.CrawlDatum
		datadriven.RunTest(t, path, func(t *testing.T, td *datadriven.TestData) string {
			switch td.Cmd {
			case "rules":
				r = newRules(t, text(t, td, "schedule", schedule.Default))
				td.MaybeScanArgs(t, "retry-max", &r.RetryMax)
				r.DeleteFailedParse = td.HasArg("delete-failed-parse")
				r.AdditionsAllowed = !td.HasArg("no-additions")
				return ""
			case "matrix":
				return matrix(t, td, r)
			case "row":
				return row(t, td, r)
			case "record":
				cur = record(t, td)
				return show(cur)
			case "fetch":
				return step(&cur, func() (model.CrawlDatum, bool) {
					now := at(t, td, "day")
					if td.HasArg("now") {
						now = at(t, td, "now")
					}
					return Apply(cur, outcome(t, td), now, r)
				})
			case "link":
				return step(&cur, func() (model.CrawlDatum, bool) {
					return Linked(cur, Link{Score: number(t, td, "score"), Metadata: meta(t, td)}, at(t, td, "day"), r)
				})
			case "inject":
				mode, err := ParseInjectMode(text(t, td, "mode", "new"))
				if err != nil {
					return err.Error()
				}
				s := Seed{
					Score: number(t, td, "score"), ScoreSet: td.HasArg("score"), Metadata: meta(t, td),
					Interval: time.Duration(number(t, td, "interval")) * day, FixedInterval: td.HasArg("fixed"),
				}
				var did Injected
				out := step(&cur, func() (d model.CrawlDatum, _ bool) {
					d, did = Inject(cur, s, mode, at(t, td, "day"), r)
					return d, true
				})
				return fmt.Sprintf("%s\n%s", [...]string{"added", "ignored", "updated", "overwritten"}[did], out)
			case "representative":
				var b strings.Builder
				for line := range strings.Lines(td.Input) {
					f := strings.Fields(line)
					fmt.Fprintf(&b, "%-5s %s -> %s: %s\n", f[0], f[1], f[2], Representative(f[1], f[2], f[0] == "temp"))
				}
				return b.String()
			}
			td.Fatalf(t, "unknown command")
			return ""
		})
	})
}

// step runs f, checks that it left the current record alone, and makes its result current.
func step(cur **model.CrawlDatum, f func() (model.CrawlDatum, bool)) string {
	var before model.CrawlDatum
	if *cur != nil {
		before = Clone(**cur)
	}
	d, ok := f()
	if *cur != nil {
		if diff := cmp.Diff(before, **cur); diff != "" {
			return "ARGUMENT CHANGED: " + diff
		}
	}
	if !ok {
		return "not written"
	}
	*cur = &d
	return show(&d)
}

func matrix(t *testing.T, td *datadriven.TestData, r Rules) string {
	var b strings.Builder
	o := outcome(t, td)
	for _, s := range append([]model.Status{0}, model.DBStatuses()...) {
		name, old := "none", (*model.CrawlDatum)(nil)
		if s != 0 {
			name = s.String()
			old = &model.CrawlDatum{
				Status: s, FetchTime: t0, PrevFetchTime: t0.Add(-20 * day), ModifiedTime: t0.Add(-25 * day), Retries: 1, Interval: 20 * day,
				Signature: []byte("A"), ETag: "e0", Segment: "s0", DuplicateOf: "http://winner/",
				Metadata: model.Metadata{"k": {"old"}},
			}
			if td.HasArg("old-unsigned") {
				old.Signature = nil
			}
		}
		d, ok := Apply(old, o, t0, r)
		if !ok {
			fmt.Fprintf(&b, "%-15s not written\n", name)
			continue
		}
		fmt.Fprintf(&b, "%-15s %s\n", name, show(&d))
	}
	return b.String()
}

// row applies one outcome under every schedule.
func row(t *testing.T, td *datadriven.TestData, r Rules) string {
	var b strings.Builder
	for _, name := range []string{schedule.Default, schedule.Adaptive, schedule.MIMEAdaptive, schedule.Freshness} {
		rules := newRules(t, name)
		rules.RetryMax, rules.DeleteFailedParse, rules.AdditionsAllowed = r.RetryMax, r.DeleteFailedParse, r.AdditionsAllowed
		var old *model.CrawlDatum
		if s, ok := model.ParseDBStatus(text(t, td, "old", "none")); ok {
			old = &model.CrawlDatum{
				Status: s, FetchTime: t0, PrevFetchTime: t0.Add(-20 * day), ModifiedTime: t0.Add(-25 * day), Interval: 20 * day,
				FixedInterval: td.HasArg("fixed"), Retries: int(number(t, td, "retries")), Segment: "s0",
				Signature: []byte(strings.Trim(text(t, td, "old-sig", "A"), "-")), Metadata: model.Metadata{MetaContentType: {"application/pdf"}},
				History: model.ChangeHistory{Target: schedule.DefaultTarget, Checks: 4, Rate: model.Micro / 20, Wanted: 20 * day},
			}
			if td.HasArg("interval") {
				old.Interval = time.Duration(number(t, td, "interval")) * day
			}
			if name != schedule.Freshness {
				old.History = model.ChangeHistory{}
			}
		} else if text(t, td, "old", "none") != "none" {
			td.Fatalf(t, "unknown status")
		}
		var d model.CrawlDatum
		var ok bool
		if td.HasArg("linked") {
			d, ok = Linked(old, Link{Score: number(t, td, "score")}, t0, rules)
		} else {
			o := outcome(t, td)
			o.Goal.Target = schedule.DefaultTarget
			d, ok = Apply(old, o, t0, rules)
		}
		shown := "not written"
		if ok {
			delete(d.Metadata, MetaContentType)
			shown = show(&d)
		}
		fmt.Fprintf(&b, "%-13s %s\n", name, shown)
	}
	return b.String()
}

func record(t *testing.T, td *datadriven.TestData) *model.CrawlDatum {
	if td.HasArg("none") {
		return nil
	}
	s, ok := model.ParseDBStatus(text(t, td, "status", "db_unfetched"))
	if !ok {
		td.Fatalf(t, "unknown status")
	}
	d := &model.CrawlDatum{
		Status: s, FetchTime: at(t, td, "due"), Retries: int(number(t, td, "retries")), Interval: 30 * day,
		FixedInterval: td.HasArg("fixed"), Score: number(t, td, "score"), Segment: text(t, td, "segment", ""), Metadata: meta(t, td),
	}
	if td.HasArg("interval") {
		d.Interval = time.Duration(number(t, td, "interval")) * day
	}
	if s := text(t, td, "sig", ""); s != "" {
		d.Signature = []byte(s)
	}
	return d
}

func outcome(t *testing.T, td *datadriven.TestData) Outcome {
	o := Outcome{
		FetchTime: at(t, td, "day"), ETag: text(t, td, "etag", ""), Segment: text(t, td, "segment", "s1"),
		ContentType: text(t, td, "type", ""), ReprURL: text(t, td, "repr", ""), Metadata: meta(t, td),
	}
	name := text(t, td, "status", "")
	for _, s := range []model.Status{
		model.StatusFetchSuccess, model.StatusFetchRetry, model.StatusFetchRedirTemp, model.StatusFetchRedirPerm,
		model.StatusFetchGone, model.StatusFetchNotModified, model.StatusParseFailed,
	} {
		if s.String() == name {
			o.Status = s
		}
	}
	if s := text(t, td, "sig", ""); s != "" {
		o.Signature = []byte(s)
	}
	if td.HasArg("modified") {
		o.ModifiedTime = at(t, td, "modified")
	}
	if m := text(t, td, "parse", ""); m != "" {
		o.Parse = model.ParseStatus{Major: model.ParseSuccess}
		if m != "ok" {
			o.Parse = model.ParseStatus{Major: model.ParseFailed, Minor: model.ParseFailedTruncated, Message: m}
		}
	}
	return o
}

func text(t *testing.T, td *datadriven.TestData, key, otherwise string) string {
	s := otherwise
	td.MaybeScanArgs(t, key, &s)
	return s
}

func number(t *testing.T, td *datadriven.TestData, key string) int64 {
	var n int64
	td.MaybeScanArgs(t, key, &n)
	return n
}

func at(t *testing.T, td *datadriven.TestData, key string) time.Time {
	return t0.Add(time.Duration(number(t, td, key)) * day)
}

func meta(t *testing.T, td *datadriven.TestData) model.Metadata {
	if k, v, ok := strings.Cut(text(t, td, "meta", ""), ":"); ok {
		return model.Metadata{k: {v}}
	}
	return nil
}

func show(d *model.CrawlDatum) string {
	if d == nil {
		return "none"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s interval=%s", d.Status, days(d.Interval))
	if d.FixedInterval {
		b.WriteString("(fixed)")
	}
	fmt.Fprintf(&b, " due=%s fetched=%s modified=%s retries=%d sig=%s", when(d.FetchTime), when(d.PrevFetchTime), when(d.ModifiedTime), d.Retries, orDash(string(d.Signature)))
	for _, p := range []struct{ k, v string }{
		{"prev", string(d.PrevSignature)}, {"segment", d.Segment}, {"etag", d.ETag}, {"repr", d.ReprURL}, {"duplicate-of", d.DuplicateOf},
	} {
		if p.v != "" {
			fmt.Fprintf(&b, " %s=%s", p.k, p.v)
		}
	}
	if h := d.History; h.Target != "" {
		fmt.Fprintf(&b, " wanted=%s", days(h.Wanted))
		if h.Checks > 0 {
			fmt.Fprintf(&b, " rate=%.3g/d checks=%d age=%s", h.RatePerDay(), h.Checks, days(h.Age))
		}
	}
	if d.Score != 0 {
		fmt.Fprintf(&b, " score=%d", d.Score)
	}
	for _, k := range d.Metadata.Keys() {
		fmt.Fprintf(&b, " %s=%q", k, d.Metadata.First(k))
	}
	return b.String()
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func when(at time.Time) string {
	if at.IsZero() {
		return "-"
	}
	return days(at.Sub(t0))
}

func days(d time.Duration) string { return fmt.Sprintf("%.4gd", float64(d)/float64(day)) }
