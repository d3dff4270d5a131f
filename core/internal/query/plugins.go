package query

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gonutch/crawler/core/internal/chain"
	"github.com/gonutch/crawler/core/internal/pluginhost"
	"github.com/gonutch/crawler/sdk/extension"
	"github.com/gonutch/crawler/sdk/manifest"
)

// PluginsQuery asks for the plugins.
type PluginsQuery struct{}

// PluginsAnswer lists the plugins and the chains they form.
type PluginsAnswer struct {
	Chains  []chain.PointChain `json:"chains"`
	Plugins []Plugin           `json:"plugins"` // by id
}

// Plugin is a plugin that is known.
type Plugin struct {
	ID      string            `json:"id"`
	Name    string            `json:"name,omitempty"`
	Version string            `json:"version,omitempty"`
	Folder  string            `json:"folder,omitempty"` // "" when built in
	Points  []string          `json:"points"`
	Chosen  bool              `json:"chosen"`
	Process *pluginhost.Stats `json:"process,omitempty"` // when it was started
}

// Plugins is the verb of "plugin list". Of the Source's Crawl it needs
// Manifests and Choice only.
func Plugins() Verb[PluginsQuery, PluginsAnswer] {
	return Verb[PluginsQuery, PluginsAnswer]{"plugins", func(_ context.Context, s *Source, _ PluginsQuery) (PluginsAnswer, error) {
		return plugins(s), nil
	}}
}

func plugins(s *Source) PluginsAnswer {
	a := PluginsAnswer{Chains: []chain.PointChain{}, Plugins: []Plugin{}}
	c := s.Crawl
	for _, p := range extension.Points() {
		pc := chain.PointChain{Point: p.Name}
		for _, m := range c.Choice.Chain(p.Name) {
			pc.Plugins = append(pc.Plugins, m.ID)
		}
		if len(pc.Plugins) > 0 {
			a.Chains = append(a.Chains, pc)
		}
	}
	processes := map[string]*pluginhost.Stats{}
	if c.Host != nil {
		for _, st := range c.Host.Stats() {
			processes[st.ID] = &st
		}
	}
	for _, m := range c.Manifests {
		p := Plugin{ID: m.ID, Name: m.Name, Version: m.Version, Process: processes[m.ID], Chosen: slices.Contains(c.Choice.Plugins, m), Points: points(m)}
		if len(m.Command) > 0 {
			p.Folder = filepath.Dir(m.File)
		}
		a.Plugins = append(a.Plugins, p)
	}
	slices.SortFunc(a.Plugins, func(x, y Plugin) int { return strings.Compare(x.ID, y.ID) })
	return a
}

func points(m *manifest.Manifest) []string {
	var out []string
	for _, p := range m.Provides {
		if !slices.Contains(out, p.Point) {
			out = append(out, p.Point)
		}
	}
	return out
}
