package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/gonutch/crawler/core/internal/backup"
	"github.com/gonutch/crawler/core/internal/query"
)

func backupCommand() *command {
	return &command{
		name: "backup", args: "FOLDER | FILE.tar", group: "Single steps",
		short: "Copy the crawl as of one moment, also while it runs",
		prepare: func(inv *invocation) func(context.Context, []string) error {
			return func(ctx context.Context, args []string) error {
				if len(args) != 1 {
					return usagef("name one folder, or file that ends in .tar, that is not there yet")
				}
				to, err := filepath.Abs(args[0])
				if err != nil {
					return err
				}
				return inv.copying(ctx, "backup", "saved", func(ctx context.Context, told func(backup.Progress)) (rep backup.Report, err error) {
					err = inv.read(ctx, func(ctx context.Context, t query.Target) (err error) {
						rep, err = query.Backup(ctx, t, query.BackupQuery{To: to, Program: "crawler " + inv.app.Version}, told)
						return err
					})
					return rep, err
				})
			}
		},
	}
}

func restoreCommand() *command {
	return &command{
		name: "restore", args: "BACKUP", group: "Single steps",
		short: "Make a crawl directory of a backup, when all of it is as it was saved",
		prepare: func(inv *invocation) func(context.Context, []string) error {
			check := inv.fs.Bool("check", false, "only compare the backup with its checksums")
			return func(ctx context.Context, args []string) error {
				if len(args) != 1 {
					return usagef("name one backup: a folder or a tar file")
				}
				cfg, err := inv.load()
				if err != nil {
					return err
				}
				if *check {
					return inv.copying(ctx, "check", "sound", func(ctx context.Context, told func(backup.Progress)) (backup.Report, error) {
						return backup.Check(ctx, args[0], told)
					})
				}
				return inv.copying(ctx, "restore", "restored", func(ctx context.Context, told func(backup.Progress)) (backup.Report, error) {
					return backup.Restore(ctx, args[0], cfg.String("crawl.dir"), told)
				})
			}
		},
	}
}

// copying runs f until it is done or interrupted, shows how far it is, and
// prints what it did.
func (inv *invocation) copying(ctx context.Context, what, done string, f func(context.Context, func(backup.Progress)) (backup.Report, error)) error {
	ctx, cancel := inv.interruptible(ctx)
	defer cancel()
	out := newLineWriter(inv.app.Stderr, inv.app.Terminal)
	said := time.Now()
	rep, err := f(ctx, func(p backup.Progress) {
		text := fmt.Sprintf("%s: %s, %s", what, plural(int64(p.Files), "file"), size(p.Bytes))
		if p.Total > 0 {
			text += fmt.Sprintf(" of %s (%d%%)", size(p.Total), 100*p.Bytes/p.Total)
		}
		if out.terminal {
			out.show(text)
		} else if now := time.Now(); now.Sub(said) >= 10*time.Second {
			said = now
			_, _ = fmt.Fprintln(out, text) // as in table
		}
	})
	out.clear()
	if err != nil {
		if ctx.Err() != nil {
			return errors.New("stopped; nothing was left behind")
		}
		return err
	}
	return inv.print(rep, func(w io.Writer) {
		p := reportPrinter{w: w}
		_, _ = fmt.Fprintf(w, "%s\n", rep.Path)
		p.line(done, "%s, %s, as of %s", plural(int64(rep.Files), "file"), size(rep.Bytes), moment(rep.Made))
		if rep.Linked > 0 {
			p.line("linked", "%s of it with the crawl's own files; copy the folder to another disk, or name one there", size(rep.Linked))
		}
		if what == "restore" {
			p.line("index", "is not part of a backup; \"crawler reindex\" fills it")
		}
	})
}
