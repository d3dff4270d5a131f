package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/gonutch/crawler/core/internal/control"
	"github.com/gonutch/crawler/core/internal/crawl"
	"github.com/gonutch/crawler/core/internal/query"
	"github.com/gonutch/crawler/sdk/extension"
	"github.com/gonutch/crawler/sdk/hclconf"
	"github.com/gonutch/crawler/sdk/plugintool"
)

// pluginFlags are the options of all plugin commands.
type pluginFlags struct {
	point, folder, writer string
}

func pluginCommand() *command {
	return &command{
		name: "plugin", args: "list | check PLUGIN | new ID | call PLUGIN [ITEM…]", group: "Plugins",
		short: "List plugins and chains, check one, begin one, ask one something",
		prepare: func(inv *invocation) func(context.Context, []string) error {
			var f pluginFlags
			inv.fs.StringVar(&f.point, "point", "", "new, call: extension `POINT` (default: by the plugin's id)")
			inv.fs.StringVar(&f.folder, "folder", ".", "new: `FOLDER` to make the plugin's folder in")
			inv.fs.StringVar(&f.writer, "writer", "", "check, call: `NAME` of the index_writer or exchange whose parameters are used")
			return func(ctx context.Context, args []string) error {
				if len(args) == 0 {
					return usagef("say what to do: plugin list, check, new or call")
				}
				verb, args := args[0], args[1:]
				if verbs := []string{"list", "check", "new", "call"}; !slices.Contains(verbs, verb) {
					return noVerb("plugin", verb, verbs...)
				}
				if verb != "list" && len(args) == 0 {
					return usagef("plugin %s needs the id or the folder of a plugin", verb)
				}
				if len(args) > 1 && verb != "call" || verb == "list" && len(args) > 0 {
					return usagef("unexpected argument %q", args[len(args)-1])
				}
				switch verb {
				case "list":
					return inv.listPlugins(ctx)
				case "check":
					return inv.checkPlugin(ctx, args[0], f)
				case "new":
					return inv.newPlugin(args[0], f)
				default:
					return inv.callPlugin(ctx, args[0], args[1:], f)
				}
			}
		},
	}
}

func (inv *invocation) listPlugins(ctx context.Context) error {
	cfg, err := inv.load()
	if err != nil {
		return err
	}
	var a query.PluginsAnswer
	ask := func(t query.Target) (err error) {
		a, err = query.Ask(ctx, t, query.Plugins(), query.PluginsQuery{})
		return err
	}
	err = served(ctx, cfg.String("crawl.dir"), func(c *control.Client) error { return ask(query.Target{Client: c}) })
	if errors.Is(err, control.ErrNotRunning) {
		manifests, choice, e := inv.plugins(cfg)
		if e != nil {
			return e
		}
		err = ask(query.Target{Source: &query.Source{Crawl: &crawl.Crawl{Config: cfg, Manifests: manifests, Choice: choice}}})
	}
	if err != nil {
		return err
	}
	return inv.print(a, func(w io.Writer) { writePlugins(w, &a) })
}

func writePlugins(w io.Writer, a *query.PluginsAnswer) {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(cells ...string) { _, _ = fmt.Fprintln(tw, strings.Join(cells, "\t")) } // as in table
	row("POINT", "PLUGINS IN THE ORDER THEY RUN")
	for _, c := range a.Chains {
		sep := " > "
		if p, ok := extension.Lookup(c.Point); ok && p.Cardinality != extension.Chain {
			sep = ", "
		}
		row(c.Point, strings.Join(c.Plugins, sep))
	}
	_ = tw.Flush()
	_, _ = fmt.Fprintln(w)
	row("PLUGIN", "VERSION", "FROM", "CHOSEN", "PROVIDES")
	running := false
	for i := range a.Plugins {
		p := &a.Plugins[i]
		from, chosen := "built in", "no"
		if p.Folder != "" {
			from = p.Folder
		}
		if p.Chosen {
			chosen = "yes"
		}
		running = running || p.Process != nil
		row(p.ID, p.Version, from, chosen, strings.Join(p.Points, ", "))
	}
	_ = tw.Flush()
	if running {
		writeProcesses(w, a)
	}
}

func writeProcesses(w io.Writer, a *query.PluginsAnswer) {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(cells ...string) { _, _ = fmt.Fprintln(tw, strings.Join(cells, "\t")) } // as in table
	row("\nPROCESS OF", "PID", "MEMORY", "CPU", "CALLS", "RECORDS", "ERRORS", "AVG CALL", "RESTARTS", "POISONOUS", "DEATHS")
	for i := range a.Plugins {
		p := a.Plugins[i].Process
		if p == nil {
			continue
		}
		pid, avg := "-", time.Duration(0)
		if p.PID != 0 {
			pid = fmt.Sprint(p.PID)
		}
		if p.Calls > 0 {
			avg = p.Latency / time.Duration(p.Calls)
		}
		memory := p.PSS
		if memory == 0 {
			memory = p.RSS
		}
		row(p.ID, pid, size(memory), span(p.CPU), number(p.Calls), number(p.Records), number(p.Errors), avg.Round(time.Microsecond).String(),
			number(max(p.Starts-1, 0)), number(p.Poisonous), counts(p.Deaths, 5))
	}
	_ = tw.Flush()
}

// newPlugin is "plugin new".
func (inv *invocation) newPlugin(id string, f pluginFlags) error {
	point := f.point
	if point == "" {
		for _, p := range extension.Points() {
			if strings.HasPrefix(id, p.Prefix) {
				point = p.Name
				break
			}
		}
	}
	if point == "" {
		var prefixes []string
		for _, p := range extension.Points() {
			prefixes = append(prefixes, p.Prefix)
		}
		return usagef("plugin id %q tells no extension point: begin it with one of %s%s", id, strings.Join(prefixes, " "), hclconf.DidYouMean(id, prefixes))
	}
	files, err := plugintool.New(f.folder, id, point)
	if err != nil {
		return asUsage(err)
	}
	a := struct {
		ID    string   `json:"id"`
		Point string   `json:"point"`
		Files []string `json:"files"`
	}{id, point, files}
	return inv.print(a, func(w io.Writer) {
		out := table{w: w}
		for _, name := range files {
			out.line("%s", name)
		}
		out.line("\nBuild it, check it, ask it something:\n  (cd %[1]s/%[2]s && go build -o %[2]s .)   # outside of a Go module its README.md says what comes before\n  crawler plugin check %[1]s/%[2]s\n  crawler plugin call %[1]s/%[2]s %[3]s\nUse it: name the folder %[1]s in plugin { folders = [...] } and %[2]s in add = [...].",
			strings.TrimRight(f.folder, "/"), id, exampleItem(point))
	})
}

// exampleItem is an item of the point as the shell takes it.
func exampleItem(point string) string {
	for _, form := range plugintool.Calls() {
		if form.Point == point {
			if s := strings.Trim(form.Example, `"`); !strings.ContainsAny(s, `"{`) {
				return s
			}
			return "'" + form.Example + "'"
		}
	}
	return ""
}
