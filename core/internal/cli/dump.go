package cli

import (
	"bufio"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/gonutch/crawler/core/internal/query"
	"github.com/gonutch/crawler/core/internal/store"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/model"
)

func count(conditions ...bool) (n int) {
	for _, c := range conditions {
		if c {
			n++
		}
	}
	return n
}

// output calls f with what writes to a file, or to standard output for "-" and "".
// A file appears when it is whole.
func (inv *invocation) output(name string, f func(w *bufio.Writer) error) (err error) {
	if name == "" || name == "-" {
		w := bufio.NewWriterSize(inv.app.Stdout, 1<<16)
		return errors.Join(f(w), w.Flush())
	}
	if st, err := os.Stat(name); err == nil && st.IsDir() {
		return fmt.Errorf("write %s: it is a folder", name)
	}
	tmp, err := store.TempFile(name)
	if pe := (*fs.PathError)(nil); errors.As(err, &pe) {
		err = pe.Err // the temporary file's name tells nobody anything
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, tmp.Remove())
		}
	}()
	w := bufio.NewWriterSize(tmp.File, 1<<16)
	err = errors.Join(f(w), w.Flush(), tmp.File.Chmod(0o644), tmp.File.Sync()) //nolint:mnd // as os.Create with the usual umask
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	if err := os.Rename(tmp.Path, name); err != nil {
		return err
	}
	return tmp.Done()
}

// list writes the rows of a question, as lines of JSON with --json, and says on
// standard error how many there were when they went into a file.
func list[Q, A any](ctx context.Context, inv *invocation, out string, l query.List[Q, A], q Q, what string, write func(w *bufio.Writer, a A) error) error {
	return listTo(ctx, inv, out, l, q, what, write, func(*bufio.Writer) error { return nil })
}

// listTo is list with something to write behind the last row.
func listTo[Q, A any](ctx context.Context, inv *invocation, out string, l query.List[Q, A], q Q, what string, write func(w *bufio.Writer, a A) error, end func(w *bufio.Writer) error) error {
	n := int64(0)
	err := inv.read(ctx, func(ctx context.Context, t query.Target) error {
		return inv.output(out, func(w *bufio.Writer) error {
			enc := json.NewEncoder(w)
			enc.SetEscapeHTML(false)
			said := time.Now()
			err := query.Each(ctx, t, l, q, func(a A) error {
				if n++; out != "" && out != "-" && n%4096 == 0 && time.Since(said) > 5*time.Second {
					said = time.Now()
					fmt.Fprintf(inv.app.Stderr, "%s so far\n", plural(n, what))
				}
				if inv.json {
					return enc.Encode(a)
				}
				return write(w, a)
			})
			if err == nil {
				err = end(w)
			}
			return err
		})
	})
	if fault.Is(err, fault.Invalid) {
		return usageError{err}
	}
	if err != nil {
		return err
	}
	if out != "" && out != "-" {
		fmt.Fprintf(inv.app.Stderr, "%s in %s\n", plural(n, what), out)
	}
	if n == 0 {
		return inv.nothing("no %s found", what)
	}
	return nil
}

func (inv *invocation) dumpRecords(ctx context.Context, out, format string, q query.RecordsQuery) error {
	var write func(w *bufio.Writer, r query.Row) error
	switch format {
	case "normal":
		write = func(w *bufio.Writer, r query.Row) error {
			t := table{w: w, width: 22}
			t.line("%s", printable(r.URL))
			writeRecord(&t, &r.Record)
			t.line("")
			return nil
		}
	case "csv":
		write = csvRecords()
	case "json":
		inv.json = true
	case "parquet":
		return inv.parquetRecords(ctx, out, q)
	default:
		return usagef("--format %q: want normal, csv, json or parquet", format)
	}
	return list(ctx, inv, out, query.Records(), q, "record", write)
}

