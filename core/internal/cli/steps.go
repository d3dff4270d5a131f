package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/gonutch/crawler/core/internal/cycle"
	"github.com/gonutch/crawler/core/internal/step/inject"
	"github.com/gonutch/crawler/sdk/fault"
)

func injectCommand() *command {
	return &command{
		name: "inject", args: "SEEDS…", short: "Put seeds into the CrawlDB", group: "Single steps", nutch: true,
		prepare: func(inv *invocation) func(context.Context, []string) error {
			var seeds multi
			inv.fs.Var(&seeds, "seeds", "`FILE`, folder, URL or -; repeatable")
			overwrite := inv.fs.Bool("overwrite", false, "replace the records of known seeds")
			update := inv.fs.Bool("update", false, "update score, interval and metadata of known seeds")
			skip := inv.fs.Bool("skip-invalid", false, "pass over seeds that are no URLs instead of failing")
			noFilter := inv.fs.Bool("no-filter", false, "leave the URL filters out")
			noNormalize := inv.fs.Bool("no-normalize", false, "leave the normalizers out")
			return func(ctx context.Context, args []string) error {
				if len(args) > 1 && isDir(args[0]) && len(seeds) == 0 { // Nutch: <crawldb> <url_dir>
					inv.positionalDir(args[0])
					args = args[1:]
				}
				sources := append(seeds, args...)
				if len(sources) == 0 {
					return usagef("no seeds: name files, folders or URLs")
				}
				cfg, err := inv.load()
				if err != nil {
					return err
				}
				o := inject.Options{SkipInvalid: *skip, NoFilter: *noFilter, NoNormalize: *noNormalize, Mode: injectMode(cfg, *overwrite, *update)}
				list, err := inv.seeds(ctx, sources)
				if err != nil {
					return err
				}
				s, err := inv.open(ctx, cfg, false)
				if err != nil {
					return errors.Join(err, list.Close())
				}
				rep, err := s.inject(ctx, list, o)
				if fault.Is(err, fault.Invalid) {
					return errors.Join(asConfig(err), list.Close(), s.discard(ctx))
				}
				if err == nil {
					err = inv.print(rep, func(w io.Writer) { printInjected(w, &rep) })
				}
				return errors.Join(err, list.Close(), s.close(ctx))
			}
		},
	}
}

func generateCommand() *command {
	return &command{
		name: "generate", short: "Make the fetch list of a new segment", group: "Single steps", nutch: true,
		prepare: func(inv *invocation) func(context.Context, []string) error {
			topN := inv.fs.Int("top-n", 0, "URLs at most (default: generate.top_n)")
			adddays := inv.fs.Float64("adddays", 0, "take URLs that become due within this many days, too")
			expr := inv.fs.String("expr", "", "only URLs for which `EXPRESSION` is true (generate.expr)")
			hosts := inv.fs.String("hostdb-expr", "", "only hosts for which `EXPRESSION` is true (generate.hostdb_expr)")
			count := inv.fs.String("max-count-expr", "", "URLs of each host at most: `EXPRESSION` (generate.max_count_expr)")
			return func(ctx context.Context, args []string) error {
				if err := checkDays(*adddays); err != nil {
					return err
				}
				inv.override("generate.top_n", *topN)
				inv.overrideText("generate.expr", *expr)
				inv.overrideText("generate.hostdb_expr", *hosts)
				inv.overrideText("generate.max_count_expr", *count)
				inv.places(args)
				return inv.stoppable(ctx, func(ctx context.Context, s *session) error {
					s.cycle.SetAddDays(*adddays)
					seg, rep, err := s.cycle.Generate(ctx)
					if err != nil {
						return err
					}
					if seg == "" {
						printReport(inv.app.Stderr, &rep)
						return errNothing
					}
					return inv.print(map[string]any{"segment": seg, "selected": rep.Generated}, func(w io.Writer) {
						fmt.Fprintf(w, "%s\n", seg)
						fmt.Fprintf(inv.app.Stderr, "%d URLs selected into segment %s\n", rep.Generated, seg)
					})
				})
			}
		},
	}
}

// requesting is with for a step that sends requests, which needs an agent's name.
func (inv *invocation) requesting(ctx context.Context, f func(context.Context, *session) error) error {
	cfg, err := inv.load()
	if err != nil {
		return err
	}
	if err := cfg.RequireAgent(); err != nil {
		return err
	}
	return inv.with(ctx, f)
}

// with opens the crawl, runs f and closes it again.
func (inv *invocation) with(ctx context.Context, f func(context.Context, *session) error) error {
	cfg, err := inv.load()
	if err != nil {
		return err
	}
	s, err := inv.open(ctx, cfg, true)
	if err != nil {
		return err
	}
	s.cycle.Tell(s.counting(inv.cmd, "pages"))
	stop := s.serve(ctx, nil, inv.cmd != "index" && inv.cmd != "clean" && inv.cmd != "reindex")
	err = f(ctx, s)
	stop()
	return errors.Join(err, s.close(ctx))
}

// stoppable is with for a step that does not look at Interrupts itself: the first Ctrl-C ends it.
func (inv *invocation) stoppable(ctx context.Context, f func(context.Context, *session) error) error {
	ctx, cancel := inv.interruptible(ctx)
	defer cancel()
	err := inv.with(ctx, f)
	if err != nil && ctx.Err() != nil {
		err = errors.New("stopped; what was committed stays, and the same command does the rest")
	}
	return err
}

// stepDone is what a step did to a segment.
type stepDone struct {
	facts   any
	report  func(io.Writer)
	stopped bool // it was told to end before it was through
}

