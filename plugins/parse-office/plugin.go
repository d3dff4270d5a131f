// Package parseoffice turns office documents into text, title, properties and
// links: OOXML (docx, xlsx, pptx), OpenDocument (odt, ods, odp), RTF and EPUB. It
// owns how these formats hold text, and the limits that keep a hostile document
// from harm; its own readers need a fraction of what a library for editing would.
package parseoffice

import (
	_ "embed"

	"github.com/gonutch/crawler/plugins/internal/libhtml"
	"github.com/gonutch/crawler/plugins/internal/libparse"
	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/setting"
)

//go:embed plugin.hcl
var manifest []byte

// Plugin returns the plugin.
func Plugin() sdk.Plugin { return sdk.Plugin{Manifest: manifest, New: build} }

// config are the settings; see plugin.hcl.
type config struct {
	TimeLimit     setting.Duration `json:"time_limit"`
	MaxUnpacked   setting.Size     `json:"max_unpacked"`
	MaxParts      int              `json:"max_parts"`
	MaxStrings    setting.Size     `json:"max_strings"`
	TitleFromText bool             `json:"title_from_text"`
	TextOutlinks  bool             `json:"text_outlinks"`
	OutlinksMax   int              `json:"outlinks_max"`
	OutlinksLen   setting.Size     `json:"outlinks_max_length"`
}

func build(env sdk.Env) (*sdk.Extensions, error) {
	p := &Parser{Section: libparse.DefaultSection()}
	if err := env.Settings.Decode(&p.config); err != nil {
		return nil, err
	}
	if err := env.Settings.Section("parser", &p.Section); err != nil {
		return nil, err
	}
	x, err := libhtml.New(libhtml.Options{
		Separators: []string{
			"blockquote", "br", "caption", "center", "dd", "div", "dl", "dt", "figure", "h1", "h2", "h3", "h4", "h5", "h6",
			"hr", "li", "ol", "p", "pre", "section", "table", "tr", "ul",
		},
		LinkTags: []string{"a"}, MaxLinks: p.OutlinksMax, MaxURL: int(p.OutlinksLen), MaxNodes: 200_000,
	})
	if err != nil {
		return nil, err
	}
	p.chapters = x
	return &sdk.Extensions{Parser: p}, nil
}
