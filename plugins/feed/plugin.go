// Package feed turns RSS, RDF, Atom and JSON feeds into documents: the feed's own,
// one for each entry, and links. It owns what of a feed becomes which field; how
// feeds are written is the library's business.
package feed

import (
	_ "embed"

	"github.com/gonutch/crawler/plugins/internal/libhtml"
	"github.com/gonutch/crawler/plugins/internal/libparse"
	"github.com/gonutch/crawler/sdk"
)

//go:embed plugin.hcl
var manifest []byte

// Plugin returns the plugin.
func Plugin() sdk.Plugin { return sdk.Plugin{Manifest: manifest, New: build} }

// config are the settings; see plugin.hcl.
type config struct {
	Entries      string `json:"entries"`
	MaxEntries   int    `json:"max_entries"`
	ContentLinks bool   `json:"content_links"`
	Enclosures   bool   `json:"enclosures"`
	OutlinksMax  int    `json:"outlinks_max"`
}

// Keys of the parse metadata, Nutch's but for feed.title. Times are milliseconds
// since 1970, as in Nutch.
const (
	metaFeed      = "feed" // the feed's own page, or the feed's URL
	metaFeedTitle = "feed.title"
	metaAuthor    = "author"
	metaTag       = "tag"
	metaPublished = "published"
	metaUpdated   = "updated"
)

func build(env sdk.Env) (*sdk.Extensions, error) {
	p := &Parser{section: libparse.DefaultSection()}
	if err := env.Settings.Decode(&p.config); err != nil {
		return nil, err
	}
	if err := env.Settings.Section("parser", &p.section); err != nil {
		return nil, err
	}
	opt := libhtml.Options{
		Separators: []string{"p", "div", "br", "li", "ul", "ol", "h1", "h2", "h3", "h4", "h5", "h6", "tr", "table", "blockquote", "pre"},
		MaxLinks:   1000, MaxURL: 8 << 10,
	}
	if p.ContentLinks {
		opt.LinkTags, opt.IgnoreRels = []string{"a"}, []string{"nofollow"}
	}
	var err error
	if p.html, err = libhtml.New(opt); err != nil {
		return nil, err
	}
	return &sdk.Extensions{Parser: p, IndexingFilter: Filter{}}, nil
}
