package config

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	crawler "github.com/gonutch/crawler"
	"github.com/gonutch/crawler/sdk/manifest"
)

// TestData runs testdata/*. The commands of a file share a folder and what is
// in it:
//
//	file NAME         writes a file
//	manifest          makes a plugin known
//	load              loads; lines: "config FILE", "env NAME=VALUE", "-D KEY=VALUE"
//	show PREFIX...    effective values with origin; defaults only by their whole key
//	choose            chosen plugins and the chains of more than one
//	plugin ID         settings of a plugin as JSON, and the files they name
//	writers           index writers and exchanges
//	protocols         who fetches what
//	folders           where plugins are searched
//	agent             what RequireAgent says
func TestData(t *testing.T) {
	files, err := filepath.Glob("testdata/*")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		abs, err := filepath.Abs(f)
		if err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(abs); err != nil || info.IsDir() {
			continue
		}
		t.Run(filepath.Base(f), func(t *testing.T) {
			t.Chdir(t.TempDir())
			w := &world{}
			datadriven.RunTest(t, abs, w.run)
		})
	}
}

type world struct {
	manifests []*manifest.Manifest
	cfg       *Config
}

func (w *world) run(t *testing.T, d *datadriven.TestData) string {
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	out := w.command(t, d)
	out = regexp.MustCompile(`nutch-default.hcl:\d+:\d+`).ReplaceAllString(out, "nutch-default.hcl:N")
	return strings.ReplaceAll(out, dir, "$DIR")
}

func (w *world) command(t *testing.T, d *datadriven.TestData) string {
	arg := ""
	if len(d.CmdArgs) > 0 {
		arg = d.CmdArgs[0].Key
	}
	switch d.Cmd {
	case "file":
		if err := os.MkdirAll(filepath.Dir(arg), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(arg, []byte(d.Input), 0o644); err != nil {
			t.Fatal(err)
		}
		return ""
	case "manifest":
		m, err := manifest.Read("plugins/plugin.hcl", []byte(d.Input))
		if err != nil {
			return err.Error()
		}
		w.manifests = append(w.manifests, m)
		return ""
	case "load":
		return w.load(d.Input)
	case "show":
		return w.show(d)
	case "choose":
		return w.choose()
	case "plugin":
		return w.plugin(arg)
	case "protocols":
		c, err := w.cfg.Choose(w.manifests)
		if err != nil {
			return err.Error()
		}
		out := ""
		for _, r := range c.ProtocolRules {
			out += r.URL.String() + " " + r.ID + "\n"
		}
		for _, k := range sortedKeys(c.ProtocolOf) {
			out += k + " " + c.ProtocolOf[k] + "\n"
		}
		return out
	case "writers":
		return w.writers()
	case "folders":
		list, err := w.cfg.PluginFolders()
		out := ""
		for _, f := range list {
			out += fmt.Sprintf("%s optional %v (%s)\n", f.Path, f.Optional, f.Origin)
		}
		if err != nil {
			out += err.Error()
		}
		return out
	case "agent":
		if err := w.cfg.RequireAgent(); err != nil {
			return err.Error()
		}
		return "ok"
	}
	t.Fatalf("unknown command %s", d.Cmd)
	return ""
}

func (w *world) load(input string) string {
	o := Options{Defaults: crawler.Defaults()}
	for _, line := range strings.Split(input, "\n") {
		kind, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch kind {
		case "config":
			o.Files = append(o.Files, rest)
		case "env":
			o.Environ = append(o.Environ, rest)
		case "-D":
			o.Sets = append(o.Sets, rest)
		}
	}
	cfg, err := Load(o)
	if err == nil {
		w.cfg = cfg
		err = cfg.ValidatePlugins(w.manifests)
	}
	if err != nil {
		return err.Error()
	}
	return "ok"
}

func (w *world) show(d *datadriven.TestData) string {
	var b strings.Builder
	for _, v := range w.cfg.All() {
		for _, a := range d.CmdArgs {
			if v.Key == a.Key || strings.HasPrefix(v.Key, a.Key) && v.Origin.Layer != Default {
				fmt.Fprintf(&b, "%s = %s  # %s\n", v.Key, v.Text, v.Origin)
				break
			}
		}
	}
	return b.String()
}

func (w *world) choose() string {
	c, err := w.cfg.Choose(w.manifests)
	if err != nil {
		return err.Error()
	}
	return strings.Join(ids(c.Plugins), " ") + "\n" + chains(c)
}

func chains(c *Choice) string {
	var b strings.Builder
	for _, p := range manifest.Points() {
		if chain := ids(c.Chain(p)); len(chain) > 1 {
			fmt.Fprintf(&b, "%s: %s\n", p, strings.Join(chain, " "))
		}
	}
	return b.String()
}

func ids(list []*manifest.Manifest) []string {
	out := make([]string, len(list))
	for i, m := range list {
		out[i] = m.ID
	}
	return out
}

func (w *world) plugin(id string) string {
	s, files, err := w.cfg.PluginSettings(byID(w.manifests, id))
	if err != nil {
		return err.Error()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", s.Own)
	for name, raw := range s.Sections {
		fmt.Fprintf(&b, "%s: %s\n", name, raw)
	}
	for _, f := range files {
		fmt.Fprintf(&b, "file %s: %s (%s)\n", f.Setting, f.Path, f.Origin)
	}
	return b.String()
}

func (w *world) writers() string {
	var b strings.Builder
	for _, kind := range []string{"index_writer", "exchange"} {
		list, err := w.cfg.Instances(kind, w.manifests)
		if err != nil {
			return err.Error()
		}
		for _, i := range list {
			fmt.Fprintf(&b, "%s %s: %s %v rename %v copy %v remove %v writers %v default %v (%s)\n",
				i.Kind, i.Name, i.Plugin, i.Params, i.Rename, i.Copy, i.Remove, i.Writers, i.Default, i.Origin)
		}
	}
	return b.String()
}
