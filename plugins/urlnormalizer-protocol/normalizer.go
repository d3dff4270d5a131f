// Package urlnormalizerprotocol gives the URLs of listed hosts one of the
// schemes http and https, for sites that serve the same pages by both. It owns
// the form of the rule file.
package urlnormalizerprotocol

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
	scheme string // with its colon
	line   librule.Line
}

// Normalizer gives URLs the scheme of their host's rule (Nutch's
// ProtocolURLNormalizer). It is idempotent and safe for concurrent use.
type Normalizer struct {
	hosts    liburl.Hosts[rule]
	replaced []librule.Line // rules of hosts that have a later one
}

// New reads lines of a host and its protocol, separated by white space, with #
// comments. All faulty lines are reported together.
func New(lines *librule.Lines) (*Normalizer, error) {
	n := &Normalizer{}
	var errs []error
	for _, l := range lines.Lines {
		if l.Empty() {
			continue
		}
		f := strings.Fields(l.Text)
		if len(f) != 2 {
			errs = append(errs, l.Errorf("%d words; want a host, or *.domain, and http or https", len(f)))
			continue
		}
		r := rule{strings.ToLower(f[1]) + ":", l}
		if r.scheme != "http:" && r.scheme != "https:" {
			errs = append(errs, l.Errorf("protocol %q; want http or https", f[1]))
			continue
		}
		old, had, err := n.hosts.Set(f[0], r)
		if err != nil {
			errs = append(errs, l.Errorf("%w", err))
		}
		if had && old.scheme != r.scheme {
			n.replaced = append(n.replaced, old.line)
		}
	}
	return n, errors.Join(errs...)
}

// NormalizeURL implements urlnormalizer.Normalizer. The scope makes no
// difference. A URL with a port stays as it is: the port belongs to its scheme.
func (n *Normalizer) NormalizeURL(_ context.Context, _ urlnormalizer.Scope, url string) (urlnormalizer.Result, error) {
	if url == "" {
		return urlnormalizer.Result{Reason: "empty URL"}, nil
	}
	p := liburl.Split(url)
	if p.Port != "" || !p.Is("http", "https") {
		return urlnormalizer.Result{URL: url}, nil
	}
	r, ok := n.hosts.Get(liburl.HostKey(p.Host))
	if !ok || strings.EqualFold(p.Scheme, r.scheme) {
		return urlnormalizer.Result{URL: url}, nil
	}
	p.Scheme = r.scheme
	return urlnormalizer.Result{URL: p.String(), Reason: r.line.String()}, nil
}

var _ urlnormalizer.Normalizer = (*Normalizer)(nil)
