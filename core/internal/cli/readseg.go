package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/gonutch/crawler/core/internal/query"
)

func readsegCommand() *command {
	return &command{
		name: "readseg", args: "[SEGMENT…] | SEGMENT URL | SEGMENT [FILE]", short: "List segments, show what one has of a URL, or dump one", group: "Looking", nutch: true,
		prepare: func(inv *invocation) func(context.Context, []string) error {
			list := inv.fs.Bool("list", false, "list the segments named, or all")
			get := inv.fs.Bool("get", false, "show what a segment has of a URL")
			dump := inv.fs.Bool("dump", false, "write everything that a segment has to a file, or to standard output")
			inv.fs.Bool("recode", true, "for Nutch's sake: texts are dumped in UTF-8 anyway")
			var q query.PageQuery
			for _, p := range []struct {
				to         *bool
				name, what string
			}{
				{&q.NoContent, "nocontent", "the documents"},
				{&q.NoFetch, "nofetch", "crawl_fetch"},
				{&q.NoGenerate, "nogenerate", "crawl_generate"},
				{&q.NoParse, "noparse", "the outlinks"},
				{&q.NoParseData, "noparsedata", "parse_data, with the outlinks"},
				{&q.NoParseText, "noparsetext", "parse_text"},
			} {
				inv.fs.BoolVar(p.to, p.name, false, "with --get and --dump: leave out "+p.what)
			}
			inv.fs.StringVar(&q.Attachment, "attachment", "", "with --get: write only what is kept beside the document under this `NAME`, such as the picture view or fullPage of protocol-browser, to standard output")
			return func(ctx context.Context, args []string) error {
				inv.segmentPaths(args)
				switch {
				case count(*list, *get, *dump) != 1:
					return usagef("say what to do: --list [SEGMENT…], --get SEGMENT URL, or --dump SEGMENT [FILE]")
				case *list:
					return inv.listSegments(ctx, args)
				case *get && len(args) != 2:
					return usagef("--get takes a segment and a URL")
				case *get:
					q.Segment, q.URL = args[0], args[1]
					return inv.getPage(ctx, q)
				case len(args) < 1 || len(args) > 2:
					return usagef("--dump takes a segment and a file")
				}
				return inv.dumpSegment(ctx, query.DumpQuery{Segment: args[0], Without: q.Without}, append(args, "-")[1])
			}
		},
	}
}

// dumpSegment is "readseg --dump": Nutch's blocks, or lines of JSON.
func (inv *invocation) dumpSegment(ctx context.Context, q query.DumpQuery, out string) error {
	n := 0
	return list(ctx, inv, out, query.Dump(), q, "URL", func(w *bufio.Writer, a *query.PageAnswer) error {
		_, err := fmt.Fprintf(w, "Recno:: %d\n", n)
		n++
		writePage(w, a)
		return errors.Join(err, w.WriteByte('\n'))
	})
}

// segmentPaths takes the crawl directory from the places where Nutch has it:
// "-dir crawl/segments", or a segment named as crawl/segments/ID.
func (inv *invocation) segmentPaths(args []string) {
	if dir := strings.TrimRight(inv.dir, "/"); filepath.Base(dir) == "segments" {
		inv.dir = filepath.Dir(dir)
	}
	if len(args) == 0 {
		return
	}
	if dir := segmentsOf(args[0]); dir != args[0] && inv.dir == "" {
		inv.positionalDir(dir)
	}
}

func (inv *invocation) listSegments(ctx context.Context, names []string) error {
	return inv.read(ctx, func(ctx context.Context, t query.Target) error {
		a, err := query.Ask(ctx, t, query.Segments(), query.SegmentsQuery{Names: names})
		if err != nil {
			return err
		}
		return inv.print(a, func(w io.Writer) { writeSegments(w, a.Segments) })
	})
}

// writeSegments prints the columns of Nutch's readseg -list first.
func writeSegments(w io.Writer, segs []query.Segment) {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(cells ...string) { _, _ = fmt.Fprintln(tw, strings.TrimRight(strings.Join(cells, "\t"), " ")) } // as in table
	row("NAME", "GENERATED", "FETCHER START", "FETCHER END", "FETCHED", "PARSED", "FAILED", "RELEASED", "BYTES", "ROUND", "STATE")
	for i := range segs {
		s := &segs[i]
		state := s.State
		if s.Leased > 0 {
			state += fmt.Sprintf(", %s to do", number(s.Leased))
		}
		row(s.Name, number(s.Generated), short(s.FetcherStart), short(s.FetcherEnd), number(s.Fetched), number(s.Parsed), number(s.Failed),
			number(s.Released), size(s.Bytes), strconv.Itoa(s.Round), state)
	}
	_ = tw.Flush()
}

// short is a time as Nutch's readseg prints it, in UTC.
func short(t time.Time) string {
	if t.IsZero() {
		return "?"
	}
	return t.UTC().Format("2006-01-02T15:04:05")
}

