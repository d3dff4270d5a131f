package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/gonutch/crawler/core/internal/step/refilter"
)

func dbCommand() *command {
	return &command{
		name: "db", args: "check | repair | refilter | rescore | upgrade", group: "Single steps",
		short: "Work on the CrawlDB as a whole: compare and rebuild its indexes and counters, apply changed rules, score anew, bring an older one up to date",
		prepare: func(inv *invocation) func(context.Context, []string) error {
			var o refilter.Options
			inv.fs.BoolVar(&o.Apply, "apply", false, "refilter: do it; without, only show what would leave or change")
			inv.fs.BoolVar(&o.NoNormalize, "no-normalize", false, "refilter: without the normalizers (scope crawldb)")
			inv.fs.BoolVar(&o.NoFilter, "no-filter", false, "refilter: without the filters")
			inv.fs.IntVar(&o.Samples, "samples", 3, "refilter: URLs shown of each rule, at most 100")
			return func(ctx context.Context, args []string) error {
				if len(args) == 0 {
					return usagef("say what to do: db check, repair, refilter, rescore or upgrade")
				}
				if verbs := []string{"check", "repair", "refilter", "rescore", "upgrade"}; !slices.Contains(verbs, args[0]) {
					return noVerb("db", args[0], verbs...)
				}
				if len(args) > 2 {
					return usagef("unexpected argument %q", args[2])
				}
				if len(args) == 2 {
					inv.positionalDir(args[1])
				}
				switch args[0] {
				case "check":
					return inv.checkDB(ctx)
				case "repair":
					return inv.repairDB(ctx)
				case "rescore":
					return inv.rescoreDB(ctx)
				case "upgrade":
					return inv.upgradeDB(ctx)
				}
				if o.NoNormalize && o.NoFilter {
					return usagef("--no-normalize and --no-filter together leave nothing to do")
				}
				if o.Samples < 0 || o.Samples > 100 {
					return usagef("--samples %d: want 0 to 100", o.Samples)
				}
				return inv.refilter(ctx, o)
			}
		},
	}
}

// refilter is "crawler db refilter".
func (inv *invocation) refilter(ctx context.Context, o refilter.Options) error {
	ctx, cancel := inv.interruptible(ctx)
	defer cancel()
	return inv.with(ctx, func(ctx context.Context, s *session) error {
		o.Progress = s.ofRecords(ctx, "refilter")
		rep, err := s.cycle.Refilter(ctx, o)
		if err != nil && ctx.Err() != nil {
			err = errors.New("stopped; what was committed is done, and the same command goes on from there")
		}
		if perr := inv.print(rep, func(w io.Writer) { writeRefilter(w, &rep) }); perr != nil || err != nil {
			return errors.Join(err, perr)
		}
		if rep.Removed+rep.Renamed == 0 {
			return errNothing
		}
		return nil
	})
}

func writeRefilter(w io.Writer, r *refilter.Report) {
	out := reportPrinter{w: w}
	_, _ = fmt.Fprintf(w, "%s looked at", plural(r.URLs, "URL"))
	switch {
	case r.Removed+r.Renamed == 0:
		_, _ = fmt.Fprint(w, "; the rules change nothing")
	case r.Applied && r.Resumed:
		_, _ = fmt.Fprint(w, "; this went on with one that was cut short")
	case !r.Applied:
		_, _ = fmt.Fprint(w, "; nothing was changed, --apply does it")
	}
	_, _ = fmt.Fprintln(w)
	if r.Pending > 0 {
		out.line("pending", "%s of them found in pages and not in the CrawlDB yet", number(r.Pending))
	}
	out.removed(r)
	if r.Renamed > 0 {
		out.line("new URL", "%s, %s of them known already", number(r.Renamed), number(r.Merged))
		for _, x := range r.Renames {
			out.line("", "    %s → %s", printable(x.From), printable(x.To))
		}
	}
	if n := total(r.Failed); n > 0 {
		out.line("not judged", "%s, which stay: %s", plural(n, "URL"), counts(r.Failed, 10))
		for _, x := range r.Failures {
			out.line("", "    %s", printable(x))
		}
	}
	if r.Documents > 0 && r.Applied {
		out.line("index", "%s to be deleted by the next run, or now: crawler index", plural(r.Documents, "document"))
	} else if r.Documents > 0 {
		out.line("index", "%s to be deleted", plural(r.Documents, "document"))
	}
	if r.Leased > 0 {
		out.line("fetch lists", "%s of them", number(r.Leased))
	}
}

// removed prints who removes how many URLs by which rules.
func (p *reportPrinter) removed(r *refilter.Report) {
	if r.Removed == 0 {
		return
	}
	p.line("leave", "%s", plural(r.Removed, "URL"))
	for _, x := range r.Plugins {
		p.line("", "%s by %s", number(x.URLs), x.Plugin)
		other := x.Other
		for i, rule := range x.Rules {
			if i >= 20 {
				other += rule.URLs
				continue
			}
			p.line("", "  %s  %s", number(rule.URLs), printable(rule.Reason))
			for _, u := range rule.Samples {
				p.line("", "      %s", printable(u))
			}
		}
		if other > 0 {
			p.line("", "  %s  for other reasons", number(other))
		}
	}
}
