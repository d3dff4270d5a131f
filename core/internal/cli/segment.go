package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/gonutch/crawler/core/internal/query"
	"github.com/gonutch/crawler/core/internal/step/prune"
	"github.com/gonutch/crawler/sdk/setting"
)

func segmentsCommand() *command {
	return &command{
		name: "segment", args: "list | rm SEGMENT… | prune", group: "Single steps",
		short: "List segments with what needs them, and remove those that nothing needs",
		prepare: func(inv *invocation) func(context.Context, []string) error {
			var q query.PruneQuery
			var older, budget string
			inv.fs.BoolVar(&q.Apply, "apply", false, "rm, prune: do it; without, only show what would go")
			inv.fs.BoolVar(&q.Force, "force", false, "rm: also what a reindex needs; never what is leased or unfinished")
			inv.fs.IntVar(&q.Keep, "keep", 0, "prune: the newest `N` segments stay")
			inv.fs.StringVar(&older, "older-than", "", "prune: only segments made longer ago than this `DURATION`, such as 30d")
			inv.fs.StringVar(&budget, "budget", "", "prune: the oldest ones, until all segments together take at most this `SIZE`, such as 50GiB")
			return func(ctx context.Context, args []string) error {
				if len(args) == 0 {
					return usagef("say what to do: segment list, segment rm SEGMENT…, or segment prune")
				}
				verb, rest := args[0], args[1:]
				inv.segmentPaths(rest)
				selects := q.Keep != 0 || older != "" || budget != ""
				switch {
				case verb != "list" && verb != "rm" && verb != "prune":
					return noVerb("segment", verb, "list", "rm", "prune")
				case verb == "rm" && len(rest) == 0:
					return usagef("name the segments to remove; \"crawler segment list\" shows them")
				case verb != "rm" && len(rest) > 0:
					return usagef("unexpected argument %q", rest[0])
				case verb != "prune" && selects:
					return usagef("--keep, --older-than and --budget are options of segment prune")
				case verb != "rm" && q.Force:
					return usagef("--force is an option of segment rm")
				case q.Keep < 0:
					return usagef("--keep %d: want 0 or more", q.Keep)
				}
				if err := pruneLimits(&q.Options, older, budget); err != nil {
					return err
				}
				q.List, q.Names = verb == "list", rest
				return inv.prune(ctx, q)
			}
		},
	}
}

func pruneLimits(o *prune.Options, older, budget string) error {
	if older != "" {
		d, err := setting.ParseDuration(older)
		if err != nil || d <= 0 {
			return usagef("--older-than %q: want a duration with a unit, such as 30d or 12h", older)
		}
		o.OlderThan = d
	}
	if budget != "" {
		n, err := setting.ParseSize(budget)
		if err != nil || n <= 0 {
			return usagef("--budget %q: want a size with a unit, such as 50GiB", budget)
		}
		o.Budget = n
	}
	return nil
}

func (inv *invocation) prune(ctx context.Context, q query.PruneQuery) error {
	return inv.read(ctx, func(ctx context.Context, t query.Target) error {
		a, err := query.Ask(ctx, t, query.Prune(), q)
		if err != nil {
			return err
		}
		if err := inv.print(a, func(w io.Writer) { writePruned(w, &a, q.List) }); err != nil {
			return err
		}
		if !q.List && a.Removed == 0 || q.List && len(a.Segments) == 0 {
			return errNothing
		}
		return nil
	})
}

func writePruned(w io.Writer, r *prune.Report, all bool) {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(cells ...string) { _, _ = fmt.Fprintln(tw, strings.TrimRight(strings.Join(cells, "\t"), " ")) } // as in table
	row("NAME", "CREATED", "STATE", "FETCHED", "WARC", "RECORDS", "NEEDED")
	var kept int64
	for i := range r.Segments {
		s := &r.Segments[i]
		if !all && !s.Removed {
			if s.Needed != "" {
				kept++
			}
			continue
		}
		needed := s.Needed
		switch {
		case needed == "":
			needed = "no"
		case s.Removed:
			needed += " (--force)"
		}
		row(s.Segment, s.Created.UTC().Format(time.DateTime), string(s.State), number(s.Fetched), size(s.WARC), size(s.Store), needed)
	}
	if all || r.Removed > 0 {
		_ = tw.Flush()
	}
	out := reportPrinter{w: w}
	switch {
	case all:
		out.line("segments", "%d, %s", len(r.Segments), size(r.Left))
		return
	case r.Removed == 0:
		out.line("removed", "none")
	case r.Applied:
		out.line("removed", "%s, %s", plural(int64(r.Removed), "segment"), size(r.Freed))
	default:
		out.line("would go", "%s, %s; nothing was changed, --apply does it", plural(int64(r.Removed), "segment"), size(r.Freed))
	}
	out.line("left", "%d, %s; %s needed", len(r.Segments)-r.Removed, size(r.Left), number(kept))
	if r.Over > 0 {
		out.line("over budget", "%s, which are needed or were to be kept", size(r.Over))
	}
}
