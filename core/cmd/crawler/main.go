// Command crawler is the whole crawler: core, built-in plugins, and the
// simulated web. It is the only place that knows core and plugins.
package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"runtime/pprof"
	"strconv"
	"syscall"

	"golang.org/x/term"

	"github.com/gonutch/crawler"
	"github.com/gonutch/crawler/core/internal/cli"
	"github.com/gonutch/crawler/core/internal/pluginhost"
	"github.com/gonutch/crawler/plugins"
	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/manifest"
)

// version is set by the build.
var version = "1.0.0-dev"

func main() {
	// A plugin process is this binary too. It is told before anything else is
	// looked at.
	if len(os.Args) == 4 && os.Args[1] == "plugin" && os.Args[2] == "serve" {
		os.Exit(serve(os.Args[3]))
	}
	if len(os.Args) == 5 && os.Args[1] == "plugin" && os.Args[2] == "guard" {
		pluginhost.Guard(os.Stdin, os.Args[3], os.Args[4])
		return
	}
	os.Exit(run())
}

// run runs a command. The first interrupt stops it gently, the second at once.
func run() int {
	// The heap is small against what a commit allocates: collecting half as often
	// saves a tenth of the time. The limit keeps a large crawl in bounds.
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(300)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(320 << 20)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	interrupts := make(chan struct{}, 1)
	go func() {
		<-signals
		interrupts <- struct{}{}
		<-signals
		cancel()
		<-signals
		os.Exit(cli.ExitError)
	}()
	app := &cli.App{
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Environ: os.Environ(),
		Terminal: term.IsTerminal(int(os.Stderr.Fd())), StdoutTerminal: term.IsTerminal(int(os.Stdout.Fd())),
		Defaults: crawler.Defaults(), Builtins: plugins.Builtins(), Version: version, Interrupts: interrupts,
	}
	return cli.Run(ctx, app, os.Args[1:])
}

// serve serves the built-in plugin id until its host is done with it.
func serve(id string) int {
	quoted := []byte(strconv.Quote(id))
	for _, p := range plugins.Builtins() {
		if !bytes.Contains(p.Manifest, quoted) {
			continue // reading a manifest takes longer than all else that a small plugin does at its start
		}
		m, err := manifest.Read("plugin.hcl", p.Manifest)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return cli.ExitError
		}
		if m.ID == id {
			defer profile(id)()
			sdk.Main(p)
			return cli.ExitDone
		}
	}
	fmt.Fprintf(os.Stderr, "crawler: no built-in plugin %q\n", id)
	return cli.ExitUsage
}

// profileDir names the folder that plugin processes write CPU profiles to, each in
// a file of its id. It reaches them when plugin { environment } names it.
const profileDir = "CRAWLER_PROFILE_DIR"

// profile writes a CPU profile until the function it returns is called.
func profile(id string) (stop func()) {
	dir := os.Getenv(profileDir)
	if dir == "" {
		return func() {}
	}
	f, err := os.Create(filepath.Join(dir, id))
	if err == nil {
		err = pprof.StartCPUProfile(f)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "write profile:", err)
		return func() {}
	}
	return func() {
		pprof.StopCPUProfile()
		if err := f.Close(); err != nil {
			fmt.Fprintln(os.Stderr, "write profile:", err)
		}
	}
}
