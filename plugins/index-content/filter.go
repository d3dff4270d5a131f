// Package indexcontent adds the main text of HTML pages, without navigation and
// boilerplate, as found by go-readability (a port of Mozilla's Readability.js).
package indexcontent

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"net/url"
	"strings"
	"unicode/utf8"

	readability "codeberg.org/readeck/go-readability/v2"
	"github.com/hashicorp/go-hclog"
	"golang.org/x/net/html"

	"github.com/gonutch/crawler/plugins/internal/libcharset"
	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/extension/indexingfilter"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/model"
	"github.com/gonutch/crawler/sdk/setting"
)

//go:embed plugin.hcl
var manifest []byte

// Plugin returns the plugin.
func Plugin() sdk.Plugin { return sdk.Plugin{Manifest: manifest, New: build} }

type config struct {
	Field        string       `json:"field"`
	HTMLField    string       `json:"html_field"`
	ExcerptField string       `json:"excerpt_field"`
	Fallback     bool         `json:"fallback"`
	MinLength    int          `json:"min_length"`
	MaxLength    setting.Size `json:"max_length"`
	MaxNodes     int          `json:"max_nodes"`
}

func build(env sdk.Env) (*sdk.Extensions, error) {
	var c config
	if err := env.Settings.Decode(&c); err != nil {
		return nil, err
	}
	if c.Field == "" {
		return nil, fault.Errorf(fault.Invalid, "field must not be empty")
	}
	return &sdk.Extensions{IndexingFilter: &Filter{config: c, log: env.Logger}}, nil
}

// Filter is safe for concurrent use.
type Filter struct {
	config
	log hclog.Logger
}

// FilterDocument implements indexingfilter.Filter. Pages that must not be
// indexed by their robots rules have no text, and get none here.
func (f *Filter) FilterDocument(_ context.Context, in *indexingfilter.Input) (*indexingfilter.Patch, error) {
	set := map[string][]string{}
	if in.Content != nil && isHTML(in) && !in.Parse.Robots.NoIndex {
		a, err := f.extract(in.Content)
		if err != nil {
			f.log.Debug("no main text", "url", in.URL, "error", err)
		}
		if utf8.RuneCountInString(a.text) >= f.MinLength && a.text != "" {
			f.put(set, f.Field, a.text)
			f.put(set, f.HTMLField, a.html)
			f.put(set, f.ExcerptField, a.excerpt)
		}
	}
	if set[f.Field] == nil && f.Fallback {
		f.put(set, f.Field, in.Parse.Text)
	}
	if len(set) == 0 {
		return nil, nil
	}
	return &indexingfilter.Patch{Set: set}, nil
}

func isHTML(in *indexingfilter.Input) bool {
	t := in.Content.MIMEType
	if t == "" {
		t = in.Parse.ContentMeta.First("Content-Type")
	}
	if t == "" {
		t = in.Headers.First("Content-Type")
	}
	return strings.Contains(strings.ToLower(t), "html")
}

func (f *Filter) put(set map[string][]string, field, text string) {
	if text = strings.TrimSpace(text); field == "" || text == "" {
		return
	}
	if n := int(f.MaxLength); len(text) > n {
		for n > 0 && !utf8.RuneStart(text[n]) {
			n--
		}
		text = text[:n]
	}
	set[field] = []string{text}
}

type article struct{ text, html, excerpt string }

// extract finds the main text. The library is given what strangers wrote, so a
// panic in it is an error of this page.
func (f *Filter) extract(c *model.Content) (a article, err error) {
	defer func() {
		if r := recover(); r != nil {
			a, err = article{}, fmt.Errorf("extractor: %v", r)
		}
	}()
	if n := bytes.Count(c.Body, []byte("<")); n > f.MaxNodes {
		return article{}, fmt.Errorf("too much markup: %d of at most %d '<'", n, f.MaxNodes)
	}
	base, err := url.Parse(c.Base)
	if err != nil || !base.IsAbs() {
		base = nil
	}
	text := libcharset.Decode(c.Body, libcharset.Options{ContentType: c.ContentType, HTML: true, MinConfidence: 30, Default: "windows-1252"})
	doc, err := html.ParseWithOptions(bytes.NewReader(text.Text), html.ParseOptionEnableScripting(false))
	if err != nil {
		return article{}, err
	}
	p := readability.NewParser()
	p.DisableJSONLD = true
	found, err := p.ParseAndMutate(doc, base)
	if err != nil || found.Node == nil {
		return article{}, err
	}
	var b strings.Builder
	if err := found.RenderText(&b); err != nil {
		return article{}, err
	}
	a = article{text: tidy(b.String()), excerpt: strings.Join(strings.Fields(found.Excerpt()), " ")}
	if f.HTMLField != "" {
		b.Reset()
		if err := found.RenderHTML(&b); err != nil {
			return article{}, err
		}
		a.html = b.String()
	}
	return a, nil
}

// tidy collapses white space within lines and leaves out empty lines.
func tidy(s string) string {
	var b strings.Builder
	for line := range strings.SplitSeq(s, "\n") {
		if line = strings.Join(strings.Fields(line), " "); line != "" {
			if b.Len() > 0 {
				b.WriteByte('\n')
			}
			b.WriteString(line)
		}
	}
	return b.String()
}

var _ indexingfilter.Filter = (*Filter)(nil)
