package cli

import (
	"context"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/gonutch/crawler/core/internal/config"
	"github.com/gonutch/crawler/core/internal/query"
	"github.com/gonutch/crawler/core/internal/step/update"
	"github.com/gonutch/crawler/sdk/model"
)

func readdbCommand() *command {
	return &command{
		name: "readdb", short: "Show what the CrawlDB knows", group: "Looking", nutch: true,
		prepare: func(inv *invocation) func(context.Context, []string) error {
			stats := inv.fs.Bool("stats", false, "totals by status and retries; what is handed out, held, due")
			byHost := inv.fs.Bool("sort", false, "with --stats: totals of each host, the largest first, too")
			quantiles := inv.fs.Bool("quantiles", false, "with --stats: score, interval and fetch time, too; reads every record")
			limit := inv.fs.Int("limit", 0, "hosts of --sort (default 1000) or inlinks of --url (default 20) at most")
			url := inv.fs.String("url", "", "everything about one `URL`")
			top := inv.fs.Int("top-n", 0, "the `N` records with the highest scores: score, tab, URL")
			least := inv.fs.Float64("min", 0, "with --top-n: no score below this")
			out := inv.fs.String("dump", "", "write all records to `FILE` (- is standard output)")
			format := inv.fs.String("format", "normal", "of --dump: normal, csv, json (one object per line) or parquet")
			var q query.RecordsQuery
			inv.fs.StringVar(&q.Regex, "regex", "", "with --dump and --top-n: only URLs that match as a whole")
			inv.fs.StringVar(&q.Status, "status", "", "with --dump and --top-n: only records of this status, such as db_gone")
			inv.fs.IntVar(&q.Retry, "retry", 0, "with --dump and --top-n: only records with at least so many retries")
			inv.fs.StringVar(&q.Expr, "expr", "", "with --dump and --top-n: only records for which the expression is true, such as \"score > 0.5 && host =~ '.*org'\"")
			inv.fs.Float64Var(&q.Sample, "sample", 0, "with --dump and --top-n: only this share of them, by chance")
			return func(ctx context.Context, args []string) error {
				if len(args) == 1 {
					inv.positionalDir(args[0])
				} else if len(args) > 1 {
					return usagef("unexpected argument %q", args[1])
				}
				switch {
				case count(*stats, *url != "", *out != "", *top != 0) != 1:
					return usagef("say what to show: --stats, --url URL, --top-n N or --dump FILE")
				case *out != "":
					return inv.dumpRecords(ctx, *out, *format, q)
				case *top != 0:
					return inv.topRecords(ctx, query.TopQuery{RecordsQuery: q, N: *top, Min: *least})
				case *stats:
					return inv.readStats(ctx, query.StatsQuery{Hosts: *byHost, MaxHosts: *limit}, *quantiles)
				}
				return inv.readURL(ctx, query.URLQuery{URL: *url, MaxInlinks: *limit})
			}
		},
	}
}

func (inv *invocation) readStats(ctx context.Context, q query.StatsQuery, quantiles bool) error {
	if quantiles {
		cfg, err := inv.load()
		if err != nil {
			return err
		}
		q.Scan = true
		if q.Quantiles, err = scoreQuantiles(cfg); err != nil {
			return err
		}
	}
	return inv.read(ctx, func(ctx context.Context, t query.Target) error {
		a, err := query.Ask(ctx, t, query.Stats(), q)
		if err != nil {
			return err
		}
		return inv.print(a, func(w io.Writer) { writeStats(w, &a, time.Now()) })
	})
}

// scoreQuantiles reads db.stats_score_quantiles.
func scoreQuantiles(cfg *config.Config) ([]float64, error) {
	var db struct {
		Quantiles []string `hcl:"stats_score_quantiles"`
	}
	if err := cfg.Decode("db", &db); err != nil {
		return nil, err
	}
	var out []float64
	for _, s := range db.Quantiles {
		f, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
		if err != nil || !(f >= 0 && f <= 1) {
			return nil, usagef("db.stats_score_quantiles: %q is no quantile; want numbers from 0 to 1", s)
		}
		out = append(out, f)
	}
	return out, nil
}

