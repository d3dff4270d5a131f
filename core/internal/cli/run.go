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
	"github.com/gonutch/crawler/core/internal/sheet"
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
	s.log, inv.out = newLogger(cfg, s.out), s.out
	rules, err := sheet.Load(cfg)
	if err != nil {
		return nil, err
	}
	settings, err := cycle.LoadConfig(cfg, rules)
	if err != nil {
		return nil, err
	}
	c, err := crawl.Open(ctx, crawl.Options{
		Config: cfg, Builtins: inv.app.Builtins, Log: s.log, Command: "crawler " + inv.cmd, MustExist: mustExist, Version: inv.app.Version,
	})
	if errors.Is(err, store.ErrNoCrawl) {
		return nil, noCrawl(cfg.String("crawl.dir"))
	}
	if err != nil {
		return nil, asConfig(err)
	}
	s.crawl = c
	if s.cycle, err = cycle.New(c, settings); err != nil {
		return nil, asConfig(errors.Join(err, c.Discard(context.WithoutCancel(ctx))))
	}
	return s, nil
}

// noCrawl says that there is no crawl in a folder.
func noCrawl(dir string) error {
	return fmt.Errorf("there is no crawl in %s; name another directory with --dir, or begin one: crawler run --seeds FILE", dir)
}

// close closes everything; it works after ctx has ended, too.
func (s *session) close(ctx context.Context) error {
	s.out.clear()
	return errors.Join(s.cycle.Close(), s.crawl.Close(context.WithoutCancel(ctx)))
}

// discard is close for a crawl that could not begin: it leaves no new directory behind.
func (s *session) discard(ctx context.Context) error {
	s.out.clear()
	return errors.Join(s.cycle.Close(), s.crawl.Discard(context.WithoutCancel(ctx)))
}

func newLogger(cfg *config.Config, w io.Writer) hclog.Logger {
	return hclog.New(&hclog.LoggerOptions{
		Name: "crawler", Level: hclog.LevelFromString(cfg.String("log.level")), Output: w, JSONFormat: cfg.String("log.format") == "json",
		TimeFormat: "15:04:05.000",
	})
}