func reported(rep cycle.Report) stepDone {
	return stepDone{rep, func(w io.Writer) { printStep(w, &rep) }, rep.Stopped != ""}
}

// segmentCommand makes a command that works on segments: those named, or the newest. One
// that sends requests needs an agent's name, and ends by Interrupts in good order.
func segmentCommand(name, short string, requests bool, f func(ctx context.Context, s *session, seg string) (stepDone, error)) *command {
	return &command{
		name: name, args: "[SEGMENT…]", short: short, group: "Single steps", nutch: true,
		prepare: func(inv *invocation) func(context.Context, []string) error {
			all := inv.fs.Bool("all", false, "all segments instead of the newest one")
			return func(ctx context.Context, args []string) error {
				for len(args) > 0 && crawlOf(args[0]) != args[0] { // Nutch: <crawldb> <segment>…, <crawldb> -dir <segments>
					inv.positionalDir(args[0])
					*all, args = *all || filepath.Base(args[0]) == "segments", args[1:]
				}
				*all = *all || filepath.Base(inv.dir) == "segments"
				inv.segmentPaths(args)
				open := inv.stoppable
				if requests {
					open = inv.requesting
				}
				return open(ctx, func(ctx context.Context, s *session) error {
					segs, err := s.segments(ctx, args, *all)
					if err != nil {
						return err
					}
					for _, seg := range segs {
						done, err := f(ctx, s, seg)
						if err != nil {
							return err
						}
						err = inv.print(done.facts, func(w io.Writer) {
							fmt.Fprintf(w, "segment %s\n", seg)
							done.report(w)
						})
						if err != nil || done.stopped {
							return err
						}
					}
					return nil
				})
			}
		},
	}
}

// segments resolves the segments a command is to work on.
func (s *session) segments(ctx context.Context, args []string, all bool) ([]string, error) {
	metas, err := s.cycle.Segments(ctx)
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	for _, m := range metas {
		known[m.ID] = true
	}
	if len(args) > 0 {
		for i, a := range args {
			args[i] = filepath.Base(a) // Nutch names segments by their path
			if !known[args[i]] {
				return nil, usagef("there is no segment %q; \"crawler readseg --list\" lists them", a)
			}
		}
		return args, nil
	}
	if len(metas) == 0 {
		return nil, fmt.Errorf("there is no segment yet; \"crawler generate\" makes one")
	}
	if all {
		var ids []string
		for _, m := range metas {
			ids = append(ids, m.ID)
		}
		return ids, nil
	}
	return []string{metas[len(metas)-1].ID}, nil
}

func fetchCommand() *command {
	return segmentCommand("fetch", "Fetch a segment's URLs", true, func(ctx context.Context, s *session, seg string) (stepDone, error) {
		stop, over := s.gently()
		defer over()
		shown := watchProgress(s.out, s.cfg, s.cycle.Progress)
		rep, err := s.cycle.Fetch(ctx, seg, stop)
		shown()
		return reported(rep), err
	})
}

func parseCommand() *command {
	return segmentCommand("parse", "Parse a segment's fetched pages", false, func(ctx context.Context, s *session, seg string) (stepDone, error) {
		rep, err := s.cycle.Parse(ctx, seg)
		return reported(rep), err
	})
}

func updatedbCommand() *command {
	return segmentCommand("updatedb", "Apply a segment to the CrawlDB", false, func(ctx context.Context, s *session, seg string) (stepDone, error) {
		rep, err := s.cycle.Update(ctx, seg)
		return reported(rep), err
	})
}

func invertlinksCommand() *command {
	return segmentCommand("invertlinks", "Turn a segment's links into inlinks", false, func(ctx context.Context, s *session, seg string) (stepDone, error) {
		rep, err := s.cycle.Invert(ctx, seg)
		return stepDone{facts: rep, report: func(w io.Writer) { printInverted(w, rep) }}, err
	})
}

// wholeCommand makes a command that works on the whole crawl.
func wholeCommand(name, short string, f func(ctx context.Context, s *session) (cycle.Report, error)) *command {
	return &command{
		name: name, short: short, group: "Single steps", nutch: true,
		prepare: func(inv *invocation) func(context.Context, []string) error {
			return func(ctx context.Context, args []string) error {
				inv.places(args)
				return inv.stoppable(ctx, func(ctx context.Context, s *session) error {
					rep, err := f(ctx, s)
					if err != nil {
						return err
					}
					return inv.print(rep, func(w io.Writer) { printStep(w, &rep) })
				})
			}
		},
	}
}

func dedupCommand() *command {
	c := wholeCommand("dedup", "Mark pages of equal content as duplicates", func(ctx context.Context, s *session) (cycle.Report, error) {
		return s.cycle.Dedup(ctx)
	})
	prepare := c.prepare
	c.prepare = func(inv *invocation) func(context.Context, []string) error {
		group := inv.fs.String("group", "", "`WHERE` to look for them: none (everywhere), host or domain (only on the same one; default: dedup.group)")
		order := inv.fs.String("compare-order", "", "what decides which one stays: `LIST` of score, fetchTime, urlLength, httpsOverHttp (default: dedup.compare_order)")
		run := prepare(inv)
		return func(ctx context.Context, args []string) error {
			if *group != "" {
				inv.sets = append(inv.sets, "dedup.group="+*group)
			}
			if *order != "" {
				inv.sets = append(inv.sets, "dedup.compare_order="+*order)
			}
			return run(ctx, args)
		}
	}
	return c
}