// writeStats prints totals with the words of Nutch's readdb -stats.
func writeStats(w io.Writer, a *query.StatsAnswer, now time.Time) {
	out := table{w: w}
	out.line("Statistics for CrawlDb: %s", a.Dir)
	out.fact("TOTAL urls", number(a.Total))
	if s := a.Scan; s != nil && a.Total > 0 {
		out.fact("shortest fetch interval", interval(s.IntervalShortest))
		out.fact("avg fetch interval", interval(s.IntervalAvg))
		out.fact("longest fetch interval", interval(s.IntervalLongest))
		out.fact("earliest fetch time", moment(s.FetchEarliest))
		out.fact("avg of fetch times", moment(s.FetchAvg))
		out.fact("latest fetch time", moment(s.FetchLatest))
	}
	for _, r := range a.Retries {
		out.fact(fmt.Sprintf("retry %d", r.Retries), number(r.Count))
	}
	if s := a.Scan; s != nil && a.Total > 0 {
		for _, q := range s.Quantiles {
			out.fact(fmt.Sprintf("score quantile %g", q.Q), decimal(q.Score))
		}
		out.fact("min score", decimal(s.ScoreMin))
		out.fact("avg score", decimal(s.ScoreAvg))
		out.fact("max score", decimal(s.ScoreMax))
	}
	for _, s := range a.Status {
		out.fact(fmt.Sprintf("status %d (%s)", s.Code, s.Name), number(s.Count))
	}
	out.fact("in fetch lists", number(a.Leased))
	if !a.NextDue.IsZero() {
		out.fact("next due", due(a.NextDue, now))
	}
	if a.HoldsTotal > 0 {
		out.fact("hosts held back", number(a.HoldsTotal))
		for _, h := range a.Holds[:min(len(a.Holds), 10)] {
			out.line("  %s until %s: %s", printable(h.Queue), moment(h.Until), printable(h.Reason))
		}
		if more := a.HoldsTotal - 10; more > 0 {
			out.line("  and %s more", number(more))
		}
	}
	for _, f := range a.Freshness {
		out.fact("freshness "+f.Target, freshnessText(&f))
	}
	writeHosts(w, a)
}

// freshnessText says what a target of the freshness schedule wants and has reached.
func freshnessText(f *update.TargetReport) string {
	text := "nothing measured yet"
	if f.Measured > 0 {
		text = fmt.Sprintf("mean age %s", span(f.Age))
	}
	text += fmt.Sprintf(", wanted %s; %s, %.4g visits a day", span(f.Wanted), plural(f.Pages, "page"), f.PerDay)
	if f.Budget > 0 {
		text += fmt.Sprintf(" of %g", f.Budget)
	}
	if f.Stretch > 0 {
		text += fmt.Sprintf(": intervals are lengthened %.3g times", f.Stretch)
	}
	return text
}

// writeHosts prints the table of hosts, a column for each status there is.
func writeHosts(w io.Writer, a *query.StatsAnswer) {
	if a.HostsTotal == 0 {
		return
	}
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	var used []string
	for _, s := range a.Status {
		used = append(used, s.Name)
	}
	row := func(cells ...string) { _, _ = fmt.Fprintln(tw, strings.Join(cells, "\t")) } // as in table
	head := []string{"\nTOTAL"}
	for _, s := range used {
		head = append(head, strings.TrimPrefix(s, "db_"))
	}
	row(append(head, "  HOST")...)
	for _, h := range a.Hosts {
		cells := []string{number(h.Total)}
		for _, s := range used {
			cells = append(cells, number(h.Status[s]))
		}
		row(append(cells, "  "+printable(h.Host))...)
	}
	_ = tw.Flush()
	if more := a.HostsTotal - len(a.Hosts); more > 0 {
		_, _ = fmt.Fprintf(w, "and %s; --limit N shows more\n", plural(int64(more), "smaller host"))
	}
}

func (inv *invocation) readURL(ctx context.Context, q query.URLQuery) error {
	return inv.read(ctx, func(ctx context.Context, t query.Target) error {
		a, err := query.Ask(ctx, t, query.URL(), q)
		if err != nil {
			return err
		}
		if err := inv.print(a, func(w io.Writer) { writeURL(w, a, time.Now()) }); err != nil {
			return err
		}
		if !a.Found() {
			return errNothing
		}
		return nil
	})
}

func writeURL(w io.Writer, a *query.URLAnswer, now time.Time) {
	out := table{w: w, width: 22}
	out.line("URL: %s", printable(a.URL))
	switch {
	case a.Record != nil:
		writeRecord(&out, a.Record)
		out.fact("Next", nextText(a, now))
	case !a.Found():
		out.line("not found")
	case a.Pending != nil:
		out.line("not in the CrawlDB yet: it was found in pages, and is added before the next fetch list is made")
	default:
		out.line("not in the CrawlDB, but pages link to it")
	}
	for _, e := range a.Pending {
		out.fact("Pending effect", fmt.Sprintf("%s %s %d", e.Field, e.Reducer, e.Value))
	}
	writeIndexed(&out, a.Index)
	if n := len(a.Inlinks); n > 0 {
		more := ""
		if a.More {
			more = " and more (--limit N)"
		}
		out.fact("Inlinks", number(n)+more)
		for _, l := range a.Inlinks {
			out.line("  from %s anchor: %s", printable(l.From), printable(l.Anchor))
		}
	}
	if a.Host != nil {
		writeHost(&out, a.Host)
	}
}

