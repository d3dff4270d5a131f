package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/gonutch/crawler/core/internal/config"
	"github.com/gonutch/crawler/core/internal/control"
	"github.com/gonutch/crawler/core/internal/crawl"
	"github.com/gonutch/crawler/core/internal/query"
	"github.com/gonutch/crawler/core/internal/store"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/manifest"
)

// How long a reading command waits, saying so, for a process that has the crawl
// open and does not answer questions: another reading command is done soon.
const (
	readerWait  = 2 * time.Second
	readerRetry = 100 * time.Millisecond
)

// read calls f with whoever answers questions about the crawl: the process that has
// it open, or this one, which opens it for the time of the call.
func (inv *invocation) read(ctx context.Context, f func(context.Context, query.Target) error) error {
	cfg, err := inv.load()
	if err != nil {
		return err
	}
	dir := cfg.String("crawl.dir")
	said := false
	for start := time.Now(); ; {
		err := served(ctx, dir, func(c *control.Client) error { return f(ctx, query.Target{Client: c}) })
		if !errors.Is(err, control.ErrNotRunning) {
			return err
		}
		c, err := inv.openReader(ctx, cfg)
		if err == nil {
			err = f(ctx, query.Target{Source: &query.Source{Crawl: c, OpensIndex: true}})
			return errors.Join(err, c.Close(context.WithoutCancel(ctx)))
		}
		if errors.Is(err, store.ErrNoCrawl) {
			return noCrawl(dir)
		}
		if !errors.Is(err, store.ErrInUse) || time.Since(start) > readerWait {
			return err
		}
		if !said {
			said = true
			fmt.Fprintf(inv.app.Stderr, "crawler %s: waiting up to %s: %v\n", inv.cmd, readerWait, err)
		}
		select {
		case <-time.After(readerRetry):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// served calls f with the process that has the crawl of dir open; the error is
// control.ErrNotRunning when there is none. A process that ends before it has
// answered anything is as good as none: served looks again, for readerWait.
func served(ctx context.Context, dir string, f func(*control.Client) error) error {
	for start := time.Now(); ; {
		c, err := control.Dial(ctx, dir)
		if err != nil {
			return err
		}
		err = f(c)
		c.Close()
		if !fault.Is(err, fault.Shutdown) || c.Answered() || time.Since(start) > readerWait {
			return err
		}
		select {
		case <-time.After(readerRetry):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (inv *invocation) openReader(ctx context.Context, cfg *config.Config) (*crawl.Crawl, error) {
	return crawl.Open(ctx, crawl.Options{
		Config: cfg, Builtins: inv.app.Builtins, Log: inv.quietLog(cfg), Command: "crawler " + inv.cmd, MustExist: true, Version: inv.app.Version,
	})
}

// plugins reads the manifests and chooses plugins, for commands that open no crawl.
func (inv *invocation) plugins(cfg *config.Config) ([]*manifest.Manifest, *config.Choice, error) {
	manifests, choice, err := crawl.Plugins(cfg, inv.app.Builtins, inv.quietLog(cfg))
	return manifests, choice, asConfig(err)
}

// quietLog is the log of a command whose output are facts: it tells of trouble
// only, unless --verbose asks for more.
func (inv *invocation) quietLog(cfg *config.Config) hclog.Logger {
	log := newLogger(cfg, inv.app.Stderr)
	if !inv.verbose && log.GetLevel() < hclog.Warn {
		log.SetLevel(hclog.Warn)
	}
	return log
}
