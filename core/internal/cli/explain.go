package cli

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gonutch/crawler/core/internal/query"
)

func explainCommand() *command {
	return &command{
		name: "explain", short: "Tell the whole life of a URL, or what limits the crawl", group: "Looking", args: "URL",
		prepare: func(inv *invocation) func(context.Context, []string) error {
			idle := inv.fs.Bool("idle", false, "tell what limits the crawl now, with shares")
			limit := inv.fs.Int("limit", 0, "inlinks and outlinks that are shown at most (default 5)")
			return func(ctx context.Context, args []string) error {
				switch {
				case *idle && len(args) == 0:
					return inv.explainIdle(ctx)
				case *idle || len(args) != 1:
					return usagef("name one URL, or --idle")
				}
				if *limit <= 0 {
					*limit = 5
				}
				return inv.explain(ctx, query.ExplainQuery{URL: args[0], MaxInlinks: *limit})
			}
		},
	}
}

func (inv *invocation) explain(ctx context.Context, q query.ExplainQuery) error {
	return inv.read(ctx, func(ctx context.Context, t query.Target) error {
		e, err := query.Ask(ctx, t, query.Explain(), q)
		if err != nil {
			return err
		}
		return inv.print(e, func(w io.Writer) { writeExplanation(w, e, q.MaxInlinks) })
	})
}

func writeExplanation(w io.Writer, e *query.Explanation, limit int) {
	out := table{w: w, width: 22}
	out.line("URL: %s", printable(e.Asked))
	writeSteps(&out, e)
	if r := e.Robots; r != nil {
		out.fact("Robots", robotsText(r))
	}
	for _, v := range e.Sheets {
		out.fact("Sheet "+v.Sheet, printable(fmt.Sprintf("%s = %s (%s)", v.Setting, v.Value, v.Place)))
	}
	if f := e.Fresh; f != nil {
		out.fact("Freshness target", printable(fmt.Sprintf("%s: mean age %v (%s)", f.Target, f.Wanted, f.Place)))
	}
	writeFound(&out, e)
	if e.Record != nil {
		out.line("")
		out.line("CrawlDB")
		writeRecord(&out, e.Record)
	}
	for _, x := range e.Pending {
		out.fact("Pending effect", fmt.Sprintf("%s %s %d", x.Field, x.Reducer, x.Value))
	}
	writeHistory(&out, e, limit)
	writeDocument(&out, e)
	if e.Host != nil {
		out.line("")
		writeHost(&out, e.Host)
	}
	out.line("")
	out.line("Next")
	for _, s := range e.Will {
		out.line("  %s", printable(s))
	}
}

func writeSteps(out *table, e *query.Explanation) {
	for _, st := range e.Steps {
		if st.Verdict == "unchanged" {
			continue
		}
		text := st.Verdict
		if st.Out != "" && st.Out != st.In {
			text += " to " + st.Out
		}
		if st.Reason != "" {
			text += ": " + st.Reason
		}
		out.fact("  "+st.Plugin, printable(text))
	}
	if e.Normal != "" {
		out.fact("Normal form", printable(e.Normal))
	}
	if e.URL != e.Normal && e.URL != e.Asked {
		out.fact("In the CrawlDB as", printable(e.URL))
	}
}

func robotsText(r *query.RobotsVerdict) string {
	verdict := "allowed"
	if !r.Allowed {
		verdict = "disallowed"
	}
	switch {
	case r.State == "unknown":
		return fmt.Sprintf("%s/robots.txt was not asked for yet", printable(r.Origin))
	case r.Line > 0:
		return fmt.Sprintf("%s by %s/robots.txt:%d: %s (for %s)", verdict, printable(r.Origin), r.Line, printable(r.Rule), printable(r.Agent))
	case r.State == "found":
		return fmt.Sprintf("%s: no rule of %s/robots.txt matches", verdict, printable(r.Origin))
	}
	return fmt.Sprintf("%s: %s/robots.txt is %s (%s)", verdict, printable(r.Origin), r.State, printable(r.Reason))
}

func writeFound(out *table, e *query.Explanation) {
	if len(e.Inlinks) == 0 {
		return
	}
	more := ""
	if e.More {
		more = " and more (--limit N)"
	}
	out.fact("Found in", plural(int64(len(e.Inlinks)), "page")+more)
	for i, l := range e.Inlinks {
		text := printable(l.From)
		if l.Anchor != "" {
			text += fmt.Sprintf(" %q", printable(l.Anchor))
		}
		if i < len(e.Scope) && e.Scope[i].Verdict != "followed" {
			text += " (" + e.Scope[i].Verdict + ")"
		}
		out.line("  %s", text)
	}
}