func writeRecord(out *table, r *query.Record) {
	out.fact("Status", fmt.Sprintf("%d (%s)", r.StatusCode, r.StatusName))
	out.fact("Fetch time", moment(r.FetchTime))
	if !r.PrevFetchTime.IsZero() {
		out.fact("Previous fetch time", moment(r.PrevFetchTime))
	}
	out.fact("Modified time", moment(r.ModifiedTime))
	out.fact("Retries since fetch", strconv.Itoa(r.Retries))
	fixed := ""
	if r.FixedInterval {
		fixed = ", fixed by the seed"
	}
	out.fact("Retry interval", fmt.Sprintf("%d seconds (%d days%s)", r.IntervalSeconds, r.IntervalDays, fixed))
	out.fact("Score", decimal(r.Score))
	out.fact("Sort value", decimal(r.Sort))
	for _, k := range slices.Sorted(maps.Keys(r.Fields)) {
		out.fact("  "+k, strconv.FormatInt(r.Fields[k], 10))
	}
	for _, x := range []struct{ label, text string }{
		{"Signature", orNull(r.Signature)},
		{"Previous signature", r.PrevSignature},
		{"Protocol status", r.Protocol},
		{"ETag", r.ETag},
		{"Last-Modified", r.LastModified},
		{"Representative URL", r.ReprURL},
		{"Duplicate of", r.DuplicateOf},
		{"Segment", r.Segment},
	} {
		if x.text != "" {
			out.fact(x.label, printable(x.text))
		}
	}
	if f := r.Freshness; f != nil {
		text := f.Target
		if f.Visits > 0 {
			text = fmt.Sprintf("%s: changes %.3g times a day by %s; age %s, %s until the next one", f.Target, f.ChangesPerDay, plural(int64(f.Visits), "visit"),
				span(time.Duration(f.Age*float64(time.Second))), span(time.Duration(f.NextAge*float64(time.Second))))
		}
		out.fact("Freshness", printable(text))
	}
	out.meta("Metadata", r.Metadata)
}

func orNull(s string) string {
	if s == "" {
		return "null"
	}
	return s
}

func nextText(a *query.URLAnswer, now time.Time) string {
	switch a.Next {
	case "leased":
		return "in the fetch list of segment " + a.Leased
	case "held":
		h := a.Host.Holds[0]
		return fmt.Sprintf("due, but %s is held back until %s: %s", printable(h.Queue), moment(h.Until), printable(h.Reason))
	case "due":
		return "due; goes into a next fetch list"
	}
	if page := a.Record.InsideOf(a.URL); page != "" {
		return "changes with the page it is inside of, " + printable(page)
	}
	return "due " + due(a.Record.FetchTime, now)
}

func writeHost(out *table, h *query.HostState) {
	out.fact("Host", fmt.Sprintf("%s: %s (%s)", printable(h.Host), plural(h.Total, "URL"), counts(h.Status, 10)))
	if h.Requests > 0 {
		out.fact("  requests", fmt.Sprintf("%s, %s without an answer, %s", number(h.Requests), number(h.Failures), size(h.Bytes)))
	}
	if h.FailuresInRow > 0 {
		out.fact("  failures in a row", strconv.Itoa(h.FailuresInRow))
	}
	if h.DelaySeconds > 0 {
		out.fact("  crawl delay", fmt.Sprintf("%gs", h.DelaySeconds))
	}
	for _, r := range h.Robots {
		text := fmt.Sprintf("%s/robots.txt: status %d, %s, fetched %s, kept until %s", printable(r.Origin), r.Status, size(int64(r.Bytes)), moment(r.Fetched), moment(r.Expires))
		if r.Error != "" {
			text += ", last attempt failed: " + printable(r.Error)
		}
		out.fact("  robots", text)
	}
	for _, x := range h.Holds {
		out.fact("  held back", fmt.Sprintf("until %s: %s", moment(x.Until), printable(x.Reason)))
	}
}

// table prints labels and values in two columns. Nobody is left to be told when
// printing fails.
type table struct {
	w     io.Writer
	width int // of labels; 0 is 28
}

func (t *table) line(format string, args ...any) { _, _ = fmt.Fprintf(t.w, format+"\n", args...) }

func (t *table) fact(label, value string) {
	width := t.width
	if width == 0 {
		width = 28
	}
	t.line("%-*s %s", width, label+":", value)
}

func (t *table) meta(label string, m model.Metadata) {
	if len(m) == 0 {
		return
	}
	t.line("%s:", label)
	for _, k := range m.Keys() {
		for _, v := range m[k] {
			t.line("  %s=%s", printable(k), printable(v))
		}
	}
}

// decimal writes a score.
func decimal(f float64) string {
	return strconv.FormatFloat(math.Round(f*model.Micro)/model.Micro, 'f', -1, 64)
}

// interval writes seconds as Nutch does: days, then hours, minutes, seconds.
func interval(seconds int64) string {
	return fmt.Sprintf("%d days, %02d:%02d:%02d", seconds/86400, seconds/3600%24, seconds/60%60, seconds%60)
}

// writeIndexed prints what each index writer has of a page.
func writeIndexed(out *table, writers []query.Indexed) {
	for _, i := range writers {
		text := "nothing"
		switch {
		case i.Held && i.Hash != "":
			text = fmt.Sprintf("document %.16s… from segment %s", i.Hash, i.Segment)
		case i.Held:
			text = "perhaps a document"
		}
		if i.Pending {
			text += "; to be sent"
			if i.Why != "" {
				text += ", which failed: " + printable(i.Why)
			}
		}
		if i.Refused != "" {
			text += fmt.Sprintf("; refused what was sent %s: %s", moment(i.At), printable(i.Refused))
		}
		out.fact("Index "+i.Writer, text)
	}
}
