package cli

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/gonutch/crawler/core/internal/cycle"
	"github.com/gonutch/crawler/core/internal/db/crawldb"
	"github.com/gonutch/crawler/core/internal/step/fetch"
	"github.com/gonutch/crawler/core/internal/step/invert"
	"github.com/gonutch/crawler/core/internal/step/sitemap"
)

// printReport prints what a command did, and why when it did nothing.
func printReport(w io.Writer, r *cycle.Report) { writeReport(w, r, time.Now()) }

// printStep prints what a step did that selects no URLs.
func printStep(w io.Writer, r *cycle.Report) {
	if idle(r) && r.Stopped == "" {
		_, _ = fmt.Fprintln(w, "Nothing had to be changed.")
		return
	}
	printReport(w, r)
}

func printInverted(w io.Writer, r invert.Report) {
	p := &reportPrinter{w: w}
	p.line("inverted", "%s, %s added, %s removed", plural(int64(r.Pages), "page"), plural(int64(r.Added), "inlink"), number(int64(r.Removed)))
	if r.Ignored > 0 {
		p.line("ignored", "%s, by linkdb.ignore_internal_links or linkdb.ignore_external_links", plural(int64(r.Ignored), "link"))
	}
	if r.Trimmed > 0 {
		p.line("trimmed", "%s over linkdb.max_inlinks", plural(int64(r.Trimmed), "inlink"))
	}
	if n := total(r.Orphaned); n > 0 {
		p.line("orphaned", "%s: %s", number(n), counts(r.Orphaned, 5))
	}
}

func writeReport(w io.Writer, r *cycle.Report, now time.Time) {
	p := &reportPrinter{w: w}
	if idle(r) {
		p.nothing(r, now)
	} else {
		p.done(r, now)
	}
	if r.Sitemaps != nil {
		p.sitemaps(r.Sitemaps)
	}
	if r.Stopped != "" {
		p.line("ended early", "%s", r.Stopped)
	}
}

// idle reports whether nothing was there to be done.
func idle(r *cycle.Report) bool {
	return r.Fetched == 0 && r.Generated == 0 && r.Parsed == 0 && total(r.ParseFails) == 0 && total(r.Updated) == 0 &&
		r.Indexed == 0 && r.Deleted == 0 && r.Unchanged == 0 && r.Duplicates+r.Lifted == 0 && total(r.Released) == 0 && total(r.Skipped) == 0 && total(r.Refused) == 0 && total(r.Waiting) == 0 && total(r.Orphaned) == 0
}

type reportPrinter struct{ w io.Writer }

const labelWidth = 12

// line prints a label and a text. Nobody is left to be told when that fails.
func (p *reportPrinter) line(label, format string, args ...any) {
	_, _ = fmt.Fprintf(p.w, "  %-*s %s\n", labelWidth, label, fmt.Sprintf(format, args...))
}

// some prints the lines whose counts are not 0; a text has a %s for its count.
func (p *reportPrinter) some(lines []countLine) {
	for _, l := range lines {
		if l.n > 0 {
			p.line(l.label, l.text, number(l.n))
		}
	}
}

type countLine struct {
	n           int64
	label, text string
}

// list prints counts as a list of their own, the largest first.
func (p *reportPrinter) list(m map[string]int64, meaning func(string) string) {
	names := largest(m)
	width := 0
	for _, n := range names {
		width = max(width, len(number(m[n])))
	}
	for i, n := range names {
		if i == 10 && len(names) > 11 {
			rest := map[string]int64{}
			for _, x := range names[i:] {
				rest[x] = m[x]
			}
			p.line("", "%*s  %d other reasons", width, number(total(rest)), len(rest))
			return
		}
		text := printable(n)
		if meaning != nil {
			if s := meaning(n); s != "" {
				text += ": " + s
			}
		}
		p.line("", "%*s  %s", width, number(m[n]), text)
	}
}

