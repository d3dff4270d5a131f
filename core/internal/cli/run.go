package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/pprof"
	"strings"

	"github.com/hashicorp/go-hclog"

	"github.com/gonutch/crawler/core/internal/config"
	"github.com/gonutch/crawler/core/internal/crawl"
	"github.com/gonutch/crawler/core/internal/cycle"
	"github.com/gonutch/crawler/core/internal/db/transition"
	"github.com/gonutch/crawler/core/internal/step/inject"
	"github.com/gonutch/crawler/core/internal/store"
)

// session is an open crawl with its cycle, as the writing commands need it.
type session struct {
	inv   *invocation
	cfg   *config.Config
	crawl *crawl.Crawl
	cycle *cycle.Cycle
	log   hclog.Logger
	out   *lineWriter // logs and progress share the terminal
}

// open reads the configuration and opens the crawl for writing.
func (inv *invocation) open(ctx context.Context, cfg *config.Config, mustExist bool) (*session, error) {
	s := &session{inv: inv, cfg: cfg, out: newLineWriter(inv.app.Stderr, inv.app.Terminal)}
	s.log = newLogger(cfg, s.out)
	c, err := crawl.Open(ctx, crawl.Options{
		Config: cfg, Builtins: inv.app.Builtins, Log: s.log, Command: "crawler " + inv.cmd, MustExist: mustExist, Version: inv.app.Version,
	})
	if err != nil {
		return nil, asConfig(err)
	}
	s.crawl = c
	settings, err := cycle.LoadConfig(cfg)
	if err == nil {
		s.cycle, err = cycle.New(c, settings)
	}
	if err != nil {
		return nil, errors.Join(err, c.Close(context.WithoutCancel(ctx)))
	}
	return s, nil
}

// close closes everything; it works after ctx has ended, too.
func (s *session) close(ctx context.Context) error {
	return errors.Join(s.cycle.Close(), s.crawl.Close(context.WithoutCancel(ctx)))
}

func newLogger(cfg *config.Config, w io.Writer) hclog.Logger {
	return hclog.New(&hclog.LoggerOptions{
		Name: "crawler", Level: hclog.LevelFromString(cfg.String("log.level")), Output: w, JSONFormat: cfg.String("log.format") == "json",
		TimeFormat: "15:04:05.000",
	})
}

