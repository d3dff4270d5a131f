// Package urlnormalizerajax turns hash-bang URLs (#!state) into those that
// servers answer by the AJAX crawling scheme (?_escaped_fragment_=state), and
// back in the scope of the indexer.
package urlnormalizerajax

import (
	"context"
	_ "embed"
	"strconv"
	"strings"

	"github.com/gonutch/crawler/plugins/internal/liburl"
	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/extension/urlnormalizer"
)

//go:embed plugin.hcl
var manifest []byte

const param = "_escaped_fragment_="

// Plugin returns the plugin.
func Plugin() sdk.Plugin {
	return sdk.Plugin{Manifest: manifest, New: func(sdk.Env) (*sdk.Extensions, error) {
		return &sdk.Extensions{URLNormalizer: Normalizer{}}, nil
	}}
}

// Normalizer translates hash-bang URLs (Nutch's AjaxURLNormalizer). It is
// idempotent in every scope and safe for concurrent use.
type Normalizer struct{}

// NormalizeURL implements urlnormalizer.Normalizer.
func (Normalizer) NormalizeURL(_ context.Context, scope urlnormalizer.Scope, url string) (urlnormalizer.Result, error) {
	if url == "" {
		return urlnormalizer.Result{Reason: "empty URL"}, nil
	}
	translate, mark := escaped, "#!"
	if scope == urlnormalizer.ScopeIndexer {
		translate, mark = hashBang, param
	}
	if !strings.Contains(url, mark) {
		return urlnormalizer.Result{URL: url}, nil
	}
	if p := liburl.Split(url); p.Is("http", "https") && translate(&p) {
		url = p.String()
	}
	return urlnormalizer.Result{URL: url}, nil
}

// escaped turns #!state into a parameter; false if there is none.
func escaped(p *liburl.Parts) bool {
	state, ok := strings.CutPrefix(p.Fragment, "#!")
	if !ok {
		return false
	}
	sep := "&"
	if len(p.Query) <= 1 {
		p.Query, sep = "", "?"
	}
	p.Query, p.Fragment = p.Query+sep+param+escape(state), ""
	return true
}

// escape writes the characters that Google's "Making AJAX applications
// crawlable" names as %XX: controls, space, # % & + and what is not ASCII.
func escape(s string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c >= 0x7f || c == '#' || c == '%' || c == '&' || c == '+' {
			b.WriteByte('%')
			b.WriteByte(hex[c>>4])
			b.WriteByte(hex[c&15])
			continue
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// hashBang is the inverse of escaped; false if there is not just one parameter
// to turn, or a fragment in its place.
func hashBang(p *liburl.Parts) bool {
	if p.Fragment != "" || p.Query == "" {
		return false
	}
	state, found := "", 0
	var others []string
	for s := range strings.SplitSeq(p.Query[1:], "&") {
		if rest, ok := strings.CutPrefix(s, param); ok {
			state = rest
			found++
			continue
		}
		others = append(others, s)
	}
	if found != 1 {
		return false
	}
	if p.Query = ""; len(others) > 0 {
		p.Query = "?" + strings.Join(others, "&")
	}
	p.Fragment = "#!" + unescape(state)
	return true
}

// unescape reads %XX; what is not one stays as it is.
func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '%' && i+2 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				c = byte(n)
				i += 2
			}
		}
		b.WriteByte(c)
	}
	return b.String()
}

var _ urlnormalizer.Normalizer = Normalizer{}
