// Package urlnormalizerregex rewrites URLs by regular expressions, with
// Nutch's regex-normalize.xml files. It owns the rule formats; what an
// expression means is libregex's.
package urlnormalizerregex

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/gonutch/crawler/plugins/internal/libregex"
	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/extension/urlnormalizer"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/setting"
)

//go:embed plugin.hcl
var manifest []byte

//go:embed regex-normalize.xml
var builtinRules []byte

// Plugin returns the plugin.
func Plugin() sdk.Plugin { return sdk.Plugin{Manifest: manifest, New: build} }

type config struct {
	File       string            `json:"file"`
	Rules      []string          `json:"rules"`
	ScopeFiles map[string]string `json:"scope_files"`
	TimeLimit  setting.Duration  `json:"time_limit"`
}

func build(env sdk.Env) (*sdk.Extensions, error) {
	var c config
	if err := env.Settings.Decode(&c); err != nil {
		return nil, err
	}
	n, err := load(c)
	if err != nil {
		return nil, fault.New(fault.Invalid, err)
	}
	n.log = env.Logger
	for _, r := range n.rules {
		if !r.re.Linear() {
			env.Logger.Info("rule needs the back-tracking engine and runs under a time limit", "rule", r.where, "limit", c.TimeLimit.String())
		}
	}
	return &sdk.Extensions{URLNormalizer: n}, nil
}

func load(c config) (*Normalizer, error) {
	n := &Normalizer{scopes: map[urlnormalizer.Scope][]rule{}}
	var err error
	switch {
	case len(c.Rules) > 0:
		n.rules, err = inline(c.Rules, c.TimeLimit.D())
	case c.File != "":
		n.rules, err = readFile(c.File, c.TimeLimit.D())
	default:
		n.rules, err = parse("built-in rules", builtinRules, c.TimeLimit.D())
	}
	errs := []error{err}
	for scope, file := range c.ScopeFiles {
		if !filepath.IsAbs(file) && c.File != "" {
			file = filepath.Join(filepath.Dir(c.File), file)
		}
		rules, err := readFile(file, c.TimeLimit.D())
		errs = append(errs, err)
		n.scopes[urlnormalizer.Scope(scope)] = rules
	}
	return n, errors.Join(errs...)
}

// rule replaces every match of re.
type rule struct {
	re    *libregex.Regexp
	sub   libregex.Substitution
	where string
}

// Normalizer applies its rules one after the other, each to every match
// (Nutch's RegexURLNormalizer). It is safe for concurrent use.
type Normalizer struct {
	rules  []rule
	scopes map[urlnormalizer.Scope][]rule
	log    hclog.Logger
}

// Parse builds a Normalizer from the bytes of a regex-normalize.xml.
func Parse(name string, src []byte, limit time.Duration) (*Normalizer, error) {
	rules, err := parse(name, src, limit)
	return &Normalizer{rules: rules, log: hclog.NewNullLogger()}, err
}

// Inline builds a Normalizer from rules of the form s|pattern|substitution|.
func Inline(lines []string, limit time.Duration) (*Normalizer, error) {
	rules, err := inline(lines, limit)
	return &Normalizer{rules: rules, log: hclog.NewNullLogger()}, err
}

func readFile(file string, limit time.Duration) ([]rule, error) {
	src, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read rule file: %w", err)
	}
	return parse(file, src, limit)
}

// parse reads regex-normalize/regex/{pattern,substitution}. All faulty rules
// are reported together.
func parse(name string, src []byte, limit time.Duration) ([]rule, error) {
	var rules []rule
	var errs []error
	dec := xml.NewDecoder(bytes.NewReader(src))
	root := false
	for {
		tok, err := dec.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		line, col := dec.InputPos()
		if err != nil {
			return nil, fmt.Errorf("%s:%d:%d: %w", name, line, col, err)
		}
		start, ok := tok.(xml.StartElement)
		switch {
		case !ok:
		case start.Name.Local == "regex-normalize":
			root = true
		case start.Name.Local == "regex" && root:
			r, err := parseRule(dec, start, limit)
			r.where = fmt.Sprintf("%s:%d", name, line)
			if err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", r.where, err))
				continue
			}
			rules = append(rules, r)
		default:
			return nil, fmt.Errorf("%s:%d:%d: element <%s>; want <regex-normalize> with <regex> elements in it", name, line, col, start.Name.Local)
		}
	}
	if !root {
		errs = append(errs, fmt.Errorf("%s: no <regex-normalize> element", name))
	}
	return rules, errors.Join(errs...)
}

func parseRule(dec *xml.Decoder, start xml.StartElement, limit time.Duration) (rule, error) {
	var x struct {
		Pattern      string `xml:"pattern"`
		Substitution string `xml:"substitution"`
	}
	if err := dec.DecodeElement(&x, &start); err != nil {
		return rule{}, err
	}
	pattern := strings.TrimSpace(x.Pattern)
	if pattern == "" {
		return rule{}, errors.New("rule without <pattern>")
	}
	re, err := libregex.Compile(pattern, limit)
	return rule{re: re, sub: libregex.NewSubstitution(x.Substitution)}, err
}

func inline(lines []string, limit time.Duration) ([]rule, error) {
	var rules []rule
	var errs []error
	for i, l := range lines {
		where := fmt.Sprintf("rules[%d]", i)
		if len(l) < 4 || l[0] != 's' {
			errs = append(errs, fmt.Errorf("%s: %q: want s|pattern|substitution| with any delimiter in place of |", where, l))
			continue
		}
		parts := strings.Split(l[2:], l[1:2])
		if len(parts) != 3 || parts[0] == "" || parts[2] != "" {
			errs = append(errs, fmt.Errorf("%s: %q: want s|pattern|substitution| with any delimiter in place of |", where, l))
			continue
		}
		re, err := libregex.Compile(parts[0], limit)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", where, err))
			continue
		}
		rules = append(rules, rule{re: re, sub: libregex.NewSubstitution(parts[1]), where: where})
	}
	return rules, errors.Join(errs...)
}

// NormalizeURL implements urlnormalizer.Normalizer.
func (n *Normalizer) NormalizeURL(_ context.Context, scope urlnormalizer.Scope, url string) (urlnormalizer.Result, error) {
	rules, ok := n.scopes[scope]
	if !ok {
		rules = n.rules
	}
	for i := range rules {
		out, err := rules[i].re.ReplaceAll(url, rules[i].sub)
		if err != nil {
			n.log.Warn("rule ran into its time limit; the URL is dropped", "rule", rules[i].where, "url_bytes", len(url))
			return urlnormalizer.Result{Reason: rules[i].where + " (time limit)"}, nil //nolint:nilerr // the result says it
		}
		url = out
	}
	if url == "" {
		return urlnormalizer.Result{Reason: "the rules left nothing of the URL"}, nil
	}
	return urlnormalizer.Result{URL: url}, nil
}

var _ urlnormalizer.Normalizer = (*Normalizer)(nil)
