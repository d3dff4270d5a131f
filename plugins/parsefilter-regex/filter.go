// Package parsefilterregex marks pages in which regular expressions are found.
// It owns the rule file format; what an expression means is libregex's.
package parsefilterregex

import (
	"context"
	_ "embed"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/gonutch/crawler/plugins/internal/libcharset"
	"github.com/gonutch/crawler/plugins/internal/libregex"
	"github.com/gonutch/crawler/plugins/internal/librule"
	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/extension/parsefilter"
	"github.com/gonutch/crawler/sdk/model"
	"github.com/gonutch/crawler/sdk/setting"
)

//go:embed plugin.hcl
var manifest []byte

// Plugin returns the plugin.
func Plugin() sdk.Plugin { return sdk.Plugin{Manifest: manifest, New: build} }

type config struct {
	File      string           `json:"file"`
	Rules     []string         `json:"rules"`
	TimeLimit setting.Duration `json:"time_limit"`
}

func build(env sdk.Env) (*sdk.Extensions, error) {
	var c config
	if err := env.Settings.Decode(&c); err != nil {
		return nil, err
	}
	lines, err := librule.Source{Setting: "rules", Inline: c.Rules, File: c.File}.Lines()
	if err != nil {
		return nil, err
	}
	f, err := compile(lines, c.TimeLimit.D())
	if err != nil {
		return nil, err
	}
	f.log = env.Logger
	for _, r := range f.rules {
		if !r.re.Linear() {
			f.log.Info("rule needs the back-tracking engine and runs under a time limit", "rule", r.at, "limit", c.TimeLimit.String())
		}
	}
	if len(f.rules) == 0 {
		f.log.Warn("no rules: set rules or file")
	}
	return &sdk.Extensions{ParseFilter: f}, nil
}

type rule struct {
	name string
	html bool
	re   *libregex.Regexp
	at   string
}

// Filter implements Nutch's RegexParseFilter: parse metadata of the rule's name
// says whether its expression is found. A name with several rules is true when
// one of them is found. It is safe for concurrent use.
type Filter struct {
	rules []rule
	log   hclog.Logger
}

func compile(lines []librule.Line, limit time.Duration) (*Filter, error) {
	f := &Filter{}
	var errs []error
	for _, l := range lines {
		name, rest := cutField(l.Text)
		source, expr := cutField(rest)
		switch {
		case name == "" || expr == "":
			errs = append(errs, l.Errorf("want a name, html or text, and a regular expression, separated by tabs"))
			continue
		case source != "html" && source != "text":
			errs = append(errs, l.Errorf("%q: a rule looks at html or text", source))
			continue
		}
		re, err := libregex.Compile(expr, limit)
		if err != nil {
			errs = append(errs, l.Errorf("%w", err))
			continue
		}
		f.rules = append(f.rules, rule{name: name, html: source == "html", re: re, at: l.At})
	}
	return f, errors.Join(errs...)
}

// cutField cuts the first field off a line: up to the first tab or space.
func cutField(s string) (field, rest string) {
	s = strings.TrimLeft(s, " \t")
	i := strings.IndexAny(s, " \t")
	if i < 0 {
		return s, ""
	}
	return s[:i], strings.TrimLeft(s[i:], " \t")
}

// FilterParse implements parsefilter.Filter.
func (f *Filter) FilterParse(_ context.Context, in *parsefilter.Input) (*parsefilter.Patch, error) {
	html, decoded := "", false
	found := map[string]bool{}
	for i := range f.rules {
		r := &f.rules[i]
		if found[r.name] {
			continue
		}
		text := in.Parse.Text
		if r.html {
			if !decoded && in.Content != nil {
				html = decode(in.Content)
			}
			decoded, text = true, html
		}
		ok, err := r.re.Find(text)
		if err != nil {
			f.log.Warn("rule ran into its time limit; the page is not marked by it", "rule", r.at, "url", in.Parse.URL)
			continue
		}
		found[r.name] = ok
	}
	if len(found) == 0 {
		return nil, nil
	}
	set := model.Metadata{}
	for name, ok := range found {
		set.Set(name, strconv.FormatBool(ok))
	}
	return &parsefilter.Patch{SetMeta: set}, nil
}

// decode returns the document's characters; Nutch takes the platform's charset.
func decode(c *model.Content) string {
	r := libcharset.Decode(c.Body, libcharset.Options{ContentType: c.ContentType, HTML: true, MinConfidence: 30, Default: "windows-1252"})
	return string(r.Text)
}

var _ parsefilter.Filter = (*Filter)(nil)