// print writes v as JSON, or calls text.
func (inv *invocation) print(v any, text func(io.Writer)) error {
	if !inv.json {
		text(inv.app.Stdout)
		return nil
	}
	e := json.NewEncoder(inv.app.Stdout)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

func runCommandSpec() *command {
	return &command{
		name: "run", short: "Crawl in rounds: inject, generate, fetch, parse, update, invert, dedup, index", group: "Crawling",
		prepare: func(inv *invocation) func(context.Context, []string) error {
			var seeds multi
			var tw testwebFlags
			rounds := inv.fs.Int("rounds", 0, "rounds to run (default: cycle.rounds; -1 runs until nothing is left to do)")
			topN := inv.fs.Int("top-n", 0, "URLs of a round at most (default: generate.top_n)")
			adddays := inv.fs.Float64("adddays", 0, "take URLs that become due within this many days, too; one round unless --rounds says more")
			inv.fs.Var(&seeds, "seeds", "`FILE`, folder, URL or - to inject first; repeatable")
			maps := inv.fs.String("sitemaps-from-hostdb", "", "read the sitemaps of known hosts: `never`, once or always (default: sitemap.from_hostdb)")
			simulated := inv.fs.Bool("testweb", false, "crawl a simulated web that this process serves, instead of the real one")
			tw.register(inv.fs, "testweb-")
			profile := inv.fs.String("cpuprofile", "", "write a CPU profile of the core to `FILE`")
			return func(ctx context.Context, args []string) (err error) {
				if *profile != "" {
					stop, err := startProfile(*profile)
					if err != nil {
						return err
					}
					defer func() { err = errors.Join(err, stop()) }()
				}
				if len(args) > 0 {
					return usagef("unexpected argument %q; seeds are given with --seeds", args[0])
				}
				inv.override("cycle.rounds", *rounds)
				inv.override("generate.top_n", *topN)
				if *maps != "" {
					inv.sets = append(inv.sets, "sitemap.from_hostdb="+*maps)
				}
				if *simulated {
					stop, err := inv.serveTestweb(ctx, &tw, &seeds)
					if err != nil {
						return err
					}
					defer stop()
				}
				return inv.crawl(ctx, seeds, *adddays)
			}
		},
	}
}

// startProfile writes a CPU profile of this process until stop is called.
func startProfile(file string) (stop func() error, err error) {
	f, err := os.Create(file)
	if err != nil {
		return nil, fmt.Errorf("write profile: %w", err)
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() error {
		pprof.StopCPUProfile()
		return f.Close()
	}, nil
}

// override turns an option into the setting it stands for.
func (inv *invocation) override(key string, v int) {
	if v != 0 {
		inv.sets = append(inv.sets, fmt.Sprintf("%s=%d", key, v))
	}
}

// crawl is "crawler run".
func (inv *invocation) crawl(ctx context.Context, seeds []string, adddays float64) error {
	cfg, err := inv.load()
	if err != nil {
		return err
	}
	if err := cfg.RequireAgent(); err != nil {
		return err
	}
	list, err := readSeeds(seeds, inv.app.Stdin)
	if err != nil {
		return err
	}
	if err := needSeeds(cfg, len(list)); err != nil {
		return err
	}
	s, err := inv.open(ctx, cfg, len(list) == 0)
	if err != nil {
		return err
	}
	s.cycle.SetAddDays(adddays)
	if adddays > 0 && cfg.String("cycle.rounds") == "-1" {
		s.cycle.SetRounds(1) // what was just fetched is due again within the days, for ever
	}
	err = s.run(ctx, list)
	return errors.Join(err, s.close(ctx))
}

// needSeeds says what to do when there is neither a crawl nor a seed.
func needSeeds(cfg *config.Config, n int) error {
	dir := cfg.String("crawl.dir")
	exists, err := store.Exists(store.OSFS(), dir)
	if err != nil || exists || n > 0 {
		return err
	}
	return usagef("there is no crawl in %s yet and no seeds are given: name some with --seeds FILE or --seeds URL", dir)
}

func readSeeds(sources []string, stdin io.Reader) ([]inject.Seed, error) {
	if len(sources) == 0 {
		return nil, nil
	}
	return inject.Read(sources, stdin)
}

func (s *session) run(ctx context.Context, seeds []inject.Seed) error {
	if err := s.crawl.StartPlugins(ctx, s.cfg.String("indexer.enabled") == "true"); err != nil {
		return asConfig(err)
	}
	if len(seeds) > 0 {
		rep, err := s.inject(ctx, seeds, transition.InjectNew, false)
		if err != nil {
			return err
		}
		if !s.inv.json {
			printInjected(s.inv.app.Stderr, rep)
		}
	}
	runner := s.cycle.NewRunner()
	done := make(chan struct{})
	defer close(done)
	go func() {
		select {
		case <-s.inv.app.Interrupts:
			fmt.Fprintln(s.out, "stopping: requests under way are finished and committed (Ctrl-C again stops at once)")
			runner.Stop()
		case <-done:
		}
	}()
	defer s.serve(ctx, runner, false)()
	stop := watchProgress(s.out, s.cfg, runner.Progress)
	rep, err := runner.Run(ctx)
	stop()
	if err != nil && ctx.Err() != nil {
		err = errors.New("stopped at once; what was not committed is done again by the same command")
	}
	if err == nil || !idle(&rep) {
		if perr := s.inv.print(rep, func(w io.Writer) { printReport(w, &rep) }); perr != nil {
			return errors.Join(err, perr)
		}
	}
	if err == nil && idle(&rep) && rep.Stopped == "" {
		return errNothing
	}
	return err
}

// inject puts seeds into the CrawlDB.
func (s *session) inject(ctx context.Context, seeds []inject.Seed, mode transition.InjectMode, skipInvalid bool) (inject.Report, error) {
	return s.cycle.Inject(ctx, seeds, mode, skipInvalid)
}

func printInjected(w io.Writer, r inject.Report) {
	fmt.Fprintf(w, "seeds: %d injected", r.Added)
	for _, p := range []struct {
		n    int
		what string
	}{{r.Updated, "updated"}, {r.Overwritten, "overwritten"}, {r.Ignored, "known already"}, {len(r.Rejected), "rejected"}} {
		if p.n > 0 {
			fmt.Fprintf(w, ", %d %s", p.n, p.what)
		}
	}
	fmt.Fprintln(w)
	for i, x := range r.Rejected {
		if i == 20 {
			fmt.Fprintf(w, "  and %d more\n", len(r.Rejected)-20)
			break
		}
		fmt.Fprintf(w, "  rejected %s (%s): %s: %s\n", x.URL, x.Where, x.Plugin, x.Reason)
	}
}

// positionalDir takes a crawl directory given as Nutch gives it: crawl/crawldb,
// crawl/segments and so on name the crawl that holds them.
func (inv *invocation) positionalDir(arg string) {
	switch base := filepath.Base(strings.TrimRight(arg, "/")); base {
	case "crawldb", "linkdb", "segments", "hostdb":
		arg = filepath.Dir(strings.TrimRight(arg, "/"))
	}
	if inv.dir == "" {
		inv.dir = arg
	}
}

func isDir(p string) bool {
	st, err := os.Stat(p)
	return err == nil && st.IsDir()
}
