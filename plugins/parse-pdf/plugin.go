// Package parsepdf turns PDF documents into text, title, outline and links. It
// owns what a crawl makes of a PDF and the limits that keep a hostile one from
// harm. How PDF is read is PDFium's, which runs as WebAssembly: a document that
// crashes it or wants all memory ends its own instance only.
package parsepdf

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
	TimeLimit     setting.Duration `json:"time_limit"`
	Memory        setting.Size     `json:"memory"`
	MaxPages      int              `json:"max_pages"`
	Passwords     []string         `json:"passwords"`
	TitleFromText bool             `json:"title_from_text"`
	TextOutlinks  bool             `json:"text_outlinks"`
	OutlinksMax   int              `json:"outlinks_max"`
	OutlinksLen   setting.Size     `json:"outlinks_max_length"`
	KeepCompiled  bool             `json:"keep_compiled"`
}

func build(env sdk.Env) (*sdk.Extensions, error) {
	p := &Parser{Section: libparse.DefaultSection()}
	if err := env.Settings.Decode(&p.config); err != nil {
		return nil, err
	}
	if err := env.Settings.Section("parser", &p.Section); err != nil {
		return nil, err
	}
	dir := ""
	if p.KeepCompiled {
		dir = env.DataDir
	}
	p.engine = newEngine(int64(p.Memory), dir, env.Logger)
	return &sdk.Extensions{Parser: p, Close: p.engine.close}, nil
}
