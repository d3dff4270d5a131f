// Package urlnormalizerslash adds or removes the slash at the end of the paths of
// listed hosts, for sites that serve the same pages with and without it. It owns
// the form of the rule file.
package urlnormalizerslash

import (
	"context"
	_ "embed"
	"errors"
	"strings"

	"github.com/gonutch/crawler/plugins/internal/librule"
	"github.com/gonutch/crawler/plugins/internal/liburl"
	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/extension/urlnormalizer"
)

//go:embed plugin.hcl
var manifest []byte

// Plugin returns the plugin.
func Plugin() sdk.Plugin { return sdk.Plugin{Manifest: manifest, New: build} }

func build(env sdk.Env) (*sdk.Extensions, error) {
	n, lines, err := librule.Build(env.Settings, "", New)
	if err != nil {
		return nil, err
	}
	if n.hosts.Len() == 0 {
		env.Logger.Warn("there are no rules: every URL stays as it is", "rules", lines.Name)
	}
	for _, l := range n.replaced {
		env.Logger.Warn("the host has another rule further down, which holds", "line", l.String())
	}
	return &sdk.Extensions{URLNormalizer: n}, nil
}

type rule struct {
	add  bool
	line librule.Line
}

// Normalizer adds or removes slashes (Nutch's SlashURLNormalizer). It is
// idempotent and safe for concurrent use.
type Normalizer struct {
	hosts    liburl.Hosts[rule]
	replaced []librule.Line // rules of hosts that have a later one
}

// New reads lines of a host and + or -, separated by white space, with #
// comments. All faulty lines are reported together.
func New(lines *librule.Lines) (*Normalizer, error) {
	n := &Normalizer{}
	var errs []error
	for _, l := range lines.Lines {
		if l.Empty() {
			continue
		}
		f := strings.Fields(l.Text)
		if len(f) != 2 || f[1] != "+" && f[1] != "-" {
			errs = append(errs, l.Errorf("%q: want a host, or *.domain, and + or -", l.Text))
			continue
		}
		r := rule{f[1] == "+", l}
		old, had, err := n.hosts.Set(f[0], r)
		if err != nil {
			errs = append(errs, l.Errorf("%w", err))
		}
		if had && old.add != r.add {
			n.replaced = append(n.replaced, old.line)
		}
	}
	return n, errors.Join(errs...)
}

// NormalizeURL implements urlnormalizer.Normalizer. The scope makes no
// difference.
func (n *Normalizer) NormalizeURL(_ context.Context, _ urlnormalizer.Scope, url string) (urlnormalizer.Result, error) {
	if url == "" {
		return urlnormalizer.Result{Reason: "empty URL"}, nil
	}
	p := liburl.Split(url)
	r, ok := n.hosts.Get(liburl.HostKey(p.Host))
	if !ok {
		return urlnormalizer.Result{URL: url}, nil
	}
	path := p.Path
	switch {
	case r.add && !strings.HasSuffix(path, "/") && !looksLikeFile(path):
		path += "/"
	case !r.add && strings.HasSuffix(path, "/"):
		if path = strings.TrimRight(path, "/"); path == "" {
			path = "/" // the root has nothing but its slash
		}
	}
	if path == p.Path {
		return urlnormalizer.Result{URL: url}, nil
	}
	p.Path = path
	return urlnormalizer.Result{URL: p.String(), Reason: r.line.String()}, nil
}

// looksLikeFile reports whether the last segment of path has a dot among its
// last five characters: a file name with an extension.
func looksLikeFile(path string) bool {
	last := path[strings.LastIndexByte(path, '/')+1:]
	return strings.Contains(last[max(0, len(last)-5):], ".")
}

var _ urlnormalizer.Normalizer = (*Normalizer)(nil)
