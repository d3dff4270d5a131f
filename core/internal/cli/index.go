package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/gonutch/crawler/core/internal/cycle"
	"github.com/gonutch/crawler/core/internal/query"
)

func indexCommand() *command {
	return &command{
		name: "index", short: "Send what changed to the index writers", group: "Single steps", nutch: true,
		prepare: func(inv *invocation) func(context.Context, []string) error {
			pending := inv.fs.Bool("pending", false, "only send what writers could not take before")
			check := inv.fs.Bool("check", false, "ask each writer what it is and what would go wrong; send nothing")
			rejected := inv.fs.Bool("rejected", false, "list what writers refused, with their reasons")
			retry := inv.fs.Bool("retry-rejected", false, "send again what writers refused")
			forget := inv.fs.String("forget", "", "drop what is known of the index_writer `NAME`, which is not configured any more")
			writer := inv.fs.String("writer", "", "with --rejected and --retry-rejected: only of the index_writer `NAME`")
			limit := inv.fs.Int("limit", 0, "with --rejected: documents at most (default 100)")
			return func(ctx context.Context, args []string) error {
				inv.places(args)
				n := 0
				for _, set := range []bool{*pending, *check, *rejected, *retry, *forget != ""} {
					if set {
						n++
					}
				}
				var names []string
				if *writer != "" {
					names = []string{*writer}
				}
				switch {
				case n > 1:
					return usagef("--pending, --check, --rejected, --retry-rejected and --forget exclude each other")
				case *writer != "" && !*rejected && !*retry:
					return usagef("--writer goes with --rejected or --retry-rejected; to send a writer everything: crawler reindex --writer %s", *writer)
				case *check:
					return inv.checkWriters(ctx)
				case *rejected:
					return inv.listRejected(ctx, query.RejectedQuery{Writer: *writer, Limit: *limit})
				case *forget != "":
					return inv.forgetWriter(ctx, *forget)
				}
				return inv.indexStep(ctx, func(ctx context.Context, s *session) (cycle.Report, error) {
					switch {
					case *pending:
						return s.cycle.Pending(ctx)
					case *retry:
						return s.cycle.RetryRefused(ctx, names)
					}
					return s.cycle.Index(ctx)
				})
			}
		},
	}
}

func cleanCommand() *command {
	return wholeCommand("clean", "Delete gone, redirected and duplicate pages from the index", func(ctx context.Context, s *session) (cycle.Report, error) {
		return s.cycle.Clean(ctx)
	})
}

func reindexCommand() *command {
	return &command{
		name: "reindex", short: "Send the index writers everything, made anew from the segments", group: "Single steps",
		prepare: func(inv *invocation) func(context.Context, []string) error {
			var writers multi
			inv.fs.Var(&writers, "writer", "only the index_writer `NAME`; repeatable")
			restart := inv.fs.Bool("restart", false, "begin anew instead of going on with one that was interrupted")
			return func(ctx context.Context, args []string) error {
				inv.places(args)
				return inv.indexStep(ctx, func(ctx context.Context, s *session) (cycle.Report, error) {
					return s.cycle.Reindex(ctx, writers, *restart)
				})
			}
		},
	}
}

// errWritersDown ends a command that sends documents and could not send all.
var errWritersDown = errors.New("an index writer takes nothing now; what it lacks is kept, and the same command or \"crawler index --pending\" sends it")

// indexStep runs a step that sends documents.
func (inv *invocation) indexStep(ctx context.Context, f func(context.Context, *session) (cycle.Report, error)) error {
	return inv.with(ctx, func(ctx context.Context, s *session) error {
		stop, over := s.gently()
		defer over()
		s.cycle.StopWhen(stop)
		rep, err := f(ctx, s)
		if err != nil {
			return err
		}
		if err := inv.print(rep, func(w io.Writer) { printStep(w, &rep) }); err != nil {
			return err
		}
		if len(rep.Down) > 0 {
			return errWritersDown
		}
		return nil
	})
}

