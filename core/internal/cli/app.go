// Package cli is the command line: one file per group of commands. It parses
// flags, reads the configuration, opens the crawl directory or reaches the
// process that has it open, calls what does the work, and prints. It is the
// only package that prints; only main exits.
package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/gonutch/crawler/core/internal/config"
	"github.com/gonutch/crawler/core/internal/crawl"
	"github.com/gonutch/crawler/core/internal/cycle"
	"github.com/gonutch/crawler/core/internal/sheet"
	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/hclconf"
)

// Exit codes.
const (
	ExitDone    = 0
	ExitError   = 1
	ExitUsage   = 2
	ExitNothing = 3
)

// App is what a run of the program works with.
type App struct {
	Stdin    io.Reader
	Stdout   io.Writer
	Stderr   io.Writer
	Terminal bool // Stderr is a terminal: progress may overwrite its line
	// StdoutTerminal says that Stdout is one, too: matches may be shown in bold.
	StdoutTerminal bool
	Environ        []string
	Defaults       []byte       // nutch-default.hcl
	Builtins       []sdk.Plugin // the plugins that this binary can serve
	Version        string
	// local runs the plugins of the checkers inside this process: tests of many
	// small cases are quicker so.
	local bool
	// Interrupts delivers the user's Ctrl-C; the first stops gently, the second at
	// once.
	Interrupts <-chan struct{}
}

// usageError is a mistake on the command line.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

// configError is a mistake in the settings of a plugin, found by the plugin.
type configError struct{ err error }

func (e configError) Error() string { return e.err.Error() }
func (e configError) Unwrap() error { return e.err }

// asConfig takes what a plugin's start says is invalid for a mistake in its settings.
func asConfig(err error) error {
	if fault.Is(err, fault.Invalid) {
		return configError{err}
	}
	return err
}

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// errNothing ends a command that found nothing to do; what it had to say is
// printed already.
var errNothing = errors.New("nothing to do")

// nothing says why there is nothing to do, and ends the command with it.
func (inv *invocation) nothing(format string, args ...any) error {
	fmt.Fprintf(inv.app.Stderr, format+"\n", args...)
	return errNothing
}

// command is one verb.
type command struct {
	name    string
	args    string // usage of the arguments
	short   string
	group   string
	nutch   bool // a name that Nutch has too
	prepare func(*invocation) func(ctx context.Context, args []string) error
}

// invocation is one call of a command: its flags and the common ones.
type invocation struct {
	app     *App
	fs      *flag.FlagSet
	cmd     string
	configs multi
	sets    multi
	dir     string
	place   string // an argument that names another crawl directory than --dir
	json    bool
	verbose bool
	// interrupted says that a Ctrl-C ended the work: see interruptible.
	interrupted atomic.Bool
	out         *lineWriter // that progress is shown on; nil for none
}

// multi is a repeatable flag.
type multi []string

func (m *multi) String() string     { return strings.Join(*m, ",") }
func (m *multi) Set(v string) error { *m = append(*m, v); return nil }

// Run runs the program with args (without the program's name) and returns its
// exit code.
//
// Output that could not be written, as on a full disk, is an error whatever the command did with it.
func Run(ctx context.Context, app *App, args []string) int {
	written, out := *app, &firstError{w: app.Stdout}
	written.Stdout = out
	code := runArgs(ctx, &written, args)
	if out.err != nil && (code == ExitDone || code == ExitNothing) {
		fmt.Fprintf(app.Stderr, "crawler: the output is not whole: %v\n", out.err)
		return ExitError
	}
	return code
}

// firstError writes to w until that fails, and remembers why.
type firstError struct {
	w   io.Writer
	err error
}

func (f *firstError) Write(b []byte) (n int, err error) {
	if f.err == nil {
		n, f.err = f.w.Write(b)
	}
	return n, f.err
}

func runArgs(ctx context.Context, app *App, args []string) int {
	if len(args) == 0 {
		fmt.Fprint(app.Stderr, usage())
		return ExitUsage
	}
	name := args[0]
	switch name {
	case "help", "-h", "--help", "-help":
		if len(args) > 1 {
			return runArgs(ctx, app, []string{args[1], "--help"})
		}
		fmt.Fprint(app.Stdout, usage())
		return ExitDone
	case "version", "--version", "-version":
		fmt.Fprintf(app.Stdout, "crawler %s\n", app.Version)
		return ExitDone
	}
	c := find(name)
	if c == nil {
		hint := meant(name, commandNames())
		if ours := inNutch(name); ours != "" {
			hint = fmt.Sprintf("; what Nutch calls so is %q here", "crawler "+ours)
		}
		fmt.Fprintf(app.Stderr, "crawler: there is no command %q%s\nRun \"crawler help\" for the list.\n", name, hint)
		return ExitUsage
	}
	err := runCommand(ctx, app, c, args[1:])
	return report(app, c, err)
}

