// Package parseimage turns images into their dimensions and what is written in
// their headers: EXIF, IPTC and XMP, and the text of SVG. It decodes no pixel.
package parseimage

import (
	_ "embed"

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
	Tags        []string     `json:"tags"`
	GPS         bool         `json:"gps"`
	MaxTags     int          `json:"max_tags"`
	OutlinksMax int          `json:"outlinks_max"`
	OutlinksLen setting.Size `json:"outlinks_max_length"`
}

func build(env sdk.Env) (*sdk.Extensions, error) {
	p := &Parser{Section: libparse.DefaultSection(), tags: map[string]bool{}}
	if err := env.Settings.Decode(&p.config); err != nil {
		return nil, err
	}
	if err := env.Settings.Section("parser", &p.Section); err != nil {
		return nil, err
	}
	for _, t := range p.Tags {
		p.tags[t] = true
	}
	return &sdk.Extensions{Parser: p}, nil
}
