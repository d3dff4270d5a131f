// Package parsefilterdebug writes the tree of an HTML page into its parse
// metadata, for those who write selectors. Made for parsechecker, not for crawls.
package parsefilterdebug

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"strings"

	"golang.org/x/net/html"

	"github.com/gonutch/crawler/plugins/internal/libcharset"
	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/extension/parsefilter"
	"github.com/gonutch/crawler/sdk/model"
	"github.com/gonutch/crawler/sdk/setting"
)

//go:embed plugin.hcl
var manifest []byte

// metaTree is the key of the parse metadata.
const metaTree = "debug.tree"

// Plugin returns the plugin.
func Plugin() sdk.Plugin { return sdk.Plugin{Manifest: manifest, New: build} }

type config struct {
	MaxLength setting.Size `json:"max_length"`
}

func build(env sdk.Env) (*sdk.Extensions, error) {
	var c config
	if err := env.Settings.Decode(&c); err != nil {
		return nil, err
	}
	return &sdk.Extensions{ParseFilter: &Filter{max: int(c.MaxLength)}}, nil
}

// Filter implements Nutch's DebugParseFilter.
type Filter struct{ max int }

// FilterParse implements parsefilter.Filter.
func (f *Filter) FilterParse(_ context.Context, in *parsefilter.Input) (*parsefilter.Patch, error) {
	if in.Content == nil || !strings.Contains(in.Content.MIMEType, "html") {
		return nil, nil
	}
	text := libcharset.Decode(in.Content.Body, libcharset.Options{ContentType: in.Content.ContentType, HTML: true, MinConfidence: 30, Default: "windows-1252"})
	doc, err := html.ParseWithOptions(bytes.NewReader(text.Text), html.ParseOptionEnableScripting(false))
	if err != nil {
		return &parsefilter.Patch{SetMeta: model.Metadata{metaTree: {"no tree: " + err.Error()}}}, nil //nolint:nilerr // the dump says it
	}
	d := dump{max: f.max}
	d.children(doc, 0)
	return &parsefilter.Patch{SetMeta: model.Metadata{metaTree: {d.String()}}}, nil
}

// dump writes one node a line, indented by its depth.
type dump struct {
	strings.Builder
	max  int
	full bool
}

func (d *dump) line(depth int, format string, args ...any) {
	s := strings.Repeat(" ", depth) + fmt.Sprintf(format, args...) + "\n"
	if d.full = d.full || d.Len()+len(s) > d.max; !d.full {
		d.WriteString(s)
	}
}

func (d *dump) children(n *html.Node, depth int) {
	for k := range n.ChildNodes() {
		if d.full {
			return
		}
		switch k.Type {
		case html.DoctypeNode:
			d.line(depth, "<!doctype %s>", k.Data)
		case html.CommentNode:
			d.line(depth, "<!--%s-->", k.Data)
		case html.TextNode:
			if t := strings.Join(strings.Fields(k.Data), " "); t != "" {
				d.line(depth, "%s", t)
			}
		case html.ElementNode:
			var attrs strings.Builder
			for _, a := range k.Attr {
				fmt.Fprintf(&attrs, " %s=%q", a.Key, a.Val)
			}
			d.line(depth, "<%s%s>", k.Data, attrs.String())
		}
		d.children(k, depth+1)
	}
}

var _ parsefilter.Filter = (*Filter)(nil)