func (inv *invocation) getPage(ctx context.Context, q query.PageQuery) error {
	return inv.read(ctx, func(ctx context.Context, t query.Target) error {
		a, err := query.Ask(ctx, t, query.Page(), q)
		if err != nil {
			return err
		}
		if q.Attachment != "" {
			if len(a.Attachment) == 0 {
				return inv.nothing("no attachment %q found", q.Attachment)
			}
			_, err := inv.app.Stdout.Write(a.Attachment)
			return err
		}
		if err := inv.print(a, func(w io.Writer) { writePage(w, a) }); err != nil {
			return err
		}
		if !a.Found() {
			return errNothing
		}
		return nil
	})
}

// writePage prints the blocks of Nutch's readseg -get.
func writePage(w io.Writer, a *query.PageAnswer) {
	out := table{w: w, width: 22}
	out.line("URL:: %s", printable(a.URL))
	if !a.Found() {
		out.line("not found in segment %s", a.Segment)
		return
	}
	if g := a.Generate; g != nil {
		out.line("\nCrawl Generate::")
		out.fact("Status", fmt.Sprintf("%d (%s)", g.StatusCode, g.StatusName))
		out.fact("Fetch time", moment(g.FetchTime))
		out.fact("Retries since fetch", strconv.Itoa(g.Retries))
		out.fact("Retry interval", fmt.Sprintf("%d seconds (%d days)", g.IntervalSeconds, g.IntervalSeconds/86400))
		out.fact("Score", decimal(g.Score))
		out.meta("Metadata", g.Metadata)
	}
	if a.Fetch != nil {
		writeFetched(&out, a.Fetch)
	}
	if c := a.Content; c != nil {
		out.line("\nContent::")
		out.meta("Headers", c.Headers)
		switch {
		case c.Binary:
			out.line("(%s that are no text)", size(int64(c.Size)))
		case c.Cut:
			out.line("%s\n(cut: the document has %s)", printableLines(c.Text), size(int64(c.Size)))
		default:
			out.line("%s", printableLines(c.Text))
		}
	}
	if a.ParseData != nil {
		writeParseData(&out, a.ParseData)
	}
	if a.ParseText != "" {
		out.line("\nParseText::\n%s", printableLines(a.ParseText))
	}
}

func writeFetched(out *table, f *query.Fetched) {
	out.line("\nCrawl Fetch::")
	out.fact("Status", fmt.Sprintf("%d (%s)", f.StatusCode, f.StatusName))
	out.fact("Protocol status", printable(f.Protocol))
	out.fact("Fetch time", moment(f.FetchTime))
	out.fact("Elapsed", span(time.Duration(f.ElapsedMillis)*time.Millisecond))
	out.fact("Size", size(f.Size))
	place := ""
	if f.WARC != "" {
		place = fmt.Sprintf("%s, byte %d, %d bytes", f.WARC, f.Offset, f.Length)
	}
	http := ""
	if f.HTTP != 0 {
		http = strconv.Itoa(f.HTTP)
	}
	for _, x := range []struct{ label, text string }{
		{"HTTP status", http},
		{"IP", f.IP},
		{"Protocol version", f.Version},
		{"Content type", f.ContentType},
		{"MIME type", f.MIMEType},
		{"Truncated", f.Truncated},
		{"Location", f.Location},
		{"Signature", f.Signature},
		{"WARC record", place},
	} {
		if x.text != "" {
			out.fact(x.label, printable(x.text))
		}
	}
	out.meta("Metadata", f.Metadata)
}

func writeParseData(out *table, d *query.ParseData) {
	out.line("\nParseData::")
	out.fact("Status", printable(d.Status))
	robots := ""
	if d.NoIndex {
		robots += " noindex"
	}
	if d.NoFollow {
		robots += " nofollow"
	}
	for _, x := range []struct{ label, text string }{
		{"Title", d.Title},
		{"Parser", d.Parser},
		{"Charset", d.Charset},
		{"Language", d.Language},
		{"Canonical", d.Canonical},
		{"Robots", strings.TrimSpace(robots)},
		{"Signature", d.Signature},
	} {
		if x.text != "" {
			out.fact(x.label, printable(x.text))
		}
	}
	dropped := ""
	if n := total(d.Dropped); n > 0 {
		dropped = fmt.Sprintf("; %s dropped: %s", number(n), counts(d.Dropped, 10))
	}
	out.fact("Outlinks", fmt.Sprintf("%s of %s%s", number(len(d.Outlinks)), number(d.AllLinks), dropped))
	for _, l := range d.Outlinks {
		out.line("  outlink: toUrl: %s anchor: %s", printable(l.To), printable(l.Anchor))
	}
	out.meta("Content Metadata", d.ContentMeta)
	out.meta("Parse Metadata", d.ParseMeta)
}