func (p *reportPrinter) done(r *cycle.Report, now time.Time) {
	if r.Rounds > 0 {
		_, _ = fmt.Fprintf(p.w, "%s in %s\n", plural(int64(r.Rounds), "round"), span(r.Elapsed))
	} else if r.Elapsed > 0 {
		_, _ = fmt.Fprintf(p.w, "done in %s\n", span(r.Elapsed))
	}
	if r.Fetched > 0 {
		p.line("fetched", "%s", fetchedText(r))
		if len(r.Status) > 1 || r.Status["fetch_success"] == 0 {
			p.line("", "%s", counts(r.Status, 10))
		}
	} else if r.Generated > 0 && r.Rounds == 0 {
		p.line("generated", "%s", plural(r.Generated, "URL"))
	}
	for _, x := range []struct {
		label string
		m     map[string]int64
	}{{"failed", r.Failures}, {"truncated", r.Truncated}, {"released", r.Released}} {
		if n := total(x.m); n > 0 {
			p.line(x.label, "%s: %s", number(n), counts(x.m, 8))
			p.explained(r, x.m)
		}
	}
	p.parsed(r)
	if n := total(r.Orphaned); n > 0 {
		p.line("orphaned", "%s: %s", number(n), counts(r.Orphaned, 5))
	}
	p.indexed(r)
	if r.EventsLost > 0 {
		p.line("events lost", "%s, which publishers could not take", number(r.EventsLost))
	}
	if len(r.Poisonous) > 0 {
		p.line("poisonous", "%s that plugins died of:", plural(int64(len(r.Poisonous)), "URL"))
		for _, u := range r.Poisonous[:min(len(r.Poisonous), 5)] {
			p.line("", "%s", printable(u))
		}
		if more := len(r.Poisonous) - 5; more > 0 {
			p.line("", "and %s more", number(more))
		}
	}
	for i, f := range r.Freshness {
		if f.Pages > 0 {
			p.line(map[bool]string{true: "freshness"}[i == 0], "%s: %s", f.Target, freshnessText(&r.Freshness[i]))
		}
	}
	if r.Pruned > 0 {
		p.line("removed", "%s, %s, for segment.disk_budget", plural(r.Pruned, "old segment"), size(r.PrunedBytes))
	}
	if r.OverBudget > 0 {
		p.line("disk", "segments that are needed take %s more than segment.disk_budget; \"crawler segment list\" shows why", size(r.OverBudget))
	}
	if !r.NextDue.IsZero() {
		p.line("next due", "%s", due(r.NextDue, now))
	}
}

// explained says of the most frequent reasons what their names mean, and what went wrong with one URL.
func (p *reportPrinter) explained(r *cycle.Report, m map[string]int64) {
	names := largest(m)
	for _, why := range names[:min(len(names), 8)] {
		text := releaseMeaning(why)
		if x, ok := r.Examples[why]; ok {
			if text != "" {
				text += "; "
			}
			text += printable(x.URL) + ": " + printable(x.Message)
		}
		if text != "" {
			p.line("", "%s: %s", printable(why), text)
		}
	}
}

// releaseMeaning explains a reason for which URLs are given back unasked.
func releaseMeaning(why string) string {
	switch fetch.Release(why) {
	case fetch.ReleasedRobots:
		return "robots.txt can't be had, so the host is left alone for a while"
	case fetch.ReleasedCrawlDelay:
		return "robots.txt asks for a longer delay than fetcher.max_crawl_delay"
	case fetch.ReleasedHeld:
		return "the host is left alone for a while; which and until when: crawler readdb --stats"
	case fetch.ReleasedTime:
		return "the round took longer than fetcher.timelimit"
	case fetch.ReleasedThroughput:
		return "fewer pages a second than fetcher.throughput_threshold_pages"
	case fetch.ReleasedExceptions:
		return "too many failures of the host one after another (fetcher.max_exceptions_per_queue)"
	case fetch.ReleasedOverfull:
		return "more URLs than memory is given for"
	}
	return ""
}

func fetchedText(r *cycle.Report) string {
	s := plural(r.Fetched, "page") + ", " + size(r.Bytes)
	if sec := r.Elapsed.Seconds(); sec > 0 {
		s += fmt.Sprintf(" (%s, %s/s)", perSecond(float64(r.Fetched)/sec), size(int64(float64(r.Bytes)/sec)))
	}
	return s
}

func (p *reportPrinter) parsed(r *cycle.Report) {
	if r.Parsed > 0 || total(r.ParseFails) > 0 {
		s := plural(r.Parsed, "page")
		if n := total(r.ParseFails); n > 0 {
			s += fmt.Sprintf(", %s failed: %s", number(n), counts(r.ParseFails, 5))
		}
		p.line("parsed", "%s", s)
	}
	if r.Links > 0 || total(r.Dropped) > 0 {
		s := number(r.Links) + " kept"
		if n := total(r.Dropped); n > 0 {
			s += ", " + number(n) + " dropped:"
		}
		p.line("links", "%s", s)
		p.list(r.Dropped, dropMeaning)
	}
	if r.Parsed > 0 || r.New > 0 {
		p.line("new URLs", "%s", number(r.New))
	}
	if r.Fetched == 0 && total(r.Updated) > 0 {
		p.line("updated", "%s: %s", number(total(r.Updated)), counts(r.Updated, 10))
	}
}

