// Package parsetext turns plain text documents into text, a title and the URLs
// written in them.
package parsetext

import (
	"context"
	_ "embed"
	"strconv"
	"strings"
	"unicode"

	"github.com/gonutch/crawler/plugins/internal/libcharset"
	"github.com/gonutch/crawler/plugins/internal/libparse"
	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/extension/parser"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/model"
)

//go:embed plugin.hcl
var manifest []byte

// Plugin returns the plugin.
func Plugin() sdk.Plugin { return sdk.Plugin{Manifest: manifest, New: build} }

// config are the settings; see plugin.hcl.
type config struct {
	ExtractOutlinks bool `json:"extract_outlinks"`
	OutlinksMax     int  `json:"outlinks_max"`
	TitleLength     int  `json:"title_length"`
}

// Keys of the parse metadata. Those with capital letters are Nutch's.
const (
	metaOriginalCharset = "OriginalCharEncoding"
	metaUsedCharset     = "CharEncodingForConversion"
)

// Parser parses plain text. It is safe for concurrent use.
type Parser struct {
	config
	libparse.Section
}

func build(env sdk.Env) (*sdk.Extensions, error) {
	p := &Parser{Section: libparse.DefaultSection()}
	if err := env.Settings.Decode(&p.config); err != nil {
		return nil, err
	}
	if err := env.Settings.Section("parser", &p.Section); err != nil {
		return nil, err
	}
	if !libcharset.Known(p.DefaultCharset) {
		return nil, fault.Errorf(fault.Invalid, "parser.character_encoding_default %q: no such charset; use a name such as \"utf-8\" or \"windows-1252\"", p.DefaultCharset)
	}
	return &sdk.Extensions{Parser: p}, nil
}

// Parse implements parser.Parser.
func (p *Parser) Parse(ctx context.Context, in *parser.Input) (*parser.Output, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c := &in.Content
	d := libcharset.Decode(c.Body, libcharset.Options{
		ContentType: c.ContentType, MinConfidence: p.MinConfidence, Default: p.DefaultCharset,
	})
	text := tidy(string(d.Text))
	out := model.Parse{
		URL: c.URL, Title: title(text, c.MIMEType, p.TitleLength),
		Charset: d.Charset, Language: c.Headers.First("Content-Language"),
		ParseMeta: model.Metadata{metaUsedCharset: {d.Charset}, metaOriginalCharset: {d.Charset}},
	}
	if d.Declared != "" {
		out.ParseMeta.Set(metaOriginalCharset, d.Declared)
	}
	if p.ExtractOutlinks {
		urls, over := libparse.FindURLs(libparse.Whole(c, text), p.OutlinksMax, c.URL)
		for _, u := range urls {
			out.Outlinks = append(out.Outlinks, model.Outlink{URL: u})
		}
		if over > 0 {
			out.ParseMeta.Set(libparse.MetaOverLimit, strconv.Itoa(over))
		}
	}
	out.Text = libparse.Cut(text, p.MaxTextLength, out.ParseMeta)
	return libparse.Succeeded(&out, len(in.Facts)), nil
}

// tidy writes line ends as LF and other controls as spaces, and drops white
// space around the text.
func tidy(s string) string {
	if strings.Contains(s, "\r") {
		s = strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
	}
	s = strings.Map(func(c rune) rune {
		if c < ' ' && c != '\n' && c != '\t' || c == 0x7f {
			return ' '
		}
		return c
	}, s)
	return strings.TrimSpace(s)
}

// title returns the first line of text that has a letter or digit, at most n characters,
// white space collapsed.
func title(text, mime string, n int) string {
	word := strings.IndexFunc(text, func(c rune) bool { return unicode.IsLetter(c) || unicode.IsDigit(c) })
	line, _, _ := strings.Cut(text[strings.LastIndexByte(text[:max(0, word)], '\n')+1:], "\n")
	if strings.HasSuffix(mime, "markdown") {
		line = strings.TrimLeft(line, "# ")
	}
	if len(line) > 16*n { // enough for n characters whatever there is of white space
		line = line[:16*n]
	}
	line = strings.ToValidUTF8(strings.Join(strings.Fields(line), " "), "")
	for i := range line {
		if n == 0 {
			return strings.TrimSpace(line[:i])
		}
		n--
	}
	return line
}
