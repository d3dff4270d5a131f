// Package microformatsreltag makes the field tag of links with rel="tag"
// (microformats.org/wiki/rel-tag).
package microformatsreltag

import (
	"context"
	_ "embed"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/extension/indexingfilter"
	"github.com/gonutch/crawler/sdk/extension/parsefilter"
	"github.com/gonutch/crawler/sdk/model"
)

//go:embed plugin.hcl
var manifest []byte

// metaTag is Nutch's key of the parse metadata.
const metaTag = "Rel-Tag"

// Plugin returns the plugin.
func Plugin() sdk.Plugin { return sdk.Plugin{Manifest: manifest, New: build} }

func build(sdk.Env) (*sdk.Extensions, error) {
	return &sdk.Extensions{ParseFilter: Filter{}, IndexingFilter: Filter{}}, nil
}

// Filter implements Nutch's RelTagParser and RelTagIndexingFilter.
type Filter struct{}

// FilterParse implements parsefilter.Filter.
func (Filter) FilterParse(_ context.Context, in *parsefilter.Input) (*parsefilter.Patch, error) {
	if len(in.Parse.Facts) == 0 {
		return nil, nil
	}
	var tags []string
	seen := map[string]bool{}
	for _, href := range in.Parse.Facts[0].Names {
		if tag := tagOf(href); tag != "" && !seen[tag] {
			seen[tag] = true
			tags = append(tags, tag)
		}
	}
	if tags == nil {
		return nil, nil
	}
	return &parsefilter.Patch{SetMeta: model.Metadata{metaTag: tags}}, nil
}

// tagOf returns the last segment of the link's path, decoded; "+" stands for a
// space there, as the microformat says.
func tagOf(href string) string {
	u, err := url.Parse(href)
	if err != nil {
		return ""
	}
	path := strings.TrimRight(u.EscapedPath(), "/")
	last, err := url.QueryUnescape(path[strings.LastIndexByte(path, '/')+1:])
	if err != nil || !utf8.ValidString(last) {
		return ""
	}
	return strings.TrimSpace(last)
}

// FilterDocument implements indexingfilter.Filter.
func (Filter) FilterDocument(_ context.Context, in *indexingfilter.Input) (*indexingfilter.Patch, error) {
	tags := in.Parse.ParseMeta[metaTag]
	if len(tags) == 0 {
		return nil, nil
	}
	return &indexingfilter.Patch{Add: map[string][]string{"tag": tags}}, nil
}

var (
	_ parsefilter.Filter    = Filter{}
	_ indexingfilter.Filter = Filter{}
)
