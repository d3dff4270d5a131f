package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/gonutch/crawler/core/internal/config"
	"github.com/gonutch/crawler/core/internal/crawl"
	"github.com/gonutch/crawler/core/internal/importnutch"
	"github.com/gonutch/crawler/core/internal/step/inject"
	"github.com/gonutch/crawler/core/internal/store"
	"github.com/gonutch/crawler/sdk/setting"
)

// nutchFlags are the options of "import nutch".
type nutchFlags struct {
	crawldb, linkdb, segments, maxRecord string
	dryRun, force                        bool
}

func importCommand() *command {
	return &command{
		name: "import", args: "nutch DIR", group: "Single steps",
		short: "Make a crawl directory of a crawl by Apache Nutch 1.x, with its documents",
		prepare: func(inv *invocation) func(context.Context, []string) error {
			var f nutchFlags
			inv.fs.StringVar(&f.crawldb, "crawldb", "", "Nutch's CrawlDb, when it is not DIR/crawldb")
			inv.fs.StringVar(&f.linkdb, "linkdb", "", "Nutch's LinkDb, when it is not DIR/linkdb")
			inv.fs.StringVar(&f.segments, "segments", "", "the folder of the segments, or one segment, when it is not DIR/segments")
			inv.fs.StringVar(&f.maxRecord, "max-record", "256MiB", "records of more than this `SIZE` are an error")
			inv.fs.BoolVar(&f.dryRun, "dry-run", false, "read everything and report, but write nothing")
			inv.fs.BoolVar(&f.force, "force", false, "read a CrawlDb or LinkDb that a job of Nutch has locked")
			return func(ctx context.Context, args []string) error {
				if len(args) != 2 || args[0] != "nutch" {
					return usagef("want import nutch DIR, the folder that Nutch's bin/crawl was given")
				}
				return inv.importNutch(ctx, args[1], f)
			}
		},
	}
}

func (inv *invocation) importNutch(ctx context.Context, from string, f nutchFlags) error {
	limit, err := setting.ParseSize(f.maxRecord)
	if err != nil || limit <= 0 {
		return usagef("--max-record %q: want a size with a unit, such as 256MiB", f.maxRecord)
	}
	src, err := importnutch.Find(from, f.crawldb, f.linkdb, f.segments)
	if err != nil {
		return asUsage(err)
	}
	cfg, err := inv.load()
	if err != nil {
		return err
	}
	o := importnutch.Options{Force: f.force, Private: func(url string) bool { return inject.Private(url) != "" }}
	o.Hadoop.MaxRecord = limit
	if o.KeepsCash, err = inv.keepsCash(cfg); err != nil {
		return err
	}
	ctx, cancel := inv.interruptible(ctx)
	defer cancel()
	out := newLineWriter(inv.app.Stderr, inv.app.Terminal)
	o.Progress = importProgress(out)
	var rep importnutch.Report
	if f.dryRun {
		rep, err = importnutch.Run(ctx, src, nil, o)
	} else {
		dir := cfg.String("crawl.dir")
		err = store.Fresh(dir, func(tmp string) (err error) {
			rep, err = inv.importInto(ctx, src, tmp, o)
			return err
		})
		rep.Dir = dir
		if err != nil {
			err = fmt.Errorf("import into %s: %w", dir, err)
		}
	}
	rep.From = filepath.Clean(from)
	out.clear()
	if ctx.Err() != nil {
		return errors.New("stopped; nothing was left behind")
	}
	if err != nil {
		return asUsage(err)
	}
	return inv.print(rep, func(w io.Writer) { writeImported(w, &rep) })
}

// importInto fills the crawl directory dir.
func (inv *invocation) importInto(ctx context.Context, src importnutch.Source, dir string, o importnutch.Options) (rep importnutch.Report, err error) {
	inv.dir = dir
	cfg, err := inv.load()
	if err != nil {
		return rep, err
	}
	c, err := crawl.Open(ctx, crawl.Options{
		Config: cfg, Builtins: inv.app.Builtins, Log: inv.quietLog(cfg), Command: "crawler import", Version: inv.app.Version,
	})
	if err != nil {
		return rep, err
	}
	defer func() { err = errors.Join(err, c.Close(context.WithoutCancel(ctx))) }()
	return importnutch.Run(ctx, src, &importnutch.Target{Store: c.Store, DB: c.DB, Links: c.Links, Segs: c.Segs}, o)
}

// keepsCash reports whether scoring-opic is told to score as Nutch does.
func (inv *invocation) keepsCash(cfg *config.Config) (bool, error) {
	_, choice, err := inv.plugins(cfg)
	if err != nil {
		return false, err
	}
	for _, m := range choice.Chain("scoring") {
		if m.ID != "scoring-opic" {
			continue
		}
		s, _, err := cfg.PluginSettings(m)
		if err != nil {
			return false, err
		}
		var own struct {
			Mode string `json:"mode"`
		}
		err = json.Unmarshal(s.Own, &own)
		return own.Mode == "nutch", err
	}
	return false, nil
}

// importProgress shows how far an import is, in place on a terminal, else as a line now and then.
func importProgress(out *lineWriter) func(importnutch.Progress) {
	said := time.Now()
	return func(p importnutch.Progress) {
		text := fmt.Sprintf("import: %s, %s", p.Part, plural(p.Records, "record"))
		if p.Total > 0 {
			text += fmt.Sprintf(", %s of %s (%d%%)", size(p.Bytes), size(p.Total), 100*p.Bytes/p.Total)
		}
		if out.terminal {
			out.show(text)
		} else if now := time.Now(); now.Sub(said) >= 10*time.Second {
			said = now
			_, _ = fmt.Fprintln(out, text) // as in table
		}
	}
}

func writeImported(w io.Writer, r *importnutch.Report) {
	p := reportPrinter{w: w}
	if r.Dir == "" {
		_, _ = fmt.Fprintf(w, "%s could be imported; nothing was written\n", r.From)
	} else {
		_, _ = fmt.Fprintf(w, "%s\n", r.Dir)
	}
	p.line("records", "%s", plural(r.Records, "record"))
	p.list(r.ByStatus, nil)
	var docs, fetched, bytes, open int64
	for _, s := range r.Segments {
		docs, fetched, bytes, open = docs+s.Documents, fetched+s.Fetched, bytes+s.Bytes, open+s.Open
	}
	p.line("segments", "%d with %s, %s and %s", len(r.Segments), plural(fetched, "outcome"), plural(docs, "document"), size(bytes))
	p.line("inlinks", "%s of %s", number(r.Inlinks), plural(r.Targets, "URL"))
	if open > 0 {
		p.line("open", "%s were fetched after the last updatedb; \"crawler run\" or \"crawler updatedb\" applies them", plural(open, "page"))
	}
	if r.Checked == 0 {
		p.line("checksums", "there were none (.crc files)")
	}
	for i, l := range r.Left {
		label := ""
		if i == 0 {
			label = "not taken"
		}
		p.line(label, "%s × %s: %s", number(l.Count), printable(l.What), printable(l.Why))
		if l.Example != "" {
			p.line("", "  such as %s", printable(l.Example))
		}
	}
	if r.Dir != "" {
		p.line("next", "\"crawler reindex\" fills the index; \"crawler run\" goes on with the crawl")
	}
}
