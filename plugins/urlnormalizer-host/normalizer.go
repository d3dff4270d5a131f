// Package urlnormalizerhost replaces the hosts of URLs, for sites that go by
// several names. It owns the form of the rule file.
package urlnormalizerhost

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
	target string // after all rules that lead on from it
	line   librule.Line
}

// Normalizer replaces hosts (Nutch's HostURLNormalizer). Where rules lead from
// one to the next, a URL gets the last host at once, so that normalizing is
// idempotent. It is safe for concurrent use.
type Normalizer struct {
	hosts    liburl.Hosts[*rule]
	replaced []librule.Line // rules of hosts that have a later one
}

// New reads lines of a host and its replacement, separated by white space, with
// # comments. All faulty lines are reported together.
func New(lines *librule.Lines) (*Normalizer, error) {
	n := &Normalizer{}
	var rules []*rule
	var errs []error
	for _, l := range lines.Lines {
		if l.Empty() {
			continue
		}
		f := strings.Fields(l.Text)
		if len(f) != 2 {
			errs = append(errs, l.Errorf("%d words; want a host, or *.domain, and the host that replaces it", len(f)))
			continue
		}
		if err := liburl.CheckHost(f[1]); err != nil {
			errs = append(errs, l.Errorf("%w", err))
			continue
		}
		r := &rule{target: f[1], line: l}
		old, had, err := n.hosts.Set(f[0], r)
		if err != nil {
			errs = append(errs, l.Errorf("%w", err))
			continue
		}
		if had && liburl.HostKey(old.target) != liburl.HostKey(r.target) {
			n.replaced = append(n.replaced, old.line)
		}
		rules = append(rules, r)
	}
	targets := make([]string, len(rules))
	for i, r := range rules {
		var err error
		if targets[i], err = n.follow(r, len(rules)); err != nil {
			errs = append(errs, err)
		}
	}
	for i, r := range rules {
		r.target = targets[i]
	}
	return n, errors.Join(errs...)
}

// follow returns the host that the rules lead to from r.
func (n *Normalizer) follow(r *rule, rules int) (string, error) {
	path := []string{r.target}
	for {
		key := liburl.HostKey(path[len(path)-1])
		next, ok := n.hosts.Get(key)
		if !ok || liburl.HostKey(next.target) == key {
			return path[len(path)-1], nil
		}
		path = append(path, next.target)
		if len(path) > rules+1 {
			return "", r.line.Errorf("the rules lead in a circle: %s …", strings.Join(path[:min(len(path), 5)], " → "))
		}
	}
}

// NormalizeURL implements urlnormalizer.Normalizer. The scope makes no
// difference.
func (n *Normalizer) NormalizeURL(_ context.Context, _ urlnormalizer.Scope, url string) (urlnormalizer.Result, error) {
	if url == "" {
		return urlnormalizer.Result{Reason: "empty URL"}, nil
	}
	p := liburl.Split(url)
	key := liburl.HostKey(p.Host)
	r, ok := n.hosts.Get(key)
	if !ok || liburl.HostKey(r.target) == key {
		return urlnormalizer.Result{URL: url}, nil
	}
	p.Host = r.target
	return urlnormalizer.Result{URL: p.String(), Reason: r.line.String()}, nil
}

var _ urlnormalizer.Normalizer = (*Normalizer)(nil)