func runCommand(ctx context.Context, app *App, c *command, args []string) error {
	inv := &invocation{app: app, cmd: c.name, fs: flag.NewFlagSet(c.name, flag.ContinueOnError)}
	inv.fs.SetOutput(io.Discard)
	inv.fs.Var(&inv.configs, "config", "configuration `FILE` over the built-in defaults; repeatable, later ones win")
	inv.fs.Var(&inv.sets, "D", "set `section.key=value`, in Nutch's spelling too; repeatable")
	inv.fs.StringVar(&inv.dir, "dir", "", "crawl `DIRECTORY` (default: crawl.dir of the configuration)")
	inv.fs.BoolVar(&inv.json, "json", false, "print facts as JSON")
	inv.fs.BoolVar(&inv.verbose, "verbose", false, "log at debug level")
	run := c.prepare(inv)
	rest, err := parseFlags(inv.fs, args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(app.Stdout, commandUsage(c, inv.fs))
		return nil
	}
	if err != nil {
		return usageError{err}
	}
	err = run(ctx, rest)
	if errors.Is(err, context.Canceled) {
		switch {
		case ctx.Err() != nil:
			err = errAtOnce
		case inv.interrupted.Load():
			err = errors.New("stopped")
		}
	}
	return err
}

// errAtOnce ends a command after the second Ctrl-C.
var errAtOnce = errors.New("stopped at once; what was not committed is done again by the same command")

// report prints an error and turns it into an exit code.
func report(app *App, c *command, err error) int {
	var problems hclconf.Problems
	var usage usageError
	var settings configError
	switch {
	case err == nil:
		return ExitDone
	case errors.Is(err, errNothing):
		return ExitNothing
	case errors.As(err, &usage):
		fmt.Fprintf(app.Stderr, "crawler %s: %v\nRun \"crawler %s --help\" for its options.\n", c.name, err, c.name)
		return ExitUsage
	case errors.As(err, &problems):
		fmt.Fprintf(app.Stderr, "crawler %s: the configuration has mistakes:\n%s\n", c.name, strings.Join(mistakes(err), "\n"))
		return ExitUsage
	}
	fmt.Fprintf(app.Stderr, "crawler %s: %v\n", c.name, err)
	if errors.As(err, &settings) {
		return ExitUsage
	}
	return ExitError
}

// mistakes are the texts of joined errors, each once: several steps read the same settings.
func mistakes(err error) (texts []string) {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []string{err.Error()}
	}
	for _, e := range joined.Unwrap() {
		for _, text := range mistakes(e) {
			if !slices.Contains(texts, text) {
				texts = append(texts, text)
			}
		}
	}
	return texts
}

// parseFlags parses flags wherever they stand among the arguments, with one or two
// dashes, in our spelling (--top-n) or Nutch's (-topN).
func parseFlags(fs *flag.FlagSet, args []string) ([]string, error) {
	var rest []string
	for len(args) > 0 {
		a := args[0]
		if a == "--" {
			return append(rest, args[1:]...), nil
		}
		if len(a) < 2 || a[0] != '-' {
			rest, args = append(rest, a), args[1:]
			continue
		}
		name, value, hasValue := strings.Cut(strings.TrimLeft(a, "-"), "=")
		if name == "h" || name == "help" {
			return nil, flag.ErrHelp
		}
		if len(name) > 1 && name[0] == 'D' && fs.Lookup(name) == nil && hasValue {
			// -Dkey=value in one word, as Java tools have it.
			name, value = "D", name[1:]+"="+value
		}
		f := lookup(fs, name)
		if f == nil {
			return nil, fmt.Errorf("there is no option %s%s", strings.SplitN(a, "=", 2)[0], meant(name, flagNames(fs)))
		}
		args = args[1:]
		if b, ok := f.Value.(interface{ IsBoolFlag() bool }); ok && b.IsBoolFlag() && !hasValue {
			value, hasValue = "true", true
		}
		if !hasValue {
			if len(args) == 0 {
				return nil, fmt.Errorf("option --%s needs a value", f.Name)
			}
			value, args = args[0], args[1:]
			if next, _, _ := strings.Cut(strings.TrimLeft(value, "-"), "="); strings.HasPrefix(value, "-") && lookup(fs, next) != nil {
				return nil, fmt.Errorf("option --%s needs a value, and %s after it is an option; write --%s=%s if it is the value", f.Name, value, f.Name, value)
			}
		}
		if value == "" && (f.Name == "dir" || f.Name == "config" || f.Name == "seeds") {
			return nil, fmt.Errorf("option --%s: its value is empty (a variable of the shell that is not set?)", f.Name)
		}
		if err := fs.Set(f.Name, value); err != nil {
			return nil, fmt.Errorf("option --%s: %q: %s", f.Name, value, wanted(f, err))
		}
	}
	return rest, nil
}

// wanted says what an option takes; package flag's own words for it are "parse error".
func wanted(f *flag.Flag, err error) string {
	g, ok := f.Value.(flag.Getter)
	if !ok {
		return err.Error()
	}
	switch g.Get().(type) {
	case int, int64, uint, uint64:
		return "want a whole number"
	case float64:
		return "want a number"
	case bool:
		return "want true or false"
	case time.Duration:
		return "want a duration, such as 10s or 5m"
	}
	return err.Error()
}

