// Package languageidentifier finds the language of pages: from what page and
// server say, or from the text by the trigrams of whatlanggo.
package languageidentifier

import (
	"context"
	_ "embed"
	"errors"
	"slices"
	"strings"
	"unicode"

	"github.com/RadhiFadlillah/whatlanggo"
	"golang.org/x/text/language"

	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/extension/indexingfilter"
	"github.com/gonutch/crawler/sdk/extension/parsefilter"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/model"
)

//go:embed plugin.hcl
var manifest []byte

const (
	metaLanguage = "language" // Nutch's key of the parse metadata
	unknown      = "unknown"
	maxRunes     = 65536
)

// Plugin returns the plugin.
func Plugin() sdk.Plugin { return sdk.Plugin{Manifest: manifest, New: build} }

type config struct {
	Policy         []string `json:"extraction_policy"`
	MaxLength      int      `json:"max_length"`
	MinLength      int      `json:"min_length"`
	OnlyCertain    bool     `json:"only_certain"`
	Candidates     []string `json:"candidates"`
	IndexLanguages []string `json:"index_languages"`
}

func build(env sdk.Env) (*sdk.Extensions, error) {
	var c config
	if err := env.Settings.Decode(&c); err != nil {
		return nil, err
	}
	f := &Filter{config: c}
	if f.MaxLength <= 0 || f.MaxLength > maxRunes {
		f.MaxLength = maxRunes
	}
	var errs []error
	known := map[string]whatlanggo.Lang{}
	for l := range whatlanggo.Langs {
		known[code(l)] = l
	}
	for _, s := range c.Candidates {
		l, ok := known[normalize(s)]
		if !ok {
			errs = append(errs, fault.Errorf(fault.Invalid, "candidates: %q is no language that identify knows; use codes such as \"de\"", s))
			continue
		}
		if f.options.Whitelist == nil {
			f.options.Whitelist = map[whatlanggo.Lang]bool{}
		}
		f.options.Whitelist[l] = true
	}
	for i, s := range c.IndexLanguages {
		if s == unknown {
			continue
		}
		if f.IndexLanguages[i] = normalize(s); f.IndexLanguages[i] == "" {
			errs = append(errs, fault.Errorf(fault.Invalid, "index_languages: %q is no language; use codes such as \"de\", or \"unknown\"", s))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fault.New(fault.Invalid, err)
	}
	return &sdk.Extensions{ParseFilter: f, IndexingFilter: f}, nil
}

// Filter implements Nutch's HTMLLanguageParser and LanguageIndexingFilter.
// Languages are ISO 639-1 codes, those without one ISO 639-3. It is safe for
// concurrent use.
type Filter struct {
	config
	options whatlanggo.Options
}

// FilterParse implements parsefilter.Filter.
func (f *Filter) FilterParse(_ context.Context, in *parsefilter.Input) (*parsefilter.Patch, error) {
	for _, how := range f.Policy {
		var lang string
		if how == "detect" {
			lang = detect(&in.Parse)
		} else {
			lang = f.identify(&in.Parse)
		}
		if lang != "" {
			return &parsefilter.Patch{SetMeta: model.Metadata{metaLanguage: {lang}}}, nil
		}
	}
	return nil, nil
}

// detect returns what the html element says, else Content-Language (of page or
// server), else dc.language; what names no language is passed over.
func detect(p *model.Parse) string {
	if l := normalize(p.Language); l != "" {
		return l
	}
	if len(p.Facts) > 0 {
		for _, v := range p.Facts[0].Values {
			if l := normalize(v); l != "" {
				return l
			}
		}
	}
	return ""
}

// normalize returns the code of a language tag, of the first of several, or of
// an English name; "" when it is none.
func normalize(s string) string {
	s, _, _ = strings.Cut(s, ",")
	s = strings.ToLower(strings.TrimSpace(strings.ReplaceAll(s, "_", "-")))
	if s == "" || len(s) > 64 {
		return ""
	}
	for l, name := range whatlanggo.Langs {
		if strings.EqualFold(name, s) {
			return code(l)
		}
	}
	tag, err := language.Parse(s)
	if err != nil {
		// "en-english" and the like: the language counts, whatever follows.
		primary, _, _ := strings.Cut(s, "-")
		if tag, err = language.Parse(primary); err != nil {
			return ""
		}
	}
	base, confidence := tag.Base()
	if confidence != language.Exact {
		return "" // "und", "x-default"
	}
	switch l := base.String(); l {
	case "und", "mul", "zxx", "mis":
		return ""
	default:
		return l
	}
}

func (f *Filter) identify(p *model.Parse) string {
	text := head(p.Text, f.MaxLength)
	if !strings.HasPrefix(text, p.Title) {
		text = head(p.Title+"\n"+text, f.MaxLength)
	}
	letters := 0
	for _, r := range text {
		if unicode.IsLetter(r) {
			letters++
		}
	}
	if letters < f.MinLength || letters == 0 {
		return ""
	}
	info := whatlanggo.DetectWithOptions(text, f.options)
	if alphabetOf(info.Lang) != "" {
		if o, ok := f.spelled(text); ok {
			info = whatlanggo.DetectWithOptions(text, o)
		}
	}
	// Of two languages that are as likely the library names now one, now the other.
	if info.Lang < 0 || info.Confidence == 0 || f.OnlyCertain && !info.IsReliable() {
		return ""
	}
	return code(info.Lang)
}

func code(l whatlanggo.Lang) string {
	c := l.Iso6391()
	if c == "" {
		c = l.Iso6393()
	}
	if c == "cmn" {
		return "zh"
	}
	return c
}

// head returns the first n characters of s.
func head(s string, n int) string {
	if len(s) <= n {
		return s
	}
	count := 0
	for i := range s {
		if count == n {
			return s[:i]
		}
		count++
	}
	return s
}

// FilterDocument implements indexingfilter.Filter.
func (f *Filter) FilterDocument(_ context.Context, in *indexingfilter.Input) (*indexingfilter.Patch, error) {
	lang := in.Parse.ParseMeta.First(metaLanguage)
	if lang == "" {
		lang = normalize(in.Headers.First("Content-Language"))
	}
	if lang == "" {
		lang = unknown
	}
	if len(f.IndexLanguages) > 0 && !slices.Contains(f.IndexLanguages, lang) {
		return &indexingfilter.Patch{Drop: "language " + lang + " is not in index_languages"}, nil
	}
	return &indexingfilter.Patch{Set: map[string][]string{"lang": {lang}}}, nil
}

var (
	_ parsefilter.Filter    = (*Filter)(nil)
	_ indexingfilter.Filter = (*Filter)(nil)
)
