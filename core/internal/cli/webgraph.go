package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gonutch/crawler/core/internal/config"
	"github.com/gonutch/crawler/core/internal/query"
	"github.com/gonutch/crawler/core/internal/step/scoreupdate"
	"github.com/gonutch/crawler/core/internal/urlkey"
	"github.com/gonutch/crawler/core/internal/webgraph"
	"github.com/gonutch/crawler/sdk/setting"
)

// linkSettings is section link.
type linkSettings struct {
	IgnoreInternalHost   bool         `hcl:"ignore_internal_host"`
	IgnoreInternalDomain bool         `hcl:"ignore_internal_domain"`
	LimitPage            bool         `hcl:"ignore_limit_page"`
	LimitDomain          bool         `hcl:"ignore_limit_domain"`
	DeleteGone           bool         `hcl:"delete_gone"`
	Iterations           int          `hcl:"analyze_num_iterations"`
	Tolerance            float64      `hcl:"analyze_tolerance"`
	Initial              float64      `hcl:"analyze_initial_score"`
	Damping              float64      `hcl:"analyze_damping_factor"`
	Dangling             bool         `hcl:"analyze_dangling"`
	Memory               setting.Size `hcl:"analyze_memory"`
	Clear                float64      `hcl:"score_updater_clear_score"`
}

// graphFlags are what the commands on the link graph have in common.
type graphFlags struct {
	inv      *invocation
	dir      string
	cfg      *config.Config
	settings linkSettings
}

func (inv *invocation) graphFlags() *graphFlags {
	g := &graphFlags{inv: inv}
	inv.fs.StringVar(&g.dir, "webgraphdb", "", "`FOLDER` of the link graph (default: webgraph in the crawl directory)")
	return g
}

// load reads the configuration; args must be empty.
func (g *graphFlags) load(args []string) (err error) {
	if len(args) > 0 {
		return usagef("unexpected argument %q", args[0])
	}
	if g.cfg, err = g.inv.load(); err != nil {
		return err
	}
	if g.dir == "" {
		g.dir = filepath.Join(g.cfg.String("crawl.dir"), "webgraph")
	}
	return g.cfg.Decode("link", &g.settings)
}

// open opens the graph of pages, or of hosts, until f ends.
func (g *graphFlags) open(hosts bool, f func(*webgraph.Graph) error) error {
	dir := g.dir
	if hosts {
		dir = webgraph.HostDir(dir)
	}
	w, err := webgraph.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f(w), w.Close())
}

// told returns a function that shows how far a command is: in place on a terminal,
// else as a line every ten seconds. end takes it off the screen.
func (inv *invocation) told() (tell func(format string, args ...any), end func()) {
	out := newLineWriter(inv.app.Stderr, inv.app.Terminal)
	every := 10 * time.Second
	if out.terminal {
		every = redrawEvery
	}
	last := time.Now()
	return func(format string, args ...any) {
		now := time.Now()
		if now.Sub(last) < every {
			return
		}
		last = now
		line := fmt.Sprintf(format, args...)
		if out.terminal {
			out.show(cut(line, out.columns()-1))
		} else {
			_, _ = fmt.Fprintln(out, line)
		}
	}, func() { out.show() }
}

func webgraphCommand() *command {
	return &command{
		name: "webgraph", short: "Build the link graph of pages and hosts from the links of the crawled pages", group: "Link graph", nutch: true,
		prepare: func(inv *invocation) func(context.Context, []string) error {
			g := inv.graphFlags()
			var segs multi
			inv.fs.Var(&segs, "segment", "only pages whose content is in this `SEGMENT`; repeatable (default: all segments)")
			inv.fs.Func("segmentDir", "`FOLDER` of the segments of a crawl, as Nutch has it; --dir names the crawl, too", func(v string) error {
				inv.positionalDir(v)
				return nil
			})
			return func(ctx context.Context, args []string) error {
				inv.segmentPaths(segs)
				if err := g.load(args); err != nil {
					return err
				}
				ctx, stop := inv.interruptible(ctx)
				defer stop()
				meta, err := g.build(ctx, segs)
				if err != nil {
					return err
				}
				if err := inv.print(meta, func(w io.Writer) { writeGraph(w, &meta) }); err != nil {
					return err
				}
				if meta.Nodes == 0 {
					return errNothing
				}
				return nil
			}
		},
	}
}

