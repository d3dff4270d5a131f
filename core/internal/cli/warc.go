package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/gonutch/crawler/core/internal/export"
	"github.com/gonutch/crawler/core/internal/query"
	"github.com/gonutch/crawler/sdk/setting"
)

func warcCommand() *command {
	return &command{
		name: "warc", args: "export FOLDER [SEGMENT…] | list [SEGMENT…]", group: "Looking", nutch: true,
		short: "Write what segments hold as WARC files, with WAT, WET and CDXJ, or list it",
		prepare: func(inv *invocation) func(context.Context, []string) error {
			var q query.CapturesQuery
			var o export.Options
			inv.fs.BoolVar(&q.Successful, "only-successful", false, "only answers that brought a page (Nutch's -onlySuccessfulResponses)")
			inv.fs.BoolVar(&q.Successful, "only-successful-responses", false, "the same")
			types := mimeFlag(inv)
			inv.fs.BoolVar(&o.WAT, "wat", false, "with export: the metadata of each answer as JSON, in PREFIX-00000.warc.wat.gz")
			inv.fs.BoolVar(&o.WET, "wet", false, "with export: the text of each parsed document, in PREFIX-00000.warc.wet.gz")
			inv.fs.BoolVar(&o.CDXJ, "cdxj", false, "with export: an index sorted by SURT, PREFIX.cdxj")
			inv.fs.StringVar(&o.Prefix, "prefix", "crawl", "with export: how the `NAMES` of files begin")
			most := inv.fs.String("max-file-size", "1GiB", "with export: `SIZE` after which the next file begins")
			return func(ctx context.Context, args []string) error {
				if len(args) == 0 {
					return usagef("say what to do: warc export FOLDER [SEGMENT…], or warc list [SEGMENT…]")
				}
				q.MIMETypes = *types
				verb, args := args[0], args[1:]
				switch {
				case verb == "list":
					inv.segmentPaths(args)
					q.Segments = args
					return inv.listCaptures(ctx, q)
				case verb != "export":
					return noVerb("warc", verb, "export", "list")
				case len(args) == 0:
					return usagef("warc export needs a folder for the files")
				case o.Prefix == "" || filepath.Base(o.Prefix) != o.Prefix:
					return usagef("--prefix %q: want the beginning of a file's name", o.Prefix)
				}
				n, err := setting.ParseSize(*most)
				if err != nil || n <= 0 {
					return usagef("--max-file-size %q: want a size such as 1GiB", *most)
				}
				o.Dir, o.MaxFileSize = args[0], n
				inv.segmentPaths(args[1:])
				q.Segments, q.Parse = args[1:], o.WAT || o.WET
				return inv.exportWARC(ctx, q, o)
			}
		},
	}
}

// mimeFlag is a repeatable option that chooses MIME types.
func mimeFlag(inv *invocation) *multi {
	types := new(multi)
	inv.fs.Var(types, "mimetype", "only documents of this `TYPE`, such as application/pdf; repeatable")
	return types
}

func (inv *invocation) listCaptures(ctx context.Context, q query.CapturesQuery) error {
	tab := table{w: inv.app.Stdout}
	if !inv.json {
		tab.line("SEGMENT\tFILE\tOFFSET\tLENGTH\tSTATUS\tTYPE\tSIZE\tURL")
	}
	return list(ctx, inv, "", query.Captures(), q, "document", func(w *bufio.Writer, c query.Capture) error {
		f := c.Fetch
		_, err := fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%d\t%s\t%d\t%s\n", c.Segment, f.WARC, f.Offset, f.Length, f.HTTP, printable(f.MIMEType), f.Size, printable(c.URL))
		return err
	})
}

func (inv *invocation) exportWARC(ctx context.Context, q query.CapturesQuery, o export.Options) error {
	o.Software, o.Now = "crawler/"+inv.app.Version, time.Now()
	var counts export.Counts
	err := inv.captures(ctx, q, func(dir string) (collector, error) {
		w, err := export.NewWARC(dir, o)
		if err != nil {
			return collector{}, err
		}
		return collector{add: w.Add, drop: w.Drop, finish: func() error { counts, err = w.Finish(); return err }}, nil
	})
	if err != nil {
		return err
	}
	if err := inv.print(counts, func(w io.Writer) {
		t := table{w: w}
		t.line("%s, %s in %s:", plural(counts.Captures, "answer"), plural(counts.Records, "WARC record"), o.Dir)
		for _, f := range counts.Files {
			t.line("  %s", f)
		}
	}); err != nil {
		return err
	}
	if counts.Captures == 0 {
		return errNothing
	}
	return nil
}

// collector takes captures one by one.
type collector struct {
	add          func(*query.Capture) error
	finish, drop func() error
}

// captures hands what q chooses to the collector that begin makes for a crawl directory, and says
// now and then how far it is.
func (inv *invocation) captures(ctx context.Context, q query.CapturesQuery, begin func(dir string) (collector, error)) error {
	ctx, stop := inv.interruptible(ctx)
	defer stop()
	cfg, err := inv.load()
	if err != nil {
		return err
	}
	return inv.read(ctx, func(ctx context.Context, t query.Target) error {
		c, err := begin(cfg.String("crawl.dir"))
		if err != nil {
			return err
		}
		n, said := int64(0), time.Now()
		err = query.Each(ctx, t, query.Captures(), q, func(a query.Capture) error {
			if n++; time.Since(said) > 5*time.Second {
				said = time.Now()
				fmt.Fprintf(inv.app.Stderr, "%s so far\n", plural(n, "document"))
			}
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return c.add(&a)
		})
		if err != nil {
			return errors.Join(err, c.drop())
		}
		return c.finish()
	})
}