// print writes v as JSON, or calls text.
func (inv *invocation) print(v any, text func(io.Writer)) error {
	if inv.out != nil {
		inv.out.clear()
	}
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
			maps := inv.fs.String("sitemaps-from-hostdb", "", "`WHEN` to read the sitemaps of known hosts: never, once or always (default: sitemap.from_hostdb)")
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
				if err := checkDays(*adddays); err != nil {
					return err
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

// checkDays checks the value of --adddays.
func checkDays(days float64) error {
	const century = 36500
	if !(days >= 0 && days <= century) { // neither is true of NaN
		return usagef("--adddays %v: want a number of days from 0 to %d", days, century)
	}
	return nil
}

// override turns an option into the setting it stands for.
func (inv *invocation) override(key string, v int) {
	if v != 0 {
		inv.sets = append(inv.sets, fmt.Sprintf("%s=%d", key, v))
	}
}

// overrideText is override for texts.
func (inv *invocation) overrideText(key, v string) {
	if v != "" {
		inv.sets = append(inv.sets, key+"="+v)
	}
}

// crawl is "crawler run".
func (inv *invocation) crawl(ctx context.Context, seeds []string, adddays float64) (err error) {
	cfg, err := inv.load()
	if err != nil {
		return err
	}
	if err := cfg.RequireAgent(); err != nil {
		return err
	}
	var list *inject.Sources
	if len(seeds) == 0 {
		err = needSeeds(cfg)
	} else if list, err = inv.seeds(ctx, seeds); err == nil {
		defer func() { err = errors.Join(err, list.Close()) }()
	}
	if err != nil {
		return err
	}
	s, err := inv.open(ctx, cfg, list == nil)
	if err != nil {
		return err
	}
	if err := s.crawl.StartPlugins(ctx, cfg.Bool("indexer.enabled")); err != nil {
		return errors.Join(asConfig(err), s.discard(ctx))
	}
	s.cycle.SetAddDays(adddays)
	if adddays > 0 && cfg.Int("cycle.rounds") < 0 {
		s.cycle.SetRounds(1) // what was just fetched is due again within the days, for ever
	}
	err = s.run(ctx, list)
	return errors.Join(err, s.close(ctx))
}

// needSeeds says what to do when there is neither a crawl nor a seed.
func needSeeds(cfg *config.Config) error {
	dir := cfg.String("crawl.dir")
	exists, err := store.Exists(store.OSFS(), dir)
	if err != nil || exists {
		return err
	}
	return usagef("there is no crawl in %s yet and no seeds are given: name some with --seeds FILE or --seeds URL", dir)
}

// seeds opens a seed list that has no faults. The caller closes it.
func (inv *invocation) seeds(ctx context.Context, sources []string) (*inject.Sources, error) {
	ctx, cancel := inv.interruptible(ctx)
	defer cancel()
	list, err := inject.Open(sources, inv.app.Stdin)
	if err != nil {
		return nil, err
	}
	if _, err := list.Check(ctx); err != nil {
		return nil, errors.Join(err, list.Close())
	}
	return list, nil
}

func (s *session) run(ctx context.Context, list *inject.Sources) error {
	if list != nil {
		rep, err := s.inject(ctx, list, inject.Options{Mode: injectMode(s.cfg, false, false)})
		if err != nil {
			return err
		}
		if !s.inv.json {
			printInjected(s.inv.app.Stderr, &rep)
		}
	}
	runner := s.cycle.NewRunner()
	stopping, over := s.gently()
	defer over()
	done := make(chan struct{})
	defer close(done)
	go func() {
		select {
		case <-stopping:
			runner.Stop()
		case <-done:
		}
	}()
	defer s.serve(ctx, runner, false)()
	stop := watchProgress(s.out, s.cfg, runner.Progress)
	rep, err := runner.Run(ctx)
	stop()
	if err != nil && ctx.Err() != nil {
		err = errAtOnce
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

// gently returns what is closed by the first Ctrl-C, which is answered with a line for the user. The
// caller ends the waiting for it by over.
func (s *session) gently() (stop <-chan struct{}, over func()) {
	stopping, done := make(chan struct{}), make(chan struct{})
	go func() {
		select {
		case <-s.inv.app.Interrupts:
			_, _ = fmt.Fprintln(s.out, "stopping: what is under way is finished and committed (Ctrl-C again stops at once)") // as for a log line
			close(stopping)
		case <-done:
		}
	}()
	return stopping, func() { close(done) }
}

// injectMode says what becomes of known seeds: what the options say, or the configuration.
func injectMode(cfg *config.Config, overwrite, update bool) transition.InjectMode {
	switch {
	case overwrite || cfg.Bool("db.injector_overwrite"):
		return transition.InjectOverwrite
	case update || cfg.Bool("db.injector_update"):
		return transition.InjectUpdate
	}
	return transition.InjectNew
}

// inject puts seeds into the CrawlDB.
func (s *session) inject(ctx context.Context, list *inject.Sources, o inject.Options) (inject.Report, error) {
	ctx, cancel := s.inv.interruptible(ctx)
	defer cancel()
	o.Progress = s.countingOf("inject", "seeds", list.Seeds())
	return s.cycle.InjectList(ctx, list, o)
}

func printInjected(w io.Writer, r *inject.Report) {
	fmt.Fprintf(w, "seeds: %d injected", r.Added)
	for _, p := range []struct {
		n    int64
		what string
	}{{r.Updated, "updated"}, {r.Overwritten, "overwritten"}, {r.Ignored, "known already"}, {r.RejectedTotal, "rejected"}} {
		if p.n > 0 {
			fmt.Fprintf(w, ", %d %s", p.n, p.what)
		}
	}
	fmt.Fprintln(w)
	printRejected(w, r)
}

func printRejected(w io.Writer, r *inject.Report) {
	for i, x := range r.Rejected {
		if i == 20 {
			fmt.Fprintf(w, "  and %d more\n", r.RejectedTotal-20)
			break
		}
		fmt.Fprintf(w, "  rejected %s (%s): %s: %s\n", printable(x.URL), x.Where, x.Plugin, printable(x.Reason))
	}
}

// positionalDir takes a crawl directory given as Nutch gives it. One besides --dir, or
// besides another, has to be the same.
func (inv *invocation) positionalDir(arg string) {
	switch dir := crawlOf(arg); {
	case inv.dir == "":
		inv.dir = dir
	case filepath.Clean(crawlOf(inv.dir)) != filepath.Clean(dir):
		inv.place = dir
	}
}

// places takes the arguments of a command that works on one crawl as a whole: places of it,
// such as Nutch's crawl/crawldb and crawl/segments/ID.
func (inv *invocation) places(args []string) {
	for _, a := range args {
		inv.positionalDir(segmentsOf(a))
	}
}

// crawlOf is the crawl directory that Nutch's crawl/crawldb, crawl/segments and so on are in.
func crawlOf(arg string) string {
	switch filepath.Base(strings.TrimRight(arg, "/")) {
	case "crawldb", "linkdb", "segments", "hostdb":
		return filepath.Dir(strings.TrimRight(arg, "/"))
	}
	return arg
}

// segmentsOf turns crawl/segments/ID into crawl/segments and leaves other paths alone.
func segmentsOf(arg string) string {
	if dir := filepath.Dir(strings.TrimRight(arg, "/")); filepath.Base(dir) == "segments" {
		return dir
	}
	return arg
}

func isDir(p string) bool {
	st, err := os.Stat(p)
	return err == nil && st.IsDir()
}
