package cli

import (
	"bufio"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/parquet-go/parquet-go"

	"github.com/gonutch/crawler/core/internal/store"
	"github.com/gonutch/crawler/core/internal/urlkey"
	"github.com/gonutch/crawler/core/internal/webgraph"
)

// value is a line of nodedumper.
type value struct {
	Name  string  `json:"name"` // a URL, host or domain
	Value float64 `json:"value"`
}

func nodedumperCommand() *command {
	return &command{
		name: "nodedumper", short: "List the nodes of the link graph by inlinks, outlinks or scores, the greatest first", group: "Link graph", nutch: true,
		args: "[sum|max]",
		prepare: func(inv *invocation) func(context.Context, []string) error {
			g := inv.graphFlags()
			inlinks := inv.fs.Bool("inlinks", false, "the number of inlinks")
			outlinks := inv.fs.Bool("outlinks", false, "the number of outlinks")
			scores := inv.fs.Bool("scores", false, "the score that --score names")
			hosts := inv.fs.Bool("hosts", false, "the graph of hosts instead of pages")
			out := inv.fs.String("output", "-", "write to `FILE` (- is standard output)")
			format := inv.fs.String("format", "text", "text (tab between name and value) or csv")
			var o webgraph.DumpOptions
			inv.fs.StringVar(&o.Score, "score", webgraph.LinkRank, "linkrank, pagerank or harmonic")
			inv.fs.Int64Var(&o.TopN, "topn", 0, "lines at most (default: all)")
			inv.fs.StringVar(&o.Group, "group", "", "one line for each host or domain, with the sum of its pages or, with max as argument, their greatest value")
			return func(ctx context.Context, args []string) error {
				switch {
				case count(*inlinks, *outlinks, *scores) != 1:
					return usagef("say what to list: --inlinks, --outlinks or --scores")
				case *inlinks:
					o.What = webgraph.DumpInlinks
				case *outlinks:
					o.What = webgraph.DumpOutlinks
				default:
					o.What = webgraph.DumpScores
				}
				if len(args) == 1 && o.Group != "" && (args[0] == "sum" || args[0] == "max") {
					o.Max, args = args[0] == "max", nil
				}
				switch {
				case !slices.Contains(webgraph.Names(), o.Score):
					return usagef("--score: there is no %q%s", o.Score, meant(o.Score, webgraph.Names()))
				case o.Group != "" && o.Group != "host" && o.Group != "domain":
					return usagef("--group %q: want host or domain", o.Group)
				case o.TopN < 0:
					return usagef("--topn %d: want a number of lines", o.TopN)
				case *format != "text" && *format != "csv":
					return usagef("--format %q: want text or csv", *format)
				}
				if err := g.load(args); err != nil {
					return err
				}
				ctx, stop := inv.interruptible(ctx)
				defer stop()
				o.Memory = min(int64(g.settings.Memory), 64<<20)
				return g.open(*hosts, func(w *webgraph.Graph) error { return inv.dumpNodes(ctx, w, o, *out, *format) })
			}
		},
	}
}

func (inv *invocation) dumpNodes(ctx context.Context, g *webgraph.Graph, o webgraph.DumpOptions, out, format string) (err error) {
	tmp, err := store.TempDir(filepath.Join(os.TempDir(), "crawler-nodedumper"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, tmp.Remove()) }()
	o.Dir = tmp.Path
	n := int64(0)
	err = inv.output(out, func(w *bufio.Writer) error {
		write := inv.writeValue(w, format)
		return g.Dump(ctx, o, func(name string, v float64) error {
			n++
			return write(value{name, v})
		})
	})
	if err == nil && n == 0 {
		return inv.nothing("the link graph has no nodes")
	}
	return err
}

func (inv *invocation) writeValue(w *bufio.Writer, format string) func(value) error {
	if inv.json {
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false)
		return func(v value) error { return enc.Encode(v) }
	}
	if format == "csv" {
		c := csv.NewWriter(w)
		first := true
		return func(v value) error {
			if first {
				first = false
				if err := c.Write([]string{"name", "value"}); err != nil {
					return err
				}
			}
			err := c.Write([]string{v.Name, plainFloat(v.Value)})
			c.Flush() // into w, which is buffered
			return errors.Join(err, c.Error())
		}
	}
	return func(v value) error {
		_, err := fmt.Fprintf(w, "%s\t%s\n", printable(v.Name), plainFloat(v.Value))
		return err
	}
}

