// Package parseext has documents parsed by programs of the user. It owns how a
// program is called and what it may write; it must not know any format.
package parseext

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os/exec"
	"slices"
	"strings"

	"github.com/gonutch/crawler/plugins/internal/libcharset"
	"github.com/gonutch/crawler/plugins/internal/libhtml"
	"github.com/gonutch/crawler/plugins/internal/libparse"
	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/extension/parser"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/model"
	"github.com/gonutch/crawler/sdk/setting"
)

//go:embed plugin.hcl
var manifest []byte

// Plugin returns the plugin.
func Plugin() sdk.Plugin { return sdk.Plugin{Manifest: manifest, New: build} }

type config struct {
	Programs  map[string]program `json:"program"`
	MaxOutput setting.Size       `json:"max_output"`
	Processes int                `json:"processes"`
}

// program is a program block.
type program struct {
	Types     []string         `json:"types"`
	Command   []string         `json:"command"`
	TimeLimit setting.Duration `json:"time_limit"`
	Format    string           `json:"format"`
	Encoding  string           `json:"encoding"`
	name      string
}

// Parser stands for Nutch's ExtParser. It is safe for concurrent use.
type Parser struct {
	config
	section libparse.Section
	byType  map[string]*program
	turns   chan struct{}
	html    *libhtml.Extractor
}

const metaProgram = "parse.program" // name of the block

func build(env sdk.Env) (*sdk.Extensions, error) {
	p := &Parser{section: libparse.DefaultSection(), byType: map[string]*program{}}
	if err := env.Settings.Decode(&p.config); err != nil {
		return nil, err
	}
	if err := env.Settings.Section("parser", &p.section); err != nil {
		return nil, err
	}
	if len(p.Programs) == 0 {
		env.Logger.Warn("no program: write program \"name\" { types = [...] command = [...] }")
	}
	var errs []error
	if p.Processes < 1 || p.Processes > 256 {
		errs = append(errs, fault.Errorf(fault.Invalid, "processes = %d: want 1 to 256", p.Processes))
	}
	if p.MaxOutput < 1<<10 || p.MaxOutput > 48<<20 {
		errs = append(errs, fault.Errorf(fault.Invalid, "max_output = %q: want 1KiB to 48MiB", p.MaxOutput))
	}
	for _, name := range slices.Sorted(maps.Keys(p.Programs)) {
		g := p.Programs[name]
		g.name = name
		errs = append(errs, p.add(&g))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fault.New(fault.Invalid, err)
	}
	var err error
	p.html, err = libhtml.New(libhtml.Options{
		Separators: []string{"p", "div", "br", "li", "h1", "h2", "h3", "h4", "h5", "h6", "tr", "pre"}, LinkTags: []string{"a", "area"}, MaxLinks: 10_000, MaxURL: 8 << 10,
	})
	p.turns = make(chan struct{}, p.Processes)
	return &sdk.Extensions{Parser: p}, err
}

// add checks a program and notes its types.
func (p *Parser) add(g *program) error {
	at := "program \"" + g.name + "\""
	switch {
	case len(g.Command) == 0:
		return fault.Errorf(fault.Invalid, "%s: command is empty", at)
	case len(g.Types) == 0:
		return fault.Errorf(fault.Invalid, "%s: types is empty", at)
	case !libcharset.Known(g.Encoding):
		return fault.Errorf(fault.Invalid, "%s: encoding %q: no such charset", at, g.Encoding)
	}
	if _, err := exec.LookPath(g.Command[0]); err != nil {
		hint := "install it, or write its path"
		if errors.Is(err, fs.ErrPermission) {
			hint = "it can't be executed: chmod +x, or name the interpreter first"
		}
		return fault.Errorf(fault.Invalid, "%s: command: %w (%s)", at, err, hint)
	}
	for _, t := range g.Types {
		t = strings.ToLower(t)
		if strings.Count(t, "/") != 1 {
			return fault.Errorf(fault.Invalid, "%s: %q is no MIME type", at, t)
		}
		if other := p.byType[t]; other != nil {
			return fault.Errorf(fault.Invalid, "%s: %s is program %q's already", at, t, other.name)
		}
		p.byType[t] = g
	}
	return nil
}

// Parse implements parser.Parser.
func (p *Parser) Parse(ctx context.Context, in *parser.Input) (*parser.Output, error) {
	c := &in.Content
	major, _, _ := strings.Cut(c.MIMEType, "/")
	g := p.byType[c.MIMEType]
	if g == nil {
		g = p.byType[major+"/*"]
	}
	if g == nil {
		return libparse.Failed(c, model.ParseFailedInvalidFormat, "no parser for type %q", c.MIMEType), nil
	}
	select {
	case p.turns <- struct{}{}:
		defer func() { <-p.turns }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	raw, cut, err := g.run(ctx, c, int(p.MaxOutput))
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return libparse.Failed(c, model.ParseFailedException, "program %q: %v", g.name, err), nil
	}
	out := model.Parse{URL: c.URL, ParseMeta: model.Metadata{metaProgram: {g.name}}}
	if cut {
		libparse.Truncated(out.ParseMeta, "output")
	}
	if c.Truncated != "" {
		libparse.Truncated(out.ParseMeta, c.Truncated)
	}
	if err := p.take(&out, c, g, raw); err != nil {
		return libparse.Failed(c, model.ParseFailedException, "program %q: %v", g.name, err), nil
	}
	return libparse.Succeeded(&out, len(in.Facts)), nil
}

// answer is what a program of format json writes.
type answer struct {
	Title    string              `json:"title"`
	Text     string              `json:"text"`
	Language string              `json:"language"`
	Links    []string            `json:"links"`
	Metadata map[string][]string `json:"metadata"`
}

// take fills out with what the program wrote.
func (p *Parser) take(out *model.Parse, c *model.Content, g *program, raw []byte) error {
	text := libcharset.Decode(raw, libcharset.Options{ContentType: "text/plain; charset=" + g.Encoding, Default: g.Encoding}).Text
	base := c.Base
	if base == "" {
		base = c.URL
	}
	links := libparse.Links{Base: base, Self: c.URL, Max: 10_000, MaxLength: 8 << 10}
	a := answer{}
	switch g.Format {
	case "html":
		page, err := p.html.Extract(libhtml.Input{Body: text, URL: c.URL, Base: base})
		if err != nil {
			return err
		}
		a.Title, a.Text, a.Language = page.Title, page.Text, page.Language
		for _, l := range page.Links {
			links.Add(l.URL, l.Anchor)
		}
	case "json":
		if err := json.Unmarshal(text, &a); err != nil {
			return err
		}
		for _, l := range a.Links {
			links.Add(l, "")
		}
		for k, v := range a.Metadata {
			out.ParseMeta[k] = v
		}
	default:
		a.Text = strings.TrimSpace(string(text))
		a.Title, _, _ = strings.Cut(a.Text, "\n")
		links.AddText(a.Text)
	}
	t := libparse.NewText(p.section.MaxTextLength)
	for line := range strings.Lines(a.Text) {
		t.Line()
		t.Write(line)
	}
	out.Title, out.Language = libparse.Cut(libparse.Clean(a.Title), 200, model.Metadata{}), a.Language
	out.Text, out.Outlinks = t.Finish(out.ParseMeta), links.Finish(out.ParseMeta)
	return nil
}
