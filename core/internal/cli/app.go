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

	"github.com/gonutch/crawler/core/internal/config"
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
	json    bool
	verbose bool
}

// multi is a repeatable flag.
type multi []string

func (m *multi) String() string     { return strings.Join(*m, ",") }
func (m *multi) Set(v string) error { *m = append(*m, v); return nil }

// Run runs the program with args (without the program's name) and returns its
// exit code.
func Run(ctx context.Context, app *App, args []string) int {
	if len(args) == 0 {
		fmt.Fprint(app.Stderr, usage())
		return ExitUsage
	}
	name := args[0]
	switch name {
	case "help", "-h", "--help", "-help":
		if len(args) > 1 {
			return Run(ctx, app, []string{args[1], "--help"})
		}
		fmt.Fprint(app.Stdout, usage())
		return ExitDone
	case "version", "--version", "-version":
		fmt.Fprintf(app.Stdout, "crawler %s\n", app.Version)
		return ExitDone
	}
	c := find(name)
	if c == nil {
		fmt.Fprintf(app.Stderr, "crawler: there is no command %q%s\nRun \"crawler help\" for the list.\n", name, meant(name, commandNames()))
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
	return run(ctx, rest)
}

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
		fmt.Fprintf(app.Stderr, "crawler %s: the configuration has mistakes:\n%v\n", c.name, err)
		return ExitUsage
	}
	fmt.Fprintf(app.Stderr, "crawler %s: %v\n", c.name, err)
	if errors.As(err, &settings) {
		return ExitUsage
	}
	return ExitError
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
		}
		if err := fs.Set(f.Name, value); err != nil {
			return nil, fmt.Errorf("option --%s: %q: %w", f.Name, value, err)
		}
	}
	return rest, nil
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
	fmt.Fprintf(&b, "%s.\n\nUsage: crawler %s [OPTIONS] %s\n\nOptions:\n", strings.TrimSuffix(c.short, "."), c.name, c.args)
	fs.VisitAll(func(f *flag.Flag) {
		kind, text := flag.UnquoteUsage(f)
		dashes := "--"
		if len(f.Name) == 1 {
			dashes = "-"
		}
		fmt.Fprintf(&b, "  %-28s %s", dashes+f.Name+" "+kind, text)
		if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "0" && f.DefValue != "-1" {
			fmt.Fprintf(&b, " (default %s)", f.DefValue)
		}
		b.WriteByte('\n')
	})
	return b.String()
}

// load reads the configuration.
func (inv *invocation) load() (*config.Config, error) {
	sets := slices.Clone(inv.sets)
	if inv.dir != "" {
		sets = append(sets, "crawl.dir="+inv.dir)
	}
	if inv.verbose {
		sets = append(sets, "log.level=debug")
	}
	return config.Load(config.Options{Defaults: inv.app.Defaults, Files: inv.configs, Environ: inv.app.Environ, Sets: sets})
}