// plainFloat keeps all digits: two scores are equal in a dump only if they are.
func plainFloat(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

// edge is a link of a dump.
type edge struct {
	Source string `json:"source" parquet:"source,zstd,dict"`
	Target string `json:"target" parquet:"target,zstd"`
}

func linkdumperCommand() *command {
	return &command{
		name: "linkdumper", short: "Write the links of the link graph as a list of edges", group: "Link graph", nutch: true,
		prepare: func(inv *invocation) func(context.Context, []string) error {
			g := inv.graphFlags()
			hosts := inv.fs.Bool("hosts", false, "the graph of hosts instead of pages")
			out := inv.fs.String("output", "-", "write to `FILE` (- is standard output)")
			format := inv.fs.String("format", "csv", "csv or parquet")
			return func(ctx context.Context, args []string) error {
				if *format != "csv" && *format != "parquet" {
					return usagef("--format %q: want csv or parquet", *format)
				}
				if err := g.load(args); err != nil {
					return err
				}
				ctx, stop := inv.interruptible(ctx)
				defer stop()
				return g.open(*hosts, func(w *webgraph.Graph) error {
					if w.Meta.Links == 0 {
						return inv.nothing("the link graph has no links; what \"crawler webgraph\" left out it counts by reason")
					}
					tell, end := inv.told()
					defer end()
					return inv.output(*out, func(b *bufio.Writer) error {
						add, done := inv.edgeWriter(b, *format)
						n := int64(0)
						err := eachEdge(ctx, w, func(e edge) error {
							if n++; n%4096 == 0 && *out != "-" {
								tell("linkdumper: %s of %s", number(n), plural(int64(w.Meta.Links), "link")) //nolint:gosec // below 2^63
							}
							return add(e)
						})
						return errors.Join(err, done())
					})
				})
			}
		},
	}
}

// eachEdge calls f with all links, by source.
func eachEdge(ctx context.Context, g *webgraph.Graph, f func(edge) error) error {
	var source string
	last, begun, n := uint32(0), false, 0
	return g.EachLink(false, func(from, to uint32) (err error) {
		if n++; n%1024 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if !begun || from != last {
			if source, err = g.Name(from); err != nil {
				return err
			}
			last, begun = from, true
		}
		target, err := g.Name(to)
		if err != nil {
			return err
		}
		return f(edge{source, target})
	})
}

// edgeWriter returns what writes edges, and what ends the file.
func (inv *invocation) edgeWriter(w *bufio.Writer, format string) (add func(edge) error, done func() error) {
	if format == "parquet" {
		const rowGroup = 100_000
		p := parquet.NewGenericWriter[edge](w, parquet.CreatedBy("crawler", "", ""), parquet.MaxRowsPerRowGroup(rowGroup))
		one := make([]edge, 1)
		return func(e edge) error {
			one[0] = e
			_, err := p.Write(one)
			return err
		}, p.Close
	}
	if inv.json {
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false)
		return func(e edge) error { return enc.Encode(e) }, func() error { return nil }
	}
	c := csv.NewWriter(w)
	head := c.Write([]string{"source", "target"})
	return func(e edge) error { return errors.Join(head, c.Write([]string{e.Source, e.Target})) }, func() error { c.Flush(); return c.Error() }
}

// nodeFacts are what nodereader tells of a node.
type nodeFacts struct {
	Name     string             `json:"name"`
	Inlinks  uint64             `json:"inlinks"`
	Outlinks uint64             `json:"outlinks"`
	Scores   map[string]float64 `json:"scores"`
	From     []string           `json:"from"` // the first of the inlinks
	To       []string           `json:"to"`   // the first of the outlinks
}

func nodereaderCommand() *command {
	return &command{
		name: "nodereader", args: "URL|HOST", short: "Show one page or host of the link graph", group: "Link graph", nutch: true,
		prepare: func(inv *invocation) func(context.Context, []string) error {
			g := inv.graphFlags()
			url := inv.fs.String("url", "", "the `URL` (or give it as argument)")
			hosts := inv.fs.Bool("hosts", false, "a host in the graph of hosts")
			limit := inv.fs.Int("limit", 10, "inlinks and outlinks that are listed")
			return func(_ context.Context, args []string) error {
				if *url == "" && len(args) > 0 {
					*url, args = args[0], args[1:]
				}
				if *url == "" {
					return usagef("name a URL, or with --hosts a host")
				}
				if err := g.load(args); err != nil {
					return err
				}
				return g.open(*hosts, func(w *webgraph.Graph) error {
					key := string(urlkey.FromURL(*url))
					if *hosts {
						key = string(urlkey.HostRange(*url).Lo)
					}
					node, ok, err := w.Find(key)
					if err != nil {
						return err
					}
					if !ok {
						return inv.nothing("%s is not in the link graph", printable(*url))
					}
					f, err := readNode(w, node, *limit)
					if err != nil {
						return err
					}
					return inv.print(f, func(w io.Writer) { writeNode(w, &f) })
				})
			}
		},
	}
}

func readNode(g *webgraph.Graph, node uint32, limit int) (f nodeFacts, err error) {
	f.Scores = map[string]float64{}
	if f.Name, err = g.Name(node); err != nil {
		return f, err
	}
	if f.Inlinks, f.Outlinks, err = g.Degrees(node); err != nil {
		return f, err
	}
	for name := range g.Scores() {
		if f.Scores[name], err = g.Score(name, node); err != nil {
			return f, err
		}
	}
	for _, x := range []struct {
		read func(uint32, int) ([]uint32, error)
		to   *[]string
	}{{g.Inlinks, &f.From}, {g.Outlinks, &f.To}} {
		*x.to = []string{}
		list, err := x.read(node, limit)
		if err != nil {
			return f, err
		}
		for _, n := range list {
			name, err := g.Name(n)
			if err != nil {
				return f, err
			}
			*x.to = append(*x.to, name)
		}
	}
	return f, nil
}

func writeNode(w io.Writer, f *nodeFacts) {
	out := table{w: w, width: 12}
	out.line("%s", printable(f.Name))
	for _, n := range webgraph.Names() {
		if v, ok := f.Scores[n]; ok {
			out.fact(n, plainFloat(v))
		}
	}
	for _, x := range []struct {
		label string
		n     uint64
		list  []string
	}{{"inlinks", f.Inlinks, f.From}, {"outlinks", f.Outlinks, f.To}} {
		out.fact(x.label, number(int64(x.n))) //nolint:gosec // below 2^63
		for _, name := range x.list {
			out.line("  %s", printable(name))
		}
		if more := x.n - uint64(len(x.list)); more > 0 {
			out.line("  and %s more", number(int64(more))) //nolint:gosec // as above
		}
	}
}
