package cli

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"github.com/gonutch/crawler/core/internal/testweb"
)

// testwebFlags describe a simulated web.
type testwebFlags struct {
	hosts, pages, largest, links, maxPerHost int
	seed                                     uint64
	size, profile                            string
	delay, slow                              time.Duration
}

func (t *testwebFlags) register(fs *flag.FlagSet, prefix string) {
	fs.IntVar(&t.hosts, prefix+"hosts", 50, "hosts of the simulated web")
	fs.IntVar(&t.pages, prefix+"pages", 1000, "pages of the simulated web")
	fs.Uint64Var(&t.seed, prefix+"seed", 1, "everything in the simulated web follows from this number")
	fs.IntVar(&t.largest, prefix+"largest-host", 0, "pages of the largest host (0: 5 % of all)")
	fs.IntVar(&t.links, prefix+"links", 0, "usual number of links on a page (0: by its size)")
	fs.StringVar(&t.size, prefix+"page-size", "", "size of pages: 6KB, 50KB, or as on the real web")
	fs.StringVar(&t.profile, prefix+"profile", "standard", "standard (everything that goes wrong), stable (nothing depends on repeats), plain (only good pages)")
	fs.DurationVar(&t.delay, prefix+"delay", 0, "gap between requests to a host that the simulated web demands and checks")
	fs.IntVar(&t.maxPerHost, prefix+"max-per-host", 1, "requests to a host at a time that it allows")
	fs.DurationVar(&t.slow, prefix+"slow", 0, "longest answer time of slow hosts")
}

func (t *testwebFlags) config(agent string, log io.Writer) (testweb.Config, error) {
	shares, err := testweb.Profile(t.profile)
	if err != nil {
		return testweb.Config{}, usageError{err}
	}
	return testweb.Config{
		Hosts: t.hosts, Pages: t.pages, Seed: t.seed, LargestHost: t.largest, Links: t.links, PageSize: testweb.PageSize(t.size),
		Shares: shares, Agent: agent, SlowDelay: t.slow, Delay: t.delay, MaxPerHost: t.maxPerHost, RetryAfter: time.Second, Log: log,
	}, nil
}

// demoAgent is who crawls the simulated web when nobody says who they are.
const demoAgent = "crawler-demo"

// serveTestweb serves a simulated web inside this process and points the crawl at it
// as its proxy. Politeness is by the delay it demands.
func (inv *invocation) serveTestweb(ctx context.Context, t *testwebFlags, seeds *multi) (stop func(), err error) {
	cfg, err := t.config("", nil)
	if err != nil {
		return nil, err
	}
	web, err := testweb.New(cfg)
	if err != nil {
		return nil, usageError{err}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("serve the simulated web: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := web.Serve(ctx, l); err != nil {
			fmt.Fprintln(inv.app.Stderr, "simulated web:", err)
		}
	})
	host, port, _ := net.SplitHostPort(l.Addr().String())
	// What the user set comes later and wins.
	inv.sets = append(multi{
		"http.proxy_host=" + host, "http.proxy_port=" + port,
		"http.agent_name=" + demoAgent, "http.agent_url=http://host0.test/",
		"fetcher.server_delay=" + t.delay.String(),
	}, inv.sets...)
	if len(*seeds) == 0 {
		*seeds = multi{"http://host0.test/"}
	}
	fmt.Fprintf(inv.app.Stderr, "simulated web: %d pages on %d hosts, served by this process on %s\n", cfg.Pages, cfg.Hosts, l.Addr())
	return func() {
		cancel()
		wg.Wait()
	}, nil
}

func testwebCommand() *command {
	return &command{
		name: "testweb", short: "Serve a simulated web to crawl", group: "Testing",
		prepare: func(inv *invocation) func(context.Context, []string) error {
			var t testwebFlags
			t.register(inv.fs, "")
			listen := inv.fs.String("listen", "127.0.0.1:8888", "`ADDRESS` to serve on, by Host header and as an HTTP proxy")
			agent := inv.fs.String("agent", "", "the crawler's name, for robots.txt files that address it")
			logFile := inv.fs.String("log", "", "`FILE` for one line per request")
			truth := inv.fs.String("truth", "", "write the ground truth as JSON lines to `FILE` and exit")
			return func(ctx context.Context, args []string) error {
				if len(args) > 0 {
					return usagef("unexpected argument %q", args[0])
				}
				return inv.testweb(ctx, &t, *agent, *listen, *logFile, *truth)
			}
		},
	}
}

func (inv *invocation) testweb(ctx context.Context, t *testwebFlags, agent, listen, logFile, truth string) (err error) {
	var log io.Writer
	if logFile != "" {
		f, err := os.Create(logFile)
		if err != nil {
			return fmt.Errorf("request log: %w", err)
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		log = f
	}
	cfg, err := t.config(agent, log)
	if err != nil {
		return err
	}
	web, err := testweb.New(cfg)
	if err != nil {
		return usageError{err}
	}
	if truth != "" {
		return writeTruth(web, truth)
	}
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	fmt.Fprintf(inv.app.Stderr, "simulated web: %d pages on %d hosts at http://%s/ (by Host header or as proxy); start at http://host0.test/\n", cfg.Pages, cfg.Hosts, l.Addr())
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-inv.app.Interrupts:
			cancel()
		case <-ctx.Done():
		}
	}()
	if err := web.Serve(ctx, l); err != nil {
		return err
	}
	rep := web.Report()
	return inv.print(rep, func(w io.Writer) {
		fmt.Fprintf(w, "%d requests for %d URLs of %d hosts\n", rep.Requests, rep.URLs, rep.Hosts)
		fmt.Fprintf(w, "shortest gap on a host: %v (%s); most requests to a host at once: %d\n", rep.MinGap, rep.MinGapHost, rep.MaxConcurrent)
		if rep.Polite() {
			fmt.Fprintln(w, "polite: no rule was broken")
			return
		}
		for kind, n := range rep.ViolationsBy {
			fmt.Fprintf(w, "IMPOLITE: %s: %d\n", kind, n)
		}
		for i, v := range rep.Violations {
			if i == 10 {
				break
			}
			fmt.Fprintf(w, "  %+v\n", v)
		}
	})
}

func writeTruth(web *testweb.Web, file string) (err error) {
	f, err := os.Create(file)
	if err != nil {
		return fmt.Errorf("write ground truth: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	enc := json.NewEncoder(f)
	web.Truth(testweb.Options{}).Each(func(e testweb.Entry) bool {
		err = enc.Encode(e)
		return err == nil
	})
	return err
}
