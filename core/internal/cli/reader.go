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
		client, err := control.Dial(ctx, dir)
		if err == nil {
			defer client.Close()
			return f(ctx, query.Target{Client: client})
		}
		if !errors.Is(err, control.ErrNotRunning) {
			return err
		}
		c, err := inv.openReader(ctx, cfg)
		if err == nil {
			err = f(ctx, query.Target{Source: &query.Source{Crawl: c, OpensIndex: true}})
			return errors.Join(err, c.Close(context.WithoutCancel(ctx)))
		}
		if errors.Is(err, store.ErrNoCrawl) {
			return fmt.Errorf("there is no crawl in %s; name another directory with --dir, or begin one: crawler run --seeds FILE", dir)
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

func (inv *invocation) openReader(ctx context.Context, cfg *config.Config) (*crawl.Crawl, error) {
	return crawl.Open(ctx, crawl.Options{
		Config: cfg, Builtins: inv.app.Builtins, Log: inv.quietLog(cfg), Command: "crawler " + inv.cmd, MustExist: true, Version: inv.app.Version,
	})
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