// lookup finds a flag by its name, letter case and dashes aside.
func lookup(fs *flag.FlagSet, name string) *flag.Flag {
	if f := fs.Lookup(name); f != nil {
		return f
	}
	plain := func(s string) string { return strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(s)) }
	var found *flag.Flag
	fs.VisitAll(func(f *flag.Flag) {
		if plain(f.Name) == plain(name) && f.Name != "D" {
			found = f
		}
	})
	return found
}

func flagNames(fs *flag.FlagSet) []string {
	var names []string
	fs.VisitAll(func(f *flag.Flag) { names = append(names, f.Name) })
	return names
}

// meant suggests the closest of names.
func meant(name string, names []string) string {
	if s := hclconf.Suggest(name, names); s != "" {
		return fmt.Sprintf("; did you mean %q?", s)
	}
	return ""
}

// noVerb says that a command can't do what was asked of it, and what it can do.
func noVerb(command, verb string, verbs ...string) error {
	help := meant(verb, verbs)
	if help == "" {
		last := len(verbs) - 1
		help = fmt.Sprintf("; there are %s and %s", strings.Join(verbs[:last], ", "), verbs[last])
	}
	return usagef("there is no \"%s %s\"%s", command, verb, help)
}

// inNutch names what does the work of a command of Nutch that has another name here, or
// "".
func inNutch(name string) string {
	switch strings.ToLower(name) {
	case "crawl":
		return "run"
	case "showproperties":
		return "config show"
	case "junit":
		return "plugin check"
	case "solrindex", "elasticindex":
		return "index"
	case "solrdedup":
		return "dedup"
	case "solrclean":
		return "clean"
	case "commoncrawldump":
		return "warc export"
	case "urlresolver":
		return "resolveurls"
	}
	return ""
}

func find(name string) *command {
	for _, c := range commands() {
		if c.name == name {
			return c
		}
	}
	return nil
}

func commandNames() []string {
	var names []string
	for _, c := range commands() {
		names = append(names, c.name)
	}
	return names
}

func usage() string {
	var b strings.Builder
	b.WriteString("crawler fetches, parses, scores and indexes web pages, in rounds.\n\nUsage: crawler COMMAND [OPTIONS] [ARGUMENTS]\n")
	var groups []string
	for _, c := range commands() {
		if !slices.Contains(groups, c.group) {
			groups = append(groups, c.group)
		}
	}
	for _, g := range groups {
		fmt.Fprintf(&b, "\n%s:\n", g)
		for _, c := range commands() {
			if c.group == g {
				fmt.Fprintf(&b, "  %-17s %s\n", c.name, c.short)
			}
		}
	}
	b.WriteString("\n\"crawler COMMAND --help\" tells the options. Exit codes: 0 done, 1 error, 2 usage or configuration, 3 nothing to do.\n")
	return b.String()
}

func commandUsage(c *command, fs *flag.FlagSet) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s.\n\nUsage: %s\n\nOptions:\n", strings.TrimSuffix(c.short, "."), strings.TrimSuffix("crawler "+c.name+" [OPTIONS] "+c.args, " "))
	fs.VisitAll(func(f *flag.Flag) {
		kind, text := flag.UnquoteUsage(f)
		dashes := "--"
		if len(f.Name) == 1 {
			dashes = "-"
		}
		fmt.Fprintf(&b, "  %-28s %s", dashes+f.Name+" "+kind, text)
		if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "0" && f.DefValue != "0s" && f.DefValue != "-1" {
			fmt.Fprintf(&b, " (default %s)", f.DefValue)
		}
		b.WriteByte('\n')
	})
	return b.String()
}

// load reads the configuration. The error has all mistakes that can be found without asking
// plugins.
func (inv *invocation) load() (*config.Config, error) {
	cfg, err := inv.settings()
	if err == nil || cfg == nil {
		return cfg, err
	}
	_, _, perr := crawl.Plugins(cfg, inv.app.Builtins, hclog.NewNullLogger())
	rules, rerr := sheet.Load(cfg)
	_, cerr := cycle.LoadConfig(cfg, rules)
	return cfg, configError{hclconf.Merge(err, perr, rerr, cerr)}
}

// settings reads the configuration as far as its own files say what is right.
func (inv *invocation) settings() (*config.Config, error) {
	if inv.place != "" {
		return nil, usagef("%s and %s are two crawl directories: name one", inv.dir, inv.place)
	}
	sets := slices.Clone(inv.sets)
	if inv.dir != "" {
		sets = append(sets, "crawl.dir="+inv.dir)
	}
	if inv.verbose {
		sets = append(sets, "log.level=debug")
	}
	cfg, err := config.Load(config.Options{Defaults: inv.app.Defaults, Files: inv.configs, Environ: inv.app.Environ, Sets: sets})
	if err == nil && cfg.String("crawl.dir") == "" {
		err = cfg.Problem("crawl.dir", -1, "it is empty: name a folder")
	}
	return cfg, err
}
