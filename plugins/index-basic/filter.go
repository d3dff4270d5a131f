// Package indexbasic adds the fields every index needs: url, host, domain,
// title, content, tstamp, cache.
package indexbasic

import (
	"context"
	_ "embed"
	"net/netip"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/net/publicsuffix"

	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/extension/indexingfilter"
)

//go:embed plugin.hcl
var manifest []byte

// Plugin returns the plugin.
func Plugin() sdk.Plugin { return sdk.Plugin{Manifest: manifest, New: build} }

// Config is what the filter reads of section indexer. Lengths are in
// characters, negative means no limit.
type Config struct {
	MaxTitleLength   int  `json:"max_title_length"`
	MaxContentLength int  `json:"max_content_length"`
	AddDomain        bool `json:"add_domain"`
}

func build(env sdk.Env) (*sdk.Extensions, error) {
	var c Config
	if err := env.Settings.Section("indexer", &c); err != nil {
		return nil, err
	}
	return &sdk.Extensions{IndexingFilter: &Filter{c}}, nil
}

// Filter implements Nutch's BasicIndexingFilter. The field url is the
// representative URL where one is known.
type Filter struct{ Config }

// FilterDocument implements indexingfilter.Filter.
func (f *Filter) FilterDocument(_ context.Context, in *indexingfilter.Input) (*indexingfilter.Patch, error) {
	repr := in.Datum.ReprURL
	if repr == "" {
		repr = in.URL
	}
	set := map[string][]string{
		"url":     {repr},
		"content": {cut(clean(in.Parse.Text), f.MaxContentLength)},
		"title":   {cut(clean(in.Parse.Title), f.MaxTitleLength)},
	}
	if !in.Datum.PrevFetchTime.IsZero() {
		set["tstamp"] = []string{in.Datum.PrevFetchTime.UTC().Format(time.RFC3339)}
	}
	if u, err := url.Parse(repr); err == nil && u.Hostname() != "" {
		set["host"] = []string{u.Hostname()}
		if f.AddDomain {
			set["domain"] = []string{domain(u.Hostname())}
		}
	}
	if in.Parse.Robots.NoArchive {
		set["cache"] = []string{"content"}
	}
	return &indexingfilter.Patch{Set: set}, nil
}

// domain is the registered domain by the ICANN part of the public suffix list;
// an address or a name with an unlisted suffix stands for itself.
func domain(host string) string {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if _, err := netip.ParseAddr(host); err == nil {
		return host
	}
	suffix, icann := publicsuffix.PublicSuffix(host)
	for !icann {
		_, parent, ok := strings.Cut(suffix, ".")
		if !ok {
			return host
		}
		suffix, icann = publicsuffix.PublicSuffix(parent)
	}
	rest, ok := strings.CutSuffix(host, "."+suffix)
	if !ok {
		return host
	}
	return rest[strings.LastIndexByte(rest, '.')+1:] + "." + suffix
}

// cut shortens s to n characters; a negative n leaves it whole.
func cut(s string, n int) string {
	if n < 0 || len(s) <= n {
		return s
	}
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// clean drops characters that XML, and so Solr, can't carry.
func clean(s string) string {
	if strings.IndexFunc(s, bad) < 0 {
		return s
	}
	return strings.Map(func(r rune) rune {
		if bad(r) {
			return -1
		}
		return r
	}, s)
}

func bad(r rune) bool {
	return r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0xfffe || r == 0xffff || r == utf8.RuneError
}

var _ indexingfilter.Filter = (*Filter)(nil)
