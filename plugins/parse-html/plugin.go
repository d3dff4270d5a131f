// Package parsehtml turns HTML pages into text, title, links and facts. It owns
// what a crawl makes of a page: charset, robots rules, refresh, settings. How a
// page is taken apart is internal/libhtml's.
package parsehtml

import (
	_ "embed"
	"slices"
	"strings"

	"github.com/gonutch/crawler/plugins/internal/libcharset"
	"github.com/gonutch/crawler/plugins/internal/libhtml"
	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/setting"
)

//go:embed plugin.hcl
var manifest []byte

// Plugin returns the plugin.
func Plugin() sdk.Plugin { return sdk.Plugin{Manifest: manifest, New: build} }

// config are the plugin's settings; see plugin.hcl.
type config struct {
	LineSeparators  []string     `json:"line_separators"`
	TitleInText     bool         `json:"title_in_text"`
	OutlinksTags    []string     `json:"outlinks_tags"`
	LinkRels        []string     `json:"outlinks_link_rels"`
	IgnoreRels      []string     `json:"outlinks_ignore_rels"`
	DataAttributes  []string     `json:"outlinks_data_attributes"`
	Srcset          bool         `json:"outlinks_srcset"`
	Hreflang        bool         `json:"outlinks_hreflang"`
	OutlinksMax     int          `json:"outlinks_max"`
	OutlinksMaxLen  setting.Size `json:"outlinks_max_length"`
	TagMetadataName string       `json:"outlinks_htmlnode_metadata_name"`
	MaxNodes        int          `json:"max_nodes"`
}

// parserSection are the keys of the core's section parser that count here.
type parserSection struct {
	DefaultCharset string   `json:"character_encoding_default"`
	MinConfidence  int      `json:"charset_min_confidence"`
	CachingPolicy  string   `json:"caching_forbidden_policy"`
	IgnoreTags     []string `json:"html_outlinks_ignore_tags"`
	FormUseAction  bool     `json:"html_form_use_action"`
	MaxTextLength  int      `json:"max_text_length"`
}

type httpSection struct {
	AgentName string `json:"agent_name"`
}

func build(env sdk.Env) (*sdk.Extensions, error) {
	var c config
	if err := env.Settings.Decode(&c); err != nil {
		return nil, err
	}
	s := parserSection{DefaultCharset: "windows-1252", MinConfidence: 30, CachingPolicy: "content", MaxTextLength: -1}
	if err := env.Settings.Section("parser", &s); err != nil {
		return nil, err
	}
	var h httpSection
	if err := env.Settings.Section("http", &h); err != nil {
		return nil, err
	}
	p, err := newParser(c, s, h)
	if err != nil {
		return nil, err
	}
	return &sdk.Extensions{Parser: p}, nil
}

func newParser(c config, s parserSection, h httpSection) (*Parser, error) {
	if !libcharset.Known(s.DefaultCharset) {
		return nil, fault.Errorf(fault.Invalid, "parser.character_encoding_default %q: no such charset; use a name such as \"utf-8\" or \"windows-1252\"", s.DefaultCharset)
	}
	tags := slices.Clone(c.OutlinksTags)
	if s.FormUseAction {
		tags = append(tags, "form")
	}
	tags = slices.DeleteFunc(tags, func(t string) bool { return slices.Contains(s.IgnoreTags, t) })
	x, err := libhtml.New(libhtml.Options{
		Separators: c.LineSeparators, TitleInText: c.TitleInText, LinkTags: tags, LinkRels: c.LinkRels,
		DataAttrs: c.DataAttributes, Srcset: c.Srcset, SkipHreflang: !c.Hreflang,
		IgnoreRels: c.IgnoreRels, MaxLinks: c.OutlinksMax, MaxURL: int(c.OutlinksMaxLen), MaxNodes: c.MaxNodes,
	})
	if err != nil {
		return nil, fault.New(fault.Invalid, err)
	}
	agent, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(h.AgentName)), "/")
	return &Parser{
		extract: x, agent: agent, charset: s.DefaultCharset, minConfidence: s.MinConfidence, policy: s.CachingPolicy,
		maxText: s.MaxTextLength, tagKey: c.TagMetadataName,
	}, nil
}