func (g *graphFlags) build(ctx context.Context, segs []string) (meta webgraph.Meta, err error) {
	tell, end := g.inv.told()
	defer end()
	s := &g.settings
	err = g.inv.read(ctx, func(ctx context.Context, t query.Target) error {
		b, err := webgraph.NewBuilder(g.dir, webgraph.Options{
			Rules: webgraph.Rules{
				IgnoreInternalHost: s.IgnoreInternalHost, IgnoreInternalDomain: s.IgnoreInternalDomain,
				LimitPage: s.LimitPage, LimitDomain: s.LimitDomain, DeleteGone: s.DeleteGone,
			},
			Memory: min(int64(s.Memory), 256<<20), Now: time.Now(),
			Progress: func(phase string, n int64) {
				if n%1024 == 0 {
					tell("webgraph: %s %s", phase, number(n))
				}
			},
		})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, b.Close()) }()
		err = query.Each(ctx, t, query.AllPageLinks(), query.PageLinksQuery{Segments: segs}, func(p query.PageLinks) error {
			key := urlkey.FromURL(p.URL)
			if p.Gone {
				return b.AddGone(key)
			}
			links := make([]urlkey.Key, len(p.Links))
			for i, l := range p.Links {
				links[i] = urlkey.FromURL(l)
			}
			return b.AddPage(key, links)
		})
		if err != nil {
			return err
		}
		meta, err = b.Finish(ctx)
		return err
	})
	return meta, err
}

func writeGraph(w io.Writer, m *webgraph.Meta) {
	out := table{w: w}
	out.fact("pages with content", number(m.Pages))
	out.fact("nodes", number(int64(m.Nodes)))
	out.fact("links", number(int64(m.Links))) //nolint:gosec // below 2^63
	if m.Counted != m.Links {
		out.fact("  counted by LinkRank", number(int64(m.Counted))) //nolint:gosec // as above
	}
	out.fact("nodes without outlinks", number(int64(m.Dangling)))
	if n := total(m.Dropped); n > 0 {
		out.fact("links left out", fmt.Sprintf("%s: %s", number(n), counts(m.Dropped, 10)))
	}
	out.fact("hosts", number(int64(m.Hosts)))
	out.fact("links between hosts", number(int64(m.HostLinks))) //nolint:gosec // as above
}

// ranked is what was computed of one graph.
type ranked struct {
	Graph string `json:"graph"` // pages or hosts
	Score string `json:"score"`
	webgraph.ScoreInfo
	Skipped string `json:"skipped,omitempty"` // why it was not computed
}

func linkrankCommand() *command {
	return &command{
		name: "linkrank", short: "Rank pages and hosts of the link graph: LinkRank, PageRank, harmonic centrality", group: "Link graph", nutch: true,
		prepare: func(inv *invocation) func(context.Context, []string) error {
			g := inv.graphFlags()
			scores := inv.fs.String("scores", "", "comma-separated: linkrank, pagerank, harmonic (default: all that memory allows)")
			only := inv.fs.String("graph", "", "pages or hosts (default: both)")
			return func(ctx context.Context, args []string) error {
				names := webgraph.Names()
				if *scores != "" {
					names = strings.Split(*scores, ",")
				}
				for _, n := range names {
					if !slices.Contains(webgraph.Names(), n) {
						return usagef("--scores: there is no %q%s", n, meant(n, webgraph.Names()))
					}
				}
				if *only != "" && *only != "pages" && *only != "hosts" {
					return usagef("--graph %q: want pages or hosts", *only)
				}
				if err := g.load(args); err != nil {
					return err
				}
				ctx, stop := inv.interruptible(ctx)
				defer stop()
				out, err := g.rank(ctx, names, *only, *scores != "")
				if err != nil {
					return err
				}
				return inv.print(out, func(w io.Writer) { writeRanked(w, out) })
			}
		},
	}
}

