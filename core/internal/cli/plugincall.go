package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gonutch/crawler/core/internal/config"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/manifest"
	"github.com/gonutch/crawler/sdk/plugintool"
)

// asUsage makes wrong input a mistake on the command line.
func asUsage(err error) error {
	if fault.Is(err, fault.Invalid) {
		return usageError{err}
	}
	return err
}

// single is one plugin that is started outside a crawl.
type single struct {
	plugin   *plugintool.Plugin
	settings plugintool.Settings
}

// openPlugin finds a plugin by the path of its folder, or by its id among those
// that the configuration knows, and its settings. The plugin's data folder is dir.
func (inv *invocation) openPlugin(name string, f pluginFlags, dir string) (*single, error) {
	cfg, err := inv.load()
	if err != nil {
		return nil, err
	}
	manifests, choice, err := inv.plugins(cfg)
	if err != nil {
		return nil, err
	}
	var s single
	if strings.ContainsRune(name, filepath.Separator) || name == "." || name == ".." {
		s.plugin, err = plugintool.Open(name)
	} else {
		s.plugin, err = openKnown(manifests, name)
	}
	if err != nil {
		return nil, asUsage(err)
	}
	s.settings, err = settingsOf(cfg, choice, s.plugin.Manifest(), f.writer)
	s.settings.DataDir = dir
	return &s, err
}

func openKnown(manifests []*manifest.Manifest, id string) (*plugintool.Plugin, error) {
	var ids []string
	for _, m := range manifests {
		if m.ID != id {
			ids = append(ids, m.ID)
			continue
		}
		if len(m.Command) > 0 {
			return plugintool.Open(filepath.Dir(m.File))
		}
		exe, err := os.Executable()
		if err != nil {
			return nil, err
		}
		return plugintool.OpenBuiltin(exe, m.Source)
	}
	return nil, usagef("there is no plugin %q%s; a plugin's folder is named by a path, such as ./%s", id, meant(id, ids), id)
}

// settingsOf returns what the configuration gives to the plugin.
func settingsOf(cfg *config.Config, choice *config.Choice, m *manifest.Manifest, instance string) (plugintool.Settings, error) {
	own, _, err := cfg.PluginSettings(m)
	if err != nil {
		return plugintool.Settings{}, err
	}
	s := plugintool.Settings{Own: string(own.Own), Sections: map[string]string{}}
	for name, raw := range own.Sections {
		s.Sections[name] = string(raw)
	}
	found := instance == ""
	for _, kind := range []string{"index_writer", "exchange"} {
		instances, err := cfg.Instances(kind, choice.Plugins)
		if err != nil {
			return s, err
		}
		for _, in := range instances {
			if in.Plugin == m.ID && s.Params == nil && (instance == "" || instance == in.Name) {
				s.Params, found = maps.Clone(in.Params), true
			}
		}
	}
	if !found {
		return s, usagef("there is no index_writer or exchange %q of plugin %s", instance, m.ID)
	}
	return s, nil
}

// withPlugin calls f with the plugin and an empty data folder.
func (inv *invocation) withPlugin(name string, f pluginFlags, do func(*single) error) error {
	dir, err := os.MkdirTemp("", "crawler-plugin-")
	if err != nil {
		return err
	}
	s, err := inv.openPlugin(name, f, dir)
	if err == nil {
		err = do(s)
	}
	return errors.Join(err, os.RemoveAll(dir))
}

// checkResult is one check in JSON.
type checkResult struct {
	Name     string   `json:"name"`
	OK       bool     `json:"ok"`
	Skipped  string   `json:"skipped,omitempty"`
	Failures []string `json:"failures,omitempty"`
}

// checkPlugin is "plugin check".
func (inv *invocation) checkPlugin(ctx context.Context, name string, f pluginFlags) error {
	return inv.withPlugin(name, f, func(s *single) error {
		results := []checkResult{}
		out := table{w: inv.app.Stdout}
		failed, err := s.plugin.Check(ctx, s.settings, func(r plugintool.Result) {
			results = append(results, checkResult{r.Name, r.OK(), r.Skipped, r.Failures})
			if !inv.json {
				writeCheck(&out, &r)
			}
		})
		if inv.json {
			err = errors.Join(err, inv.print(results, nil))
		}
		if err == nil && failed > 0 {
			err = fmt.Errorf("plugin %s: %d of %d checks failed", s.plugin.Manifest().ID, failed, len(results))
		}
		if err == nil && !inv.json {
			out.line("plugin %s: all is well", s.plugin.Manifest().ID)
		}
		return err
	})
}

