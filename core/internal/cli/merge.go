package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gonutch/crawler/core/internal/segment"
	"github.com/gonutch/crawler/core/internal/step/merge"
	"github.com/gonutch/crawler/core/internal/store"
)

// mergeFunc merges other crawls into an open one.
type mergeFunc func(ctx context.Context, s *session, from []merge.Source, o merge.Options) ([]merge.Report, error)

func mergedbCommand() *command {
	return mergeCommand("mergedb", "Bring the CrawlDBs of other crawl directories into one", "record",
		func(ctx context.Context, s *session, from []merge.Source, o merge.Options) ([]merge.Report, error) {
			return s.cycle.MergeDatabases(ctx, from, o)
		})
}

func mergelinkdbCommand() *command {
	return mergeCommand("mergelinkdb", "Bring the LinkDBs of other crawl directories into one", "link",
		func(ctx context.Context, s *session, from []merge.Source, o merge.Options) ([]merge.Report, error) {
			return s.cycle.MergeLinks(ctx, from, o)
		})
}

func mergeCommand(name, short, what string, f mergeFunc) *command {
	return &command{
		name: name, args: "[INTO] CRAWL…", short: short, group: "Single steps", nutch: true,
		prepare: func(inv *invocation) func(context.Context, []string) error {
			var o merge.Options
			inv.fs.BoolVar(&o.Normalize, "normalize", false, "bring the URLs of the others into their normal form")
			inv.fs.BoolVar(&o.Filter, "filter", false, "leave out what the URL filters reject")
			return func(ctx context.Context, args []string) error {
				if inv.dir == "" && len(args) > 0 { // Nutch: <output> <input>…
					inv.positionalDir(args[0])
					args = args[1:]
				}
				if len(args) == 0 {
					return usagef("name the crawl directory to merge into, with --dir or first, and those to take from")
				}
				for i := range args {
					args[i] = crawlOf(args[i])
				}
				return inv.merging(ctx, args, false, func(ctx context.Context, s *session, from []merge.Source) error {
					o.Progress = s.counting(name, what+"s")
					reps, err := f(ctx, s, from, o)
					if err != nil && ctx.Err() != nil {
						err = errors.New("stopped; the same command does the rest")
					}
					return errors.Join(err, inv.print(reps, func(w io.Writer) { writeMerged(w, reps, what) }))
				})
			}
		},
	}
}

func writeMerged(w io.Writer, reps []merge.Report, what string) {
	for i := range reps {
		r := &reps[i]
		out := reportPrinter{w: w}
		_, _ = fmt.Fprintf(w, "%s: %s\n", r.From, plural(r.Records, what)) // as in table
		out.line("added", "%s", number(r.Added))
		out.some([]countLine{
			{r.Replaced, "newer there", "%s"},
			{r.Kept, "kept", "%s"},
			{r.Renamed, "new URL", "%s"},
			{r.Pending, "found there", "%s, not in its CrawlDB yet"},
			{r.Inside, "inside pages", "%s, which come when the pages are fetched"},
		})
		if len(r.Rejected) > 0 {
			out.line("rejected", "%s", counts(r.Rejected, 10))
		}
	}
}

// merging opens the crawl and the others, and runs f.
func (inv *invocation) merging(ctx context.Context, others []string, mustExist bool, f func(context.Context, *session, []merge.Source) error) (err error) {
	ctx, cancel := inv.interruptible(ctx)
	defer cancel()
	cfg, err := inv.load()
	if err != nil {
		return err
	}
	if err := distinct(append([]string{cfg.String("crawl.dir")}, others...)); err != nil {
		return err
	}
	var from []merge.Source
	defer func() {
		for _, s := range from {
			err = errors.Join(err, s.Store.Close())
		}
	}()
	for _, dir := range others {
		s, err := store.Open(dir, store.Options{
			MustExist: true, Command: "crawler " + inv.cmd, CacheSize: 32 << 20, MemTableSize: 1 << 20, Logger: inv.quietLog(cfg).Named("store"),
		})
		if errors.Is(err, store.ErrNoCrawl) {
			return noCrawl(dir)
		}
		if err != nil {
			return err
		}
		from = append(from, merge.Source{Dir: dir, Store: s})
	}
	s, err := inv.open(ctx, cfg, mustExist)
	if err != nil {
		return err
	}
	stop := s.serve(ctx, nil, true)
	err = f(ctx, s, from)
	stop()
	return errors.Join(err, s.close(ctx))
}

// distinct refuses to open one directory twice.
func distinct(dirs []string) error {
	var seen []os.FileInfo
	for i, d := range dirs {
		st, err := os.Stat(d)
		if err != nil {
			continue // told when it is opened
		}
		for _, o := range seen {
			if os.SameFile(o, st) {
				if i == 0 || os.SameFile(seen[0], st) {
					return usagef("%s is the crawl that is merged into", d)
				}
				return usagef("%s is named twice", d)
			}
		}
		seen = append(seen, st)
	}
	return nil
}