func (p *reportPrinter) indexed(r *cycle.Report) {
	if r.Indexed+r.Deleted+r.Unchanged+r.Duplicates+r.Lifted > 0 {
		pages := plural(r.Indexed, "page")
		if sent := nonzero(counted{r.IndexedNew, "new"}, counted{r.IndexedChanged, "changed"}, counted{r.IndexedAgain, "sent again"}); sent != "" {
			pages += " (" + sent + ")"
		}
		if rest := nonzero(counted{r.Deleted, "deleted"}, counted{r.Unchanged, "unchanged"}, counted{r.Duplicates, "duplicates"}, counted{r.Lifted, "no duplicates any more"}); rest != "" {
			pages += ", " + rest
		}
		p.line("indexed", "%s", pages)
	}
	if n := total(r.Skipped); n > 0 {
		p.line("not indexed", "%s: %s", number(n), counts(r.Skipped, 6))
	}
	if n := total(r.Refused); n > 0 {
		p.line("refused", "%s: %s; which and why: crawler index --rejected", number(n), counts(r.Refused, 6))
	}
	for i := range r.Down {
		w := &r.Down[i]
		p.line("writer down", "%s since %s: %s", printable(w.Writer), moment(w.Since), printable(w.Error))
	}
	if n := total(r.Waiting); n > 0 {
		p.line("waiting", "%s: %s; to send them: crawler index --pending", number(n), counts(r.Waiting, 6))
	}
	for _, name := range r.Incomplete {
		p.line("incomplete", "index_writer %s lacks what was indexed before it came; to fill it: crawler reindex --writer %s", printable(name), printable(name))
	}
}

// counted is a number and what it counts.
type counted struct {
	n    int64
	what string
}

// nonzero lists what was counted at all.
func nonzero(all ...counted) string {
	var s []string
	for _, c := range all {
		if c.n > 0 {
			s = append(s, number(c.n)+" "+c.what)
		}
	}
	return strings.Join(s, ", ")
}

// dropMeaning explains a reason for which links are dropped, where its name does
// not.
func dropMeaning(why string) string {
	switch why {
	case "max_outlinks":
		return "more links than db.max_outlinks_per_page or a limit of the parser"
	case "too_long":
		return "URLs longer than db.max_outlink_length or a limit of the parser"
	case "internal":
		return "within the host (db.ignore_internal_links)"
	case "external":
		return "to other hosts (db.ignore_external_links)"
	case "self":
		return "of a page to itself"
	case "duplicate":
		return "named more than once on a page"
	}
	return ""
}

// nothing says why there was nothing to do, and what helps.
func (p *reportPrinter) nothing(r *cycle.Report, now time.Time) {
	_, _ = fmt.Fprintln(p.w, "Nothing to do.")
	for _, why := range largest(r.Rejected) {
		text, help := rejectMeaning(why)
		p.line("", "%s %s", number(r.Rejected[why]), text)
		if help != "" {
			p.line("", "  %s", help)
		}
	}
	switch {
	case !r.NextDue.IsZero():
		p.line("next due", "%s", due(r.NextDue, now))
		if r.NextDue.After(now) {
			days := int(r.NextDue.Sub(now).Hours()/24) + 1
			p.line("", "to fetch it before: crawler run --adddays %d; to wait for it: crawler run -D cycle.wait=-1", days)
		}
	case len(r.Rejected) == 0 && r.Stopped == "":
		p.line("", "The CrawlDB has no URL that could be fetched. Seeds are added by: crawler run --seeds FILE")
	}
}

// rejectMeaning explains a reason of generate and says what helps.
func rejectMeaning(why string) (text, help string) {
	switch why {
	case crawldb.RejectSchedule:
		return "URLs are not due yet", ""
	case crawldb.RejectHeld:
		return "hosts are held back because they failed or asked for a pause", "which and until when: crawler readdb --stats"
	case crawldb.RejectScore:
		return "URLs score less than generate.min_score", "to take them: crawler run -D generate.min_score=0"
	case crawldb.RejectCount:
		return "hosts have more URLs than generate.max_count", "to take more: crawler run -D generate.max_count=-1"
	case crawldb.RejectStatus:
		return "URLs have another status than generate.restrict_status", "to take all: crawler run -D generate.restrict_status="
	case crawldb.RejectExpr:
		return "URLs are refused by generate.expr", "to take them: crawler run -D generate.expr="
	case crawldb.RejectHostExpr:
		return "hosts are refused by generate.hostdb_expr", "what it sees: crawler readhostdb"
	case crawldb.RejectSheet:
		return "hosts have a sheet with max_count = 0", "which: crawler config show sheet"
	case crawldb.RejectInterval:
		return "URLs have a longer fetch interval than generate.min_interval", "to take them: crawler run -D generate.min_interval=-1"
	}
	return why, ""
}

// sitemaps prints what was read of sitemaps.
func (p *reportPrinter) sitemaps(r *sitemap.Report) {
	p.line("sitemaps", "%s read for %s hosts: %s URLs, %s new, %s known, %s changed", number(int64(r.Sitemaps)), number(int64(r.Hosts)),
		number(int64(r.URLs)), number(int64(r.Added)), number(int64(r.Existing)), number(int64(r.Updated)))
	p.list(wide(r.Failed), func(string) string { return "(sitemaps)" })
	p.list(wide(r.Dropped), func(string) string { return "(URLs of sitemaps left out)" })
}

func wide(m map[string]int) map[string]int64 {
	out := make(map[string]int64, len(m))
	for k, v := range m {
		out[k] = int64(v)
	}
	return out
}