// rank computes the scores; wanted says that the user named them.
func (g *graphFlags) rank(ctx context.Context, names []string, only string, wanted bool) (out []ranked, err error) {
	if err := g.open(false, func(*webgraph.Graph) error { return nil }); err != nil {
		return nil, err
	}
	unlock, err := webgraph.Lock(g.dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	tell, end := g.inv.told()
	defer end()
	s := &g.settings
	o := webgraph.RankOptions{
		Iterations: s.Iterations, Initial: s.Initial, Damping: s.Damping, Tolerance: s.Tolerance, DropDangling: !s.Dangling, Memory: int64(s.Memory), Now: time.Now(),
	}
	for _, of := range []string{"pages", "hosts"} {
		if only != "" && only != of {
			continue
		}
		err := g.open(of == "hosts", func(w *webgraph.Graph) error {
			for _, name := range names {
				o.Progress = func(i int, change float64) {
					tell("linkrank: %s of %s: iteration %d, change %.3g", name, of, i, change)
				}
				info, err := w.Rank(ctx, name, o)
				r := ranked{Graph: of, Score: name, ScoreInfo: info}
				if less := (webgraph.TooLittleMemory{}); errors.As(err, &less) && !wanted {
					r.Skipped, err = less.Error(), nil
				}
				if err != nil {
					return err
				}
				out = append(out, r)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

func writeRanked(w io.Writer, list []ranked) {
	out := table{w: w, width: 20}
	for _, r := range list {
		text := r.Skipped
		if text == "" {
			text = fmt.Sprintf("%s; %s", r.Method, plural(int64(r.Iterations), "iteration"))
			if !r.Converged {
				text += fmt.Sprintf(", not settled yet: the last one changed %.2g of all", r.Change)
			}
			if r.Error > 0 {
				text += fmt.Sprintf(", counts are off by about %.0f %%", 100*r.Error)
			}
		}
		out.fact(r.Score+" of "+r.Graph, text)
	}
}

func scoreupdaterCommand() *command {
	return &command{
		name: "scoreupdater", short: "Write scores of the link graph into the CrawlDB", group: "Link graph", nutch: true,
		prepare: func(inv *invocation) func(context.Context, []string) error {
			g := inv.graphFlags()
			score := inv.fs.String("score", webgraph.LinkRank, "linkrank, pagerank (so that the mean is 1) or harmonic")
			inv.fs.Func("crawldb", "`FOLDER` of the CrawlDB, as Nutch has it; --dir names the crawl, too", func(v string) error {
				inv.positionalDir(v)
				return nil
			})
			return func(ctx context.Context, args []string) error {
				if len(args) == 1 {
					inv.positionalDir(args[0])
					args = nil
				}
				if !slices.Contains(webgraph.Names(), *score) {
					return usagef("--score: there is no %q%s", *score, meant(*score, webgraph.Names()))
				}
				if err := g.load(args); err != nil {
					return err
				}
				ctx, stop := inv.interruptible(ctx)
				defer stop()
				return g.open(false, func(w *webgraph.Graph) error { return g.update(ctx, w, *score) })
			}
		},
	}
}

func (g *graphFlags) update(ctx context.Context, w *webgraph.Graph, score string) error {
	next, err := w.ScoresByKey(score)
	if err != nil {
		return err
	}
	o := scoreupdate.Options{Clear: g.settings.Clear, Factor: 1}
	if score == webgraph.PageRank {
		o.Factor = float64(w.Meta.Nodes)
	}
	return g.inv.with(ctx, func(ctx context.Context, s *session) error {
		o.Progress = s.ofRecords(ctx, "scoreupdater")
		rep, err := s.cycle.UpdateScores(ctx, next, o)
		if err != nil {
			return asConfig(err)
		}
		return g.inv.print(rep, func(w io.Writer) {
			_, _ = fmt.Fprintf(w, "%s looked at: %s with a score, %s without; %s changed\n", plural(rep.URLs, "URL"), number(rep.Ranked), number(rep.Cleared), number(rep.Changed))
			if rep.Unknown > 0 {
				_, _ = fmt.Fprintf(w, "%s of the graph not in the CrawlDB\n", plural(rep.Unknown, "URL"))
			}
			if rep.Failed > 0 {
				_, _ = fmt.Fprintf(w, "%s that a scoring plugin failed on keep their score\n", plural(rep.Failed, "URL"))
			}
		})
	})
}
