package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/go-hclog"

	"github.com/gonutch/crawler/core/internal/config"
	"github.com/gonutch/crawler/core/internal/crawl"
	"github.com/gonutch/crawler/core/internal/cycle"
	"github.com/gonutch/crawler/core/internal/sheet"
	"github.com/gonutch/crawler/sdk/hclconf"
	"github.com/gonutch/crawler/sdk/manifest"
)

func configCommand() *command {
	return &command{
		name: "config", args: "show [KEY…] | check | import NUTCH-SITE.XML [FILE]", short: "Show or check the effective configuration, or translate Nutch's", group: "Looking",
		prepare: func(inv *invocation) func(context.Context, []string) error {
			origin := inv.fs.Bool("origin", false, "with show: where each value comes from")
			meaning := inv.fs.Bool("meaning", false, "with show: what each setting means, and its Nutch property")
			changed := inv.fs.Bool("changed", false, "with show: only what is not a default")
			return func(ctx context.Context, args []string) error {
				if len(args) == 0 {
					return usagef("say what to do: config show [KEY…], config check, or config import NUTCH-SITE.XML [FILE]")
				}
				switch args[0] {
				case "show":
					return inv.showConfig(args[1:], showOptions{*origin, *meaning, *changed})
				case "check":
					if len(args) > 1 {
						return usagef("unexpected argument %q", args[1])
					}
					return inv.checkConfig(ctx)
				case "import":
					if len(args) != 2 && len(args) != 3 {
						return usagef("want config import NUTCH-SITE.XML [FILE]; --dir names the folder of the other files when it is another")
					}
					return inv.importConfig(args[1:])
				}
				return noVerb("config", args[0], "show", "check", "import")
			}
		},
	}
}

type showOptions struct{ origin, meaning, changed bool }

// shownValue is a value in JSON.
type shownValue struct {
	Key     string `json:"key"`
	Value   string `json:"value"` // as HCL writes it
	Origin  string `json:"origin"`
	Default bool   `json:"default"`
	Type    string `json:"type,omitempty"`
	Nutch   string `json:"nutch,omitempty"`
	Meaning string `json:"meaning,omitempty"`
	Hidden  bool   `json:"hidden,omitempty"`
}

func (inv *invocation) showConfig(keys []string, o showOptions) error {
	cfg, err := inv.load()
	if err != nil {
		return err
	}
	manifests, choice, err := inv.plugins(cfg)
	if err != nil {
		return err
	}
	values := append(cfg.All(), pluginDefaults(cfg, manifests)...)
	more, err := parameterDefaults(cfg, choice)
	if err != nil {
		return err
	}
	values = append(values, more...)
	core := len(cfg.Sections())
	slices.SortStableFunc(values, func(a, b config.Value) int {
		x, y := sectionRank(cfg, core, a.Key), sectionRank(cfg, core, b.Key)
		if x == core && y == core {
			return strings.Compare(a.Key, b.Key)
		}
		return x - y
	})
	if values, err = selectValues(values, keys); err != nil {
		return err
	}
	if o.changed {
		values = slices.DeleteFunc(values, func(v config.Value) bool { return v.Origin.Layer == config.Default })
	}
	shown := []shownValue{}
	for _, v := range values {
		shown = append(shown, shownValue{
			Key: v.Key, Value: v.Text, Origin: v.Origin.String(), Default: v.Origin.Layer == config.Default,
			Type: string(v.Type), Nutch: v.Nutch, Meaning: v.Meaning, Hidden: v.Redacted,
		})
	}
	return inv.print(shown, func(w io.Writer) { writeConfig(w, shown, o) })
}

// sectionRank keeps the core's sections before plugins and instances, whose
// values and defaults come from two places.
func sectionRank(cfg *config.Config, core int, key string) int {
	section, rest, _ := strings.Cut(key, ".")
	if i := slices.Index(cfg.Sections(), section); i >= 0 && (section != "plugin" || !strings.Contains(rest, ".")) {
		return i
	}
	return core
}

func writeConfig(w io.Writer, values []shownValue, o showOptions) {
	out := table{w: w}
	for _, v := range values {
		if o.meaning {
			for l := range strings.Lines(strings.TrimSpace(v.Meaning)) {
				out.line("# %s", strings.TrimSpace(l))
			}
			if v.Nutch != "" {
				out.line("# Nutch: %s", v.Nutch)
			}
		}
		if o.origin {
			out.line("%-60s # %s", v.Key+" = "+v.Value, v.Origin)
		} else {
			out.line("%s = %s", v.Key, v.Value)
		}
	}
}

// pluginDefaults returns the settings of plugins that no layer sets.
func pluginDefaults(cfg *config.Config, manifests []*manifest.Manifest) []config.Value {
	var out []config.Value
	for _, m := range slices.SortedFunc(slices.Values(manifests), func(a, b *manifest.Manifest) int { return strings.Compare(a.ID, b.ID) }) {
		for i := range m.Settings {
			s := &m.Settings[i]
			key := "plugin." + m.ID + "." + s.Name
			if _, ok := cfg.Get(key); !ok {
				out = append(out, defaultValue(key, s, m))
			}
		}
	}
	return out
}

