// Package parsetika has documents of any type parsed by an Apache Tika server,
// one that runs already or one that it starts and watches. It owns what of
// Tika's answer becomes text, links and metadata, and the server's life.
package parsetika

import (
	_ "embed"
	"net/url"
	"os"
	"os/exec"

	"github.com/gonutch/crawler/plugins/internal/libhtml"
	"github.com/gonutch/crawler/plugins/internal/libparse"
	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/setting"
)

//go:embed plugin.hcl
var manifest []byte

// Plugin returns the plugin.
func Plugin() sdk.Plugin { return sdk.Plugin{Manifest: manifest, New: build} }

// config are the settings; see plugin.hcl.
type config struct {
	URL           string           `json:"url"`
	Jar           string           `json:"jar"`
	Java          string           `json:"java"`
	JavaOptions   []string         `json:"java_options"`
	StartLimit    setting.Duration `json:"start_limit"`
	TimeLimit     setting.Duration `json:"time_limit"`
	Concurrency   int              `json:"concurrency"`
	ParseEmbedded bool             `json:"parse_embedded"`
	Metadata      bool             `json:"metadata"`
	MaxAnswer     setting.Size     `json:"max_answer"`
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
	if err := p.check(); err != nil {
		return nil, err
	}
	x, err := libhtml.New(libhtml.Options{
		Separators: []string{
			"blockquote", "br", "caption", "center", "dd", "div", "dl", "dt", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p",
			"pre", "section", "table", "tr", "ul",
		},
		LinkTags: []string{"a", "area"}, MaxLinks: p.OutlinksMax, MaxURL: int(p.OutlinksLen), MaxNodes: 200_000,
	})
	if err != nil {
		return nil, err
	}
	p.extract = x
	p.slots = make(chan struct{}, p.Concurrency)
	p.server = newServer(p.config, env.Logger)
	return &sdk.Extensions{Parser: p, Close: p.server.close}, nil
}

// check finds what would fail at the first document only.
func (p *Parser) check() error {
	if p.URL != "" {
		if u, err := url.Parse(p.URL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return fault.Errorf(fault.Invalid, "parse-tika: url %q is no address of a Tika server; write one such as \"http://127.0.0.1:9998\"", p.URL)
		}
		return nil
	}
	if p.Jar == "" {
		return fault.Errorf(fault.Invalid, "parse-tika: neither url nor jar is set: give the address of a running Tika server, or the path of tika-server-standard's jar to start one")
	}
	if f, err := os.Stat(p.Jar); err != nil || f.IsDir() {
		return fault.Errorf(fault.Invalid, "parse-tika: jar %q is no file: give the path of tika-server-standard's jar", p.Jar)
	}
	if _, err := exec.LookPath(p.Java); err != nil {
		return fault.Errorf(fault.Invalid, "parse-tika: there is no Java: %q is not found (%v); install Java 17 or newer, set java to its path, or set url to a running Tika server", p.Java, err)
	}
	return nil
}