func (inv *invocation) forgetWriter(ctx context.Context, name string) error {
	return inv.with(ctx, func(ctx context.Context, s *session) error {
		n, err := s.cycle.Forget(ctx, name)
		if err != nil {
			return err
		}
		return inv.print(map[string]any{"writer": name, "documents": n}, func(w io.Writer) {
			fmt.Fprintf(w, "index_writer %s: %s documents are no longer known\n", name, number(n))
		})
	})
}

func (inv *invocation) listRejected(ctx context.Context, q query.RejectedQuery) error {
	return inv.read(ctx, func(ctx context.Context, t query.Target) error {
		a, err := query.Ask(ctx, t, query.RejectedDocs(), q)
		if err != nil {
			return err
		}
		return inv.print(a, func(w io.Writer) { writeRejected(w, a) })
	})
}

func writeRejected(w io.Writer, a *query.RejectedAnswer) {
	out := table{w: w}
	for i := range a.Rejected {
		r := &a.Rejected[i]
		out.line("%s %s %s", printable(r.Writer), r.Op, printable(r.URL))
		out.line("  %s: %s", moment(r.At), printable(r.Reason))
		switch {
		case r.Older != "" && r.Op == "add":
			out.line("  the version from segment %s is still in the index", r.Older)
		case r.Op == "delete":
			out.line("  the document is still in the index")
		}
	}
	switch n := int64(len(a.Rejected)); {
	case a.Total == 0:
		out.line("Nothing is refused.")
	case n < a.Total:
		out.line("%s of %s; --limit N shows more", number(n), number(a.Total))
	}
}

// errProblems ends a check that found something.
var errProblems = errors.New("index writers have problems")

func (inv *invocation) checkWriters(ctx context.Context) error {
	cfg, err := inv.load()
	if err != nil {
		return err
	}
	s, err := inv.open(ctx, cfg, false)
	if err != nil {
		return err
	}
	checks, err := s.cycle.CheckWriters(ctx)
	if err == nil {
		err = inv.print(checks, func(w io.Writer) { writeChecks(w, checks) })
	}
	for i := range checks {
		if err == nil && !checks[i].OK() {
			err = errProblems
		}
	}
	return errors.Join(err, s.close(ctx))
}

func writeChecks(w io.Writer, checks []cycle.WriterCheck) {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(tw, "WRITER\tPLUGIN\tSERVER\tVERSION\tHELD\tPENDING\tREFUSED\tSTATE")
	for i := range checks {
		c := &checks[i]
		state := "ok"
		switch {
		case !c.Configured:
			state = "not configured any more"
		case c.Error != "":
			state = "can't be used"
		case len(c.Problems) > 0:
			state = "has problems"
		case c.Lacks:
			state = "lacks documents"
		}
		cells := []string{c.Name, c.Plugin, c.Server, c.Version, number(c.Held), number(c.Pending), number(c.Refused), state}
		for k := range cells {
			if cells[k] = printable(cells[k]); cells[k] == "" {
				cells[k] = "-"
			}
		}
		_, _ = fmt.Fprintln(tw, strings.Join(cells, "\t"))
	}
	_ = tw.Flush()
	out := table{w: w}
	for i := range checks {
		c := &checks[i]
		if c.Error != "" {
			out.line("%s: %s", printable(c.Name), printable(c.Error))
		}
		for _, p := range c.Problems {
			out.line("%s: %s", printable(c.Name), printable(p))
		}
		for _, f := range c.Facts {
			out.line("%s: %s: %s", printable(c.Name), printable(f.Name), printable(f.Value))
		}
		if c.Configured && !c.Down.IsZero() {
			out.line("%s: it takes nothing since %s; to send what waits: crawler index --pending", printable(c.Name), moment(c.Down))
		}
		if c.Lacks {
			out.line("%s: it was not sent what was indexed before it came; to fill it: crawler reindex --writer %s", printable(c.Name), printable(c.Name))
		}
		if c.Remapped {
			out.line("%s: its mapping changed; what did not change since has the fields of before; to send it again: crawler reindex --writer %s", printable(c.Name), printable(c.Name))
		}
		if !c.Configured {
			out.line("%s: %s operations wait for it; if it has another name now, fill that one first: crawler reindex --writer NAME; to drop them: crawler index --forget %s",
				printable(c.Name), number(c.Pending), printable(c.Name))
		}
	}
}
