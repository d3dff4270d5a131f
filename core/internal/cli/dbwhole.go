package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/gonutch/crawler/core/internal/db/crawldb"
	"github.com/gonutch/crawler/core/internal/store"
)

// errInconsistent says that db check found some; it has printed them.
var errInconsistent = errors.New("the CrawlDB is inconsistent; make a backup, then run \"crawler db repair\"")

// checkDB is "crawler db check".
func (inv *invocation) checkDB(ctx context.Context) error {
	ctx, cancel := inv.interruptible(ctx)
	defer cancel()
	return inv.with(ctx, func(ctx context.Context, s *session) error {
		rep, err := s.crawl.DB.Check(ctx)
		switch {
		case err != nil && ctx.Err() != nil:
			return errors.New("stopped before everything was compared")
		case err != nil:
			return err
		}
		err = inv.print(rep, func(w io.Writer) {
			_, _ = fmt.Fprintf(w, "%s and what is derived from them: %s\n", plural(rep.Records, "record"), plural(rep.Total, "problem")) // as in table
			for _, p := range rep.Problems {
				_, _ = fmt.Fprintf(w, "  %s\n", printable(p))
			}
			if more := rep.Total - int64(len(rep.Problems)); more > 0 {
				_, _ = fmt.Fprintf(w, "  and %s more\n", number(more))
			}
		})
		if err == nil && rep.Total > 0 {
			err = errInconsistent
		}
		return err
	})
}

// repairDB is "crawler db repair".
func (inv *invocation) repairDB(ctx context.Context) error {
	ctx, cancel := inv.interruptible(ctx)
	defer cancel()
	return inv.with(ctx, func(ctx context.Context, s *session) error {
		rep, err := s.crawl.DB.Repair(ctx, s.ofRecords(ctx, "repair"))
		if err != nil {
			if ctx.Err() != nil {
				return errors.New("stopped; run the same command again before the crawl is used")
			}
			return err
		}
		return inv.print(rep, func(w io.Writer) {
			_, _ = fmt.Fprintf(w, "%s; the fetch indexes were made anew\n", plural(rep.Records, "record")) // as in table
			p := reportPrinter{w: w}
			p.line("put right", "signatures %s, counters %s, leases %s", number(rep.Signatures), number(rep.Counters), number(rep.Leases))
			if rep.Unreadable > 0 {
				p.line("unreadable", "%s, left as they are; \"crawler db check\" names them", plural(rep.Unreadable, "record"))
			}
		})
	})
}

// rescored is what "crawler db rescore" tells.
type rescored struct {
	Records int64 `json:"records"`
}

// rescoreDB is "crawler db rescore".
func (inv *invocation) rescoreDB(ctx context.Context) error {
	ctx, cancel := inv.interruptible(ctx)
	defer cancel()
	return inv.with(ctx, func(ctx context.Context, s *session) error {
		n, err := s.cycle.Rescore(ctx, s.ofRecords(ctx, "rescore"))
		if err != nil {
			if ctx.Err() != nil {
				return errors.New("stopped; what is marked is scored before the next fetch list is made, the rest when the same command is run again")
			}
			return err
		}
		if err := inv.print(rescored{n}, func(w io.Writer) { _, _ = fmt.Fprintf(w, "%s scored anew\n", plural(n, "record")) }); err != nil {
			return err
		}
		if n == 0 {
			return errNothing
		}
		return nil
	})
}

// upgraded is what "crawler db upgrade" tells.
type upgraded struct {
	From int `json:"from"`
	To   int `json:"to"`
}

// upgradeDB is "crawler db upgrade".
func (inv *invocation) upgradeDB(ctx context.Context) error {
	ctx, cancel := inv.interruptible(ctx)
	defer cancel()
	cfg, err := inv.load()
	if err != nil {
		return err
	}
	out := newLineWriter(inv.app.Stderr, inv.app.Terminal)
	dir, log := cfg.String("crawl.dir"), newLogger(cfg, out)
	told := counting(log, out, "upgrade", "records")
	from, err := store.Upgrade(ctx, dir, store.Options{Command: "crawler db upgrade", Logger: log.Named("store")}, crawldb.UpgradeSteps(func(n int64) { told(n, 0) }))
	out.clear()
	switch {
	case errors.Is(err, store.ErrNoCrawl):
		return noCrawl(dir)
	case err != nil && ctx.Err() != nil:
		return errors.New("stopped; the same command goes on")
	case err != nil:
		return err
	}
	if err := inv.print(upgraded{from, store.FormatVersion}, func(w io.Writer) {
		if from == store.FormatVersion {
			_, _ = fmt.Fprintf(w, "%s is of version %d, which is what this program writes\n", dir, from) // as in table
			return
		}
		_, _ = fmt.Fprintf(w, "%s was of version %d and is of version %d now\n", dir, from, store.FormatVersion)
	}); err != nil {
		return err
	}
	if from == store.FormatVersion {
		return errNothing
	}
	return nil
}
