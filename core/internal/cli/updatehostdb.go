package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/gonutch/crawler/core/internal/step/hostupdate"
	"github.com/gonutch/crawler/core/internal/step/scoreupdate"
	"github.com/gonutch/crawler/core/internal/urlkey"
	"github.com/gonutch/crawler/core/internal/webgraph"
	"github.com/gonutch/crawler/sdk/model"
)

func updatehostdbCommand() *command {
	return &command{
		name: "updatehostdb", short: "Look hosts' addresses up, gather figures of their records, take scores", group: "Single steps", nutch: true,
		prepare: func(inv *invocation) func(context.Context, []string) error {
			var x hostChecks
			inv.fs.BoolVar(&x.all, "check-all", false, "look up new, known and failed hosts")
			inv.fs.BoolVar(&x.isNew, "check-new", false, "look up hosts that were not looked up before, and no others that are not named")
			inv.fs.BoolVar(&x.known, "check-known", false, "the same with those that had an address")
			inv.fs.BoolVar(&x.failed, "check-failed", false, "the same with those that had none")
			inv.fs.BoolVar(&x.none, "no-check", false, "look up none")
			inv.fs.BoolVar(&x.force, "force", false, "look up whatever the last look-up (hostdb.force_check)")
			inv.fs.BoolVar(&x.filter, "filter", false, "count only URLs that pass the URL filters (hostdb.url_filter)")
			inv.fs.BoolVar(&x.normalize, "normalize", false, "count URLs under the host of their normal form (hostdb.url_normalize)")
			limit := inv.fs.Int("url-limit", 0, "leave hosts with fewer than `N` URLs as they are (hostdb.url_limit)")
			top := inv.fs.String("tophosts", "", "give hosts the scores in `FILE`: lines of host, tab, score")
			score := inv.fs.String("score", "", "give hosts their score `NAME` in the link graph: linkrank, pagerank (so that the mean is 1) or harmonic; --tophosts comes before it")
			g := inv.graphFlags()
			dir := inv.fs.String("crawldb", "", "`FOLDER` of the CrawlDB, as Nutch has it; --dir names the crawl, too")
			_ = inv.fs.String("hostdb", "", "as Nutch has it; `PATH` does not matter")
			return func(ctx context.Context, args []string) error {
				if *dir != "" {
					inv.positionalDir(*dir)
				}
				if *score != "" && !slices.Contains(webgraph.Names(), *score) {
					return usagef("--score: there is no %q%s", *score, meant(*score, webgraph.Names()))
				}
				inv.override("hostdb.url_limit", *limit)
				top, err := topHosts(*top)
				if err != nil {
					return err
				}
				if err := g.load(args); err != nil {
					return err
				}
				if *score == "" {
					return inv.updateHosts(ctx, named(top, nil), x.apply)
				}
				return g.open(true, func(w *webgraph.Graph) error {
					ranked, err := ranksOf(w, *score, g.settings.Clear)
					if err != nil {
						return err
					}
					return inv.updateHosts(ctx, named(top, ranked), x.apply)
				})
			}
		},
	}
}

// named are the scores that scores has, and else those of others; both may be nil.
func named(scores map[string]int64, others hostupdate.Scores) hostupdate.Scores {
	return func(host string) (int64, bool, error) {
		if n, ok := scores[host]; ok || others == nil {
			return n, ok, nil
		}
		return others(host)
	}
}

// ranksOf are the scores of hosts in a graph of hosts. Those that are not in it get the score missing.
func ranksOf(w *webgraph.Graph, score string, missing float64) (hostupdate.Scores, error) {
	if _, err := w.ScoresByKey(score); err != nil {
		return nil, err
	}
	factor := 1.0
	if score == webgraph.PageRank {
		factor = float64(w.Meta.Nodes)
	}
	return func(host string) (int64, bool, error) {
		node, ok, err := w.Find(string(urlkey.HostRange(host).Lo))
		if err != nil || !ok {
			return scoreupdate.Micro(missing), true, err
		}
		v, err := w.Score(score, node)
		return scoreupdate.Micro(v * factor), true, err
	}, nil
}

// hostChecks are the options that say which hosts are looked up, and which URLs count; without one the
// settings do.
type hostChecks struct{ all, isNew, known, failed, none, force, filter, normalize bool }

func (x *hostChecks) apply(c *hostupdate.Config) {
	c.Force, c.Filter, c.Normalize = c.Force || x.force, c.Filter || x.filter, c.Normalize || x.normalize
	if x.all || x.isNew || x.known || x.failed || x.none {
		c.New, c.Known, c.Failed = x.all || x.isNew, x.all || x.known, x.all || x.failed
	}
}

func (inv *invocation) updateHosts(ctx context.Context, scores hostupdate.Scores, change func(*hostupdate.Config)) error {
	ctx, cancel := inv.interruptible(ctx)
	defer cancel()
	return inv.with(ctx, func(ctx context.Context, s *session) error {
		rep, err := s.cycle.UpdateHosts(ctx, change, scores, s.ofRecords(ctx, "update the HostDB"))
		if err != nil {
			if ctx.Err() != nil {
				return errors.New("stopped; what was committed stays, and the same command begins anew")
			}
			return err
		}
		return inv.print(rep, func(w io.Writer) { printHosts(w, &rep) })
	})
}

func printHosts(w io.Writer, r *hostupdate.Report) {
	_, _ = fmt.Fprintf(w, "%s\n", plural(r.Hosts, "host")) // as in table
	p := reportPrinter{w: w}
	p.line("looked up", "%s of them; %s not asked for or not due", number(r.Checked), number(r.NotEligible))
	p.some([]countLine{
		{r.NewKnown, "new", "%s have an address"},
		{r.NewUnknown, "", "%s have none"},
		{r.Known, "known", "%s still have an address"},
		{r.Unknown, "failed", "%s have none"},
		{r.Rediscovered, "found again", "%s had none before"},
		{r.Purged, "given up", "%s failed hostdb.purge_failed_hosts_threshold times; their URLs are held"},
		{r.Undecided, "undecided", "%s because the resolver did not answer"},
		{r.Scored, "scores", "%s were given a score"},
		{r.BelowLimit, "left out", "%s with fewer URLs than hostdb.url_limit"},
		{r.Filtered, "rejected", "%s URLs, by the filters or normalizers"},
		{r.Moved, "moved", "%s URLs, to the host of their normal form"},
		{r.Values, "not counted", "%s values of text fields, which have too many"},
	})
}

// topHosts reads lines of host, tab, score. A file named "" has none.
func topHosts(name string) (scores map[string]int64, err error) {
	if name == "" {
		return nil, nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("--tophosts: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	scores = map[string]int64{}
	sc := bufio.NewScanner(f)
	for n := 1; sc.Scan(); n++ {
		line := strings.TrimSpace(strings.TrimPrefix(sc.Text(), "\ufeff"))
		if line == "" || line[0] == '#' {
			continue
		}
		host, text, _ := strings.Cut(line, "\t")
		v, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
		if err != nil || !(v >= -1e12 && v <= 1e12) || strings.TrimSpace(host) == "" {
			return nil, usagef("%s:%d: %.80q: want a host, a tab and its score", name, n, line)
		}
		scores[strings.ToLower(strings.TrimSpace(host))] = int64(v * model.Micro)
	}
	return scores, sc.Err()
}