// csvRecords writes Nutch's columns, with quotes as RFC 4180 wants them.
func csvRecords() func(w *bufio.Writer, r query.Row) error {
	var c *csv.Writer
	return func(w *bufio.Writer, r query.Row) error {
		if c == nil {
			c = csv.NewWriter(w)
			if err := c.Write([]string{
				"Url", "Status code", "Status name", "Fetch Time", "Modified Time", "Retries since fetch", "Retry interval seconds",
				"Retry interval days", "Score", "Signature", "Metadata",
			}); err != nil {
				return err
			}
		}
		var meta []string
		for _, k := range r.Metadata.Keys() {
			for _, v := range r.Metadata[k] {
				meta = append(meta, k+":"+v)
			}
		}
		modified := ""
		if !r.ModifiedTime.IsZero() {
			modified = r.ModifiedTime.Format(time.RFC3339)
		}
		err := c.Write([]string{
			r.URL, strconv.Itoa(r.StatusCode), r.StatusName, r.FetchTime.Format(time.RFC3339), modified, strconv.Itoa(r.Retries),
			strconv.FormatInt(r.IntervalSeconds, 10), strconv.FormatInt(r.IntervalDays, 10), decimal(r.Score), r.Signature, strings.Join(meta, "|||"),
		})
		c.Flush()
		return errors.Join(err, c.Error())
	}
}

func (inv *invocation) topRecords(ctx context.Context, q query.TopQuery) error {
	return list(ctx, inv, "", query.Top(), q, "record", func(w *bufio.Writer, s query.Scored) error {
		_, err := fmt.Fprintf(w, "%s\t%s\n", decimal(s.Score), printable(s.URL))
		return err
	})
}

func readlinkdbCommand() *command {
	return &command{
		name: "readlinkdb", short: "Show the LinkDB: which pages link to a URL", group: "Looking", nutch: true,
		prepare: func(inv *invocation) func(context.Context, []string) error {
			var q query.InlinksQuery
			inv.fs.StringVar(&q.URL, "url", "", "the inlinks of one `URL`")
			out := inv.fs.String("dump", "", "write all inlinks to `FILE` (- is standard output)")
			inv.fs.StringVar(&q.Regex, "regex", "", "with --dump: only targets that match as a whole")
			return func(ctx context.Context, args []string) error {
				if len(args) > 0 {
					return usagef("unexpected argument %q", args[0])
				}
				if (q.URL == "") == (*out == "") {
					return usagef("say what to show: --url URL or --dump FILE")
				}
				err := list(ctx, inv, *out, query.AllInlinks(), q, "URL with inlinks", writeInlinks)
				if errors.Is(err, errNothing) {
					fmt.Fprintln(inv.app.Stderr, "links from the same host are kept only with linkdb { ignore_internal_links = false }")
				}
				return err
			}
		},
	}
}

func writeInlinks(w *bufio.Writer, a query.Inlinks) error {
	fmt.Fprintf(w, "%s\tInlinks:\n", printable(a.URL))
	for _, l := range a.Inlinks {
		fmt.Fprintf(w, " fromUrl: %s anchor: %s\n", printable(l.From), printable(l.Anchor))
	}
	_, err := w.WriteString("\n")
	return err
}

func readhostdbCommand() *command {
	return &command{
		name: "readhostdb", short: "Show the HostDB: totals, failures, delays and holds of hosts", group: "Looking", nutch: true,
		prepare: func(inv *invocation) func(context.Context, []string) error {
			var q query.HostsQuery
			inv.fs.StringVar(&q.Host, "get", "", "one `HOST`")
			inv.fs.StringVar(&q.Expr, "expr", "", "only hosts for which the expression is true, such as \"gone > fetched\"")
			out := inv.fs.String("dump", "-", "write to `FILE` (- is standard output)")
			names := inv.fs.Bool("hostnames", false, "only the names of the hosts (Nutch's -dumpHostnames)")
			homepages := inv.fs.Bool("homepages", false, "only the first pages of the hosts that have one (Nutch's -dumpHomepages)")
			return func(ctx context.Context, args []string) error {
				if len(args) > 0 {
					return usagef("unexpected argument %q", args[0])
				}
				return list(ctx, inv, *out, query.Hosts(), q, "host", writeHostRow(*names, *homepages))
			}
		},
	}
}