func defaultValue(key string, s *manifest.Setting, m *manifest.Manifest) config.Value {
	return config.Value{
		Key: key, Text: manifest.Literal(s.Default), Type: s.Type, Meaning: s.Meaning, Nutch: s.Nutch,
		Origin: config.Origin{File: m.ID + "/plugin.hcl", Line: s.Line, Column: 1},
	}
}

// parameterDefaults returns the parameters of index writers and exchanges that no
// layer sets.
func parameterDefaults(cfg *config.Config, choice *config.Choice) ([]config.Value, error) {
	var out []config.Value
	for _, kind := range []string{"index_writer", "exchange"} {
		instances, err := cfg.Instances(kind, choice.Plugins)
		if err != nil {
			return nil, err
		}
		for _, in := range instances {
			i := slices.IndexFunc(choice.Plugins, func(m *manifest.Manifest) bool { return m.ID == in.Plugin })
			if i < 0 {
				continue
			}
			m := choice.Plugins[i]
			for _, name := range slices.Sorted(maps.Keys(in.Params)) {
				key := kind + "." + in.Name + "." + name
				if _, ok := cfg.Get(key); ok {
					continue
				}
				if p := slices.IndexFunc(m.Parameters, func(s manifest.Setting) bool { return s.Name == name }); p >= 0 {
					out = append(out, defaultValue(key, &m.Parameters[p], m))
				}
			}
		}
	}
	return out, nil
}

// selectValues picks values by key, section, plugin or Nutch property, or else
// by the beginning of one.
func selectValues(values []config.Value, keys []string) ([]config.Value, error) {
	if len(keys) == 0 {
		return values, nil
	}
	var out []config.Value
	for _, key := range keys {
		found := matching(values, func(v *config.Value) bool {
			return v.Key == key || v.Nutch == key || strings.HasPrefix(v.Key, strings.TrimSuffix(key, ".")+".") ||
				strings.HasPrefix(v.Key, "plugin."+key+".")
		})
		if found == nil {
			found = matching(values, func(v *config.Value) bool { return strings.HasPrefix(v.Key, key) || strings.HasPrefix(v.Nutch, key) })
		}
		out = append(out, found...)
		if found == nil {
			return nil, usagef("there is no setting %q%s", key, meant(key, settingNames(values)))
		}
	}
	return out, nil
}

func matching(values []config.Value, ok func(*config.Value) bool) (out []config.Value) {
	for i := range values {
		if ok(&values[i]) {
			out = append(out, values[i])
		}
	}
	return out
}

func settingNames(values []config.Value) []string {
	var names []string
	for _, v := range values {
		names = append(names, v.Key)
		if v.Nutch != "" {
			names = append(names, v.Nutch)
		}
	}
	return names
}

// checkConfig does what every command does before its work, asks the plugins about their
// settings and parameters, and says that all is well. Mistakes of all kinds are told
// together, but for those that may follow from others.
func (inv *invocation) checkConfig(ctx context.Context) error {
	cfg, err := inv.settings()
	if cfg == nil {
		return err
	}
	ctx, stop := inv.interruptible(ctx)
	defer stop()
	manifests, choice, perr := crawl.Plugins(cfg, inv.app.Builtins, inv.quietLog(cfg))
	rules, rerr := sheet.Load(cfg)
	_, cerr := cycle.LoadConfig(cfg, rules)
	errs := []error{err, perr, rerr, cerr, cfg.RequireAgent()}
	if choice != nil {
		errs = append(errs, inv.askPlugins(ctx, cfg))
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	if err := hclconf.Merge(errs...); err != nil {
		return configError{err}
	}
	changed := 0
	for _, v := range cfg.All() {
		if v.Origin.Layer != config.Default {
			changed++
		}
	}
	a := struct {
		OK      bool     `json:"ok"`
		Files   []string `json:"files"`
		Changed int      `json:"changed"`
		Plugins int      `json:"plugins"`
		Known   int      `json:"known_plugins"`
	}{true, append([]string{}, inv.configs...), changed, len(choice.Plugins), len(manifests)}
	return inv.print(a, func(w io.Writer) {
		_, _ = fmt.Fprintf(w, "The configuration is fine: %s not at the default, %d of %d plugins chosen.\n",
			plural(int64(changed), "setting"), len(choice.Plugins), len(manifests)) // as in table
	})
}

// askPlugins lets the plugins check what only they understand.
func (inv *invocation) askPlugins(ctx context.Context, cfg *config.Config) error {
	c, err := crawl.Open(ctx, crawl.Options{
		Config: cfg, Builtins: inv.app.Builtins, Log: hclog.NewNullLogger(), Command: "crawler " + inv.cmd, NoStore: true, Despite: true, Version: inv.app.Version, Local: inv.app.local,
	})
	if err != nil {
		return asConfig(err)
	}
	return errors.Join(c.Check(ctx), c.Close(context.WithoutCancel(ctx)))
}
