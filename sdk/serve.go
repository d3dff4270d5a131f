package sdk

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"sync"
	"syscall"

	"github.com/hashicorp/go-hclog"

	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/handshake"
	"github.com/gonutch/crawler/sdk/internal/rpc"
)

// Main serves p and exits: the whole of a plugin's main. Started by hand it
// says what it is and exits with 1.
func Main(p Plugin) {
	if err := Serve(context.Background(), p); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// Serve serves p to the crawler that started this process, until that ends it,
// is gone itself, or ctx ends. It is called at most once in a process, before
// anything else is printed on standard output.
//
// The process survives interrupt, hang-up and terminate, which a terminal or a
// service manager sends to the whole group: the host decides when its plugins
// end. When the host dies, the process kills its own process group. The garbage
// collector runs at GOGC=400 unless the environment says otherwise.
//
// Log through Env.Logger: what is printed on os.Stdout and os.Stderr reaches
// the host's log as plain text at best.
func Serve(ctx context.Context, p Plugin) error {
	if !handshake.Started() {
		return fault.Errorf(fault.Invalid, "this is a plugin for crawler and does nothing by itself: name its folder in plugin.folders, "+
			"or try it with \"crawler plugin check FOLDER\"")
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals) // nobody reads them: they are dropped

	// go-plugin replaces os.Stderr; the logger keeps the original.
	log := hclog.New(&hclog.LoggerOptions{
		Output:     os.Stderr,
		JSONFormat: true,
		Level:      envLevel(),
	})
	s := NewServer(p, log)
	closing := sync.OnceFunc(func() {
		if err := s.Close(); err != nil {
			log.Error("shutdown", "error", err)
		}
	})
	if err := watchLifeline(closing); err != nil {
		return err
	}
	rpc.Serve(ctx, log, s.Register)
	closing()
	return nil
}

func envLevel() hclog.Level {
	if l := hclog.LevelFromString(os.Getenv(handshake.EnvLogLevel)); l != hclog.NoLevel {
		return l
	}
	return hclog.Info
}