func writeCheck(out *table, r *plugintool.Result) {
	switch {
	case !r.OK():
		out.line("FAILED   %s", r.Name)
		for _, f := range r.Failures {
			out.line("           %s", strings.ReplaceAll(printableLines(f), "\n", "\n           "))
		}
	case r.Skipped != "":
		out.line("skipped  %s: %s", r.Name, r.Skipped)
	default:
		out.line("ok       %s", r.Name)
	}
}

// callPlugin is "plugin call".
func (inv *invocation) callPlugin(ctx context.Context, name string, args []string, f pluginFlags) error {
	return inv.withPlugin(name, f, func(s *single) error {
		m := s.plugin.Manifest()
		point := f.point
		if point == "" {
			point = m.Provides[0].Point
		}
		if len(args) == 0 || slices.Equal(args, []string{"-"}) {
			var err error
			if args, err = readItems(inv.app.Stdin); err != nil {
				return err
			}
		}
		input, err := callInput(point, args)
		if err != nil {
			return err
		}
		raw, err := s.plugin.Call(ctx, s.settings, point, input)
		if err != nil {
			return asUsage(err)
		}
		var answers []callAnswer
		if err := json.Unmarshal(raw, &answers); err != nil {
			return fmt.Errorf("read answers of plugin %s: %w", m.ID, err)
		}
		return errors.Join(inv.print(answers, func(w io.Writer) { writeAnswers(w, args, answers) }), failures(m.ID, answers))
	})
}

// callAnswer is the answer to one item.
type callAnswer struct {
	Answer json.RawMessage `json:"answer,omitempty"`
	Error  string          `json:"error,omitempty"`
	Kind   string          `json:"kind,omitempty"`
}

func failures(id string, answers []callAnswer) error {
	n := 0
	for _, a := range answers {
		if a.Error != "" {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	return fmt.Errorf("plugin %s: %d of %d items failed", id, n, len(answers))
}

func writeAnswers(w io.Writer, items []string, answers []callAnswer) {
	out := table{w: w}
	for i, a := range answers {
		text := string(a.Answer)
		if a.Error != "" {
			text = "error (" + a.Kind + "): " + printable(a.Error)
		}
		if i < len(items) && !json.Valid([]byte(items[i])) {
			text = printable(items[i]) + "\t" + text
		}
		out.line("%s", text)
	}
}

// maxLine bounds a line of items on standard input.
const maxLine = 64 << 20

// readItems reads one item a line.
func readItems(r io.Reader) ([]string, error) {
	var out []string
	sc := bufio.NewScanner(r)
	sc.Buffer(nil, maxLine)
	for sc.Scan() {
		if s := strings.TrimSpace(sc.Text()); s != "" {
			out = append(out, s)
		}
	}
	if err := sc.Err(); err != nil {
		return nil, fmt.Errorf("read items: %w", err)
	}
	return out, nil
}

// callInput makes the JSON array of items. An item that is no JSON is a plain
// text: a URL, the words of a search, or for a parser the name of a file.
func callInput(point string, args []string) (json.RawMessage, error) {
	if len(args) == 0 {
		return nil, usagef("no items given; an item is %s", formOf(point))
	}
	items := make([]json.RawMessage, len(args))
	for i, a := range args {
		if strings.ContainsAny(a[:min(1, len(a))], `{["`) {
			if !json.Valid([]byte(a)) {
				return nil, usagef("item %d is no JSON: %s", i+1, cut(a, 60))
			}
			items[i] = json.RawMessage(a)
			continue
		}
		v, err := plainItem(point, a)
		if err != nil {
			return nil, err
		}
		if items[i], err = json.Marshal(v); err != nil {
			return nil, err
		}
	}
	return json.Marshal(items)
}

func plainItem(point, text string) (any, error) {
	switch point {
	case manifest.Protocol, manifest.URLFilter, manifest.URLNormalizer:
		return text, nil
	case manifest.Searcher:
		return map[string]string{"Text": text}, nil
	case manifest.Parser:
		body, err := os.ReadFile(text)
		if err != nil {
			return nil, usagef("item %q: a parser takes a file or %s: %w", text, formOf(point), err)
		}
		kind, _, _ := strings.Cut(mime.TypeByExtension(filepath.Ext(text)), ";")
		if kind == "" {
			kind = "text/html"
		}
		return map[string]any{"URL": "http://example.org/" + filepath.Base(text), "MIMEType": kind, "ContentType": kind, "Body": body}, nil
	}
	return nil, usagef("item %q: want %s", text, formOf(point))
}

func formOf(point string) string {
	for _, f := range plugintool.Calls() {
		if f.Point == point {
			return f.Item + ", such as " + f.Example
		}
	}
	return "JSON"
}