func writeHostRow(names, homepages bool) func(w *bufio.Writer, h query.HostRow) error {
	first := true
	return func(w *bufio.Writer, h query.HostRow) error {
		if homepages {
			if h.Homepage == "" {
				return nil
			}
			_, err := fmt.Fprintln(w, printable(h.Homepage))
			return err
		}
		if names {
			_, err := fmt.Fprintln(w, printable(h.Host))
			return err
		}
		if first {
			first = false
			fmt.Fprintln(w, "hostname\tunfetched\tfetched\tgone\tredirTemp\tredirPerm\tnotModified\tduplicate\tnumRecords\trequests\tfailures\tbytes\tfailuresInRow\tcrawlDelay\theldUntil\theldFor\tdnsFail\tlastCheck\tscore\thomepage\tmetadata")
		}
		held, checked := "", ""
		if !h.LastCheck.IsZero() {
			checked = h.LastCheck.Format(time.RFC3339)
		}
		if !h.HeldUntil.IsZero() {
			held = h.HeldUntil.Format(time.RFC3339)
		}
		n := func(s string) int64 { return h.Status["db_"+s] }
		_, err := fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%g\t%s\t%s\t%d\t%s\t%g\t%s\t%s\n", printable(h.Host), n("unfetched"), n("fetched"), n("gone"), n("redir_temp"),
			n("redir_perm"), n("notmodified"), n("duplicate"), h.Total, h.Requests, h.Failures, h.Bytes, h.FailuresInRow, h.DelaySeconds, held, printable(h.HeldFor),
			h.DNSFailures, checked, h.Score, printable(h.Homepage), hostMeta(h.Metadata))
		return err
	}
}

// hostMeta writes a host's metadata as key:::value, as Nutch does, sorted and separated by commas.
func hostMeta(m model.Metadata) string {
	var out []string
	for _, k := range m.Keys() {
		out = append(out, printable(k+":::"+m.First(k)))
	}
	return strings.Join(out, ",")
}

// totalsCommand are Nutch's three commands that count records.
func totalsCommand(name, short string, by []string, write func(w io.Writer, r query.TotalsRow)) *command {
	c := &command{name: name, short: short, group: "Looking", nutch: true}
	if len(by) > 1 {
		c.args = strings.Join(by, "|")
	}
	c.prepare = func(inv *invocation) func(context.Context, []string) error {
		out := inv.fs.String("out", "-", "write to `FILE` (- is standard output)")
		return func(ctx context.Context, args []string) error {
			q := query.TotalsQuery{By: by[0]}
			switch {
			case len(by) > 1 && len(args) == 1:
				q.By = args[0]
			case len(by) > 1 && len(args) == 0, len(by) == 1 && len(args) == 0:
			default:
				return usagef("want %s", strings.Join(by, ", "))
			}
			return list(ctx, inv, *out, query.Totals(), q, "row", func(w *bufio.Writer, r query.TotalsRow) error {
				write(w, r)
				return nil
			})
		}
	}
	return c
}

func totalsCommands() []*command {
	return []*command{
		totalsCommand("domainstats", "Count fetched pages by host, domain, suffix or top-level domain", []string{"host", "domain", "suffix", "tld"},
			func(w io.Writer, r query.TotalsRow) {
				if r.Fetched > 0 {
					_, _ = fmt.Fprintf(w, "%d\t%s\n", r.Fetched, printable(r.Name))
				}
			}),
		totalsCommand("protocolstats", "Count records by how their last request ended", []string{"protocol"},
			func(w io.Writer, r query.TotalsRow) {
				_, _ = fmt.Fprintf(w, "%d\t%s\n", r.Fetched+r.Other, printable(r.Name))
			}),
		totalsCommand("crawlcomplete", "Count fetched and unfetched records by host or domain", []string{"host", "domain"},
			func(w io.Writer, r query.TotalsRow) {
				for _, x := range []struct {
					n    int64
					what string
				}{{r.Fetched, "FETCHED"}, {r.Other, "UNFETCHED"}} {
					if x.n > 0 {
						_, _ = fmt.Fprintf(w, "%d\t%s %s\n", x.n, printable(r.Name), x.what)
					}
				}
			}),
	}
}