func writeHistory(out *table, e *query.Explanation, limit int) {
	if len(e.History) == 0 {
		return
	}
	out.line("")
	out.line("Fetches")
	for _, v := range e.History {
		f := v.Fetch
		text := fmt.Sprintf("%s  round %d  %s, %s", moment(f.FetchTime), v.Round, f.StatusName, printable(f.Protocol))
		if f.HTTP > 0 {
			text += fmt.Sprintf(", HTTP %d", f.HTTP)
		}
		if f.Size > 0 {
			text += fmt.Sprintf(", %s of %s", size(f.Size), printable(f.MIMEType))
		}
		out.line("  %s, %d ms", text, f.ElapsedMillis)
		detail := func(label, text string) {
			if text != "" {
				out.line("    %-16s %s", label, printable(text))
			}
		}
		detail("leads to", f.Location)
		detail("truncated", f.Truncated)
		detail("signature", f.Signature)
		detail("segment", v.Segment)
		if f.WARC != "" {
			detail("WARC", fmt.Sprintf("%s, offset %d, %d bytes", f.WARC, f.Offset, f.Length))
		}
		for _, subject := range slices.Sorted(maps.Keys(v.Remarks)) {
			detail(strings.ToLower(strings.ReplaceAll(subject, "-", " ")), v.Remarks[subject])
		}
		if p := v.Parse; p != nil {
			text := p.Status
			if p.Parser != "" {
				text += " by " + p.Parser
			}
			if p.Title != "" {
				text += fmt.Sprintf(", title %q", p.Title)
			}
			detail("parse", text)
			detail("signature", p.Signature)
			detail("outlinks", outlinksText(p))
		}
	}
	last := e.History[len(e.History)-1].Parse
	if last == nil || len(last.Outlinks) == 0 {
		return
	}
	out.line("  Outlinks of the last")
	for i, l := range last.Outlinks {
		if i == limit {
			out.line("    and %s more (--limit N)", number(int64(len(last.Outlinks)-limit)))
			break
		}
		out.line("    %s %q", printable(l.To), printable(l.Anchor))
	}
}

func outlinksText(p *query.ParseData) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(p.Dropped)) {
		parts = append(parts, fmt.Sprintf("%s %d", k, p.Dropped[k]))
	}
	text := fmt.Sprintf("%d in the page, %d kept", p.AllLinks, len(p.Outlinks))
	if len(parts) > 0 {
		text += "; dropped: " + strings.Join(parts, ", ")
	}
	return text
}

func writeDocument(out *table, e *query.Explanation) {
	if e.Document == nil && len(e.Index) == 0 {
		return
	}
	out.line("")
	out.line("Index")
	writeIndexed(out, e.Index)
	switch d := e.Document; {
	case d == nil:
	case d.Indexed:
		out.fact("Document", fmt.Sprintf("for %s; fields %s", strings.Join(d.Writers, ", "), strings.Join(d.Fields, ", ")))
	default:
		out.fact("No document", printable(d.Why))
	}
}

func (inv *invocation) explainIdle(ctx context.Context) error {
	return inv.read(ctx, func(ctx context.Context, t query.Target) error {
		a, err := query.Ask(ctx, t, query.Idle(), query.IdleQuery{})
		if err != nil {
			return err
		}
		return inv.print(a, func(w io.Writer) { writeIdle(w, a) })
	})
}

func writeIdle(w io.Writer, a *query.IdleAnswer) {
	out := table{w: w, width: 24}
	out.fact("Limited by", printable(a.Limit))
	if a.Working {
		out.fact("Step", printable(a.Step))
		if a.Threads > 0 {
			out.fact("Fetch threads", fmt.Sprintf("%d of %d at work", a.InFlight, a.Threads))
		}
	}
	if len(a.Queued) > 0 {
		out.line("URLs in the fetch lists that are worked on")
		writeShares(&out, a.Queued, map[string]string{
			"ready": "could be asked for", "delay": "wait for the delay", "connections": "wait for an answer", "backoff": "wait after a failure", "held": "held back",
		})
	}
	if len(a.Records) > 0 {
		more := ""
		if a.More {
			more = " (due and held: at least)"
		}
		out.line("Records of the CrawlDB%s", more)
		writeShares(&out, a.Records, map[string]string{"listed": "in fetch lists", "due": "due", "held": "due, host held back", "waiting": "not due yet"})
	}
	if !a.NextDue.IsZero() {
		out.fact("Next due", due(a.NextDue, time.Now()))
	}
	for i, h := range a.Holds {
		if i == 10 {
			break
		}
		out.line("  %s held back until %s: %s", printable(h.Queue), moment(h.Until), printable(h.Reason))
	}
}

func writeShares(out *table, list []query.Share, names map[string]string) {
	for _, x := range list {
		hosts := ""
		if x.Hosts > 0 {
			hosts = ", " + plural(int64(x.Hosts), "host")
		}
		out.line("  %5.1f %%  %-22s %s%s", 100*x.Share, names[x.What], plural(x.URLs, "URL"), hosts)
	}
}