func mergesegsCommand() *command {
	return &command{
		name: "mergesegs", args: "[SEGMENT… | CRAWL/segments…]", group: "Single steps", nutch: true,
		short: "Make one segment of several, with the newest fetch of each URL; also of other crawls",
		prepare: func(inv *invocation) func(context.Context, []string) error {
			var o merge.SegmentOptions
			inv.fs.BoolVar(&o.Normalize, "normalize", false, "bring URLs into their normal form")
			inv.fs.BoolVar(&o.Filter, "filter", false, "leave out what the URL filters or segment merge filters reject")
			inv.fs.Int64Var(&o.Slice, "slice", 0, "begin a new segment after `N` URLs")
			return func(ctx context.Context, args []string) error {
				if o.Slice < 0 {
					return usagef("--slice %d: want 0 or more", o.Slice)
				}
				inv.segmentPaths(args)
				return inv.mergeSegments(ctx, args, o)
			}
		},
	}
}

// segmentArg is an argument of mergesegs.
type segmentArg struct {
	dir string // of another crawl, or ""
	id  string // "" for all
}

// parse tells this crawl's segments from those of others.
func (inv *invocation) segmentArgs(own string, args []string) []segmentArg {
	out := make([]segmentArg, len(args))
	same := func(dir string) bool {
		a, err := os.Stat(dir)
		b, berr := os.Stat(own)
		return err == nil && berr == nil && os.SameFile(a, b)
	}
	for i, a := range args {
		a = strings.TrimRight(a, "/")
		switch {
		case filepath.Base(a) == "segments":
			out[i].dir = filepath.Dir(a)
		case filepath.Base(filepath.Dir(a)) == "segments":
			out[i].dir, out[i].id = filepath.Dir(filepath.Dir(a)), filepath.Base(a)
		default:
			out[i].id = a
		}
		if out[i].dir != "" && same(out[i].dir) {
			out[i].dir = ""
		}
	}
	return out
}

func (inv *invocation) mergeSegments(ctx context.Context, args []string, o merge.SegmentOptions) error {
	cfg, err := inv.load()
	if err != nil {
		return err
	}
	list := inv.segmentArgs(cfg.String("crawl.dir"), args)
	var others []string
	for _, a := range list {
		if a.dir != "" && !slices.Contains(others, a.dir) {
			others = append(others, a.dir)
		}
	}
	if len(list) == 0 {
		list = []segmentArg{{}}
	}
	return inv.merging(ctx, others, len(others) == 0, func(ctx context.Context, s *session, from []merge.Source) error {
		inputs, err := s.mergeInputs(ctx, list, from)
		if err != nil {
			return err
		}
		if len(inputs) == 0 || len(inputs) == 1 && len(args) == 0 {
			return inv.nothing("there are no two segments that are done and could be merged")
		}
		o.Progress = s.counting("mergesegs", "fetches")
		rep, err := s.cycle.MergeSegments(ctx, inputs, o)
		if err != nil && ctx.Err() != nil {
			err = errors.New("stopped; what was merged can be merged again")
		}
		if err == nil {
			err = inv.print(rep, func(w io.Writer) { writeMergedSegments(w, &rep) })
		}
		if err == nil && len(rep.Segments) == 0 {
			err = errNothing
		}
		return err
	})
}

// mergeInputs resolves the arguments; a folder stands for its finished segments.
func (s *session) mergeInputs(ctx context.Context, args []segmentArg, from []merge.Source) ([]merge.Input, error) {
	var out []merge.Input
	for _, a := range args {
		var src merge.Source
		for _, f := range from {
			if f.Dir == a.dir {
				src = f
			}
		}
		ids := []string{a.id}
		var err error
		switch {
		case a.id != "":
		case src.Store == nil:
			ids, err = s.cycle.Finished(ctx)
		default:
			ids, err = updatedSegments(ctx, src.Store)
		}
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			out = append(out, merge.Input{Source: src, Segment: id})
		}
	}
	return out, nil
}

// updatedSegments are those of another crawl that it is done with.
func updatedSegments(ctx context.Context, r store.Reader) ([]string, error) {
	metas, err := segment.List(ctx, r)
	var out []string
	for _, m := range metas {
		if !m.State.Before(segment.StateUpdated) {
			out = append(out, m.ID)
		}
	}
	return out, err
}

func writeMergedSegments(w io.Writer, r *merge.SegmentReport) {
	for _, s := range r.Segments {
		_, _ = fmt.Fprintln(w, s) // as in table
	}
	out := reportPrinter{w: w}
	out.line("merged", "%s, fetches %s", plural(int64(r.Merged), "segment"), number(r.Fetches))
	out.line("copied", "%s, %s of documents", number(r.Copied), size(r.Bytes))
	out.some([]countLine{
		{r.Older, "older", "%s"},
		{r.Failed, "left out", "%s failed or not modified"},
		{r.Unneeded, "not needed", "%s older than what this crawl has"},
		{r.Renamed, "new URL", "%s"},
	})
	if len(r.Rejected) > 0 {
		out.line("rejected", "%s", counts(r.Rejected, 10))
	}
	if r.Moved > 0 {
		out.line("CrawlDB", "the content of %s is there now; \"crawler segment prune\" shows which segments nothing needs any more", plural(r.Moved, "record"))
	}
	if r.Attached > 0 {
		out.line("CrawlDB", "%s got their content; next: crawler invertlinks, crawler index", plural(r.Attached, "record"))
	}
	if r.Leased > 0 {
		out.line("CrawlDB", "%s to be applied; next: crawler updatedb, or crawler run", plural(r.Leased, "page"))
	}
}
