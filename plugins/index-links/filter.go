// Package indexlinks makes fields of a document's outlinks and inlinks.
package indexlinks

import (
	"context"
	_ "embed"
	"net/url"
	"strings"

	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/extension/indexingfilter"
)

//go:embed plugin.hcl
var manifest []byte

// Plugin returns the plugin.
func Plugin() sdk.Plugin { return sdk.Plugin{Manifest: manifest, New: build} }

type config struct {
	OutlinksHostIgnore bool `json:"outlinks_host_ignore"`
	InlinksHostIgnore  bool `json:"inlinks_host_ignore"`
	HostsOnly          bool `json:"hosts_only"`
	MaxLinks           int  `json:"max_links"`
}

func build(env sdk.Env) (*sdk.Extensions, error) {
	var c config
	if err := env.Settings.Decode(&c); err != nil {
		return nil, err
	}
	return &sdk.Extensions{IndexingFilter: &Filter{c}}, nil
}

// Filter implements Nutch's LinksIndexingFilter. Each link counts once.
type Filter struct{ config }

// FilterDocument implements indexingfilter.Filter.
func (f *Filter) FilterDocument(_ context.Context, in *indexingfilter.Input) (*indexingfilter.Patch, error) {
	own := host(in.URL)
	out := f.newList(own, f.OutlinksHostIgnore)
	for i := range in.Parse.Outlinks {
		out.add(in.Parse.Outlinks[i].URL)
	}
	back := f.newList(own, f.InlinksHostIgnore)
	for i := range in.Inlinks {
		back.add(in.Inlinks[i].From)
	}
	set := map[string][]string{}
	if out.links != nil {
		set["outlinks"] = out.links
	}
	if back.links != nil {
		set["inlinks"] = back.links
	}
	if len(set) == 0 {
		return nil, nil
	}
	return &indexingfilter.Patch{Set: set}, nil
}

type list struct {
	*Filter
	own    string
	ignore bool // links of host own
	seen   map[string]bool
	links  []string
}

func (f *Filter) newList(own string, ignore bool) *list {
	return &list{Filter: f, own: own, ignore: ignore, seen: map[string]bool{}}
}

func (l *list) add(link string) {
	if len(l.links) >= l.MaxLinks {
		return
	}
	if l.ignore || l.HostsOnly {
		h := host(link)
		if l.ignore && h == l.own {
			return
		}
		if l.HostsOnly {
			link = h
		}
	}
	if link != "" && !l.seen[link] {
		l.seen[link] = true
		l.links = append(l.links, link)
	}
}

func host(s string) string {
	u, err := url.Parse(s)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Hostname())
}

var _ indexingfilter.Filter = (*Filter)(nil)
