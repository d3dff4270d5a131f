package main

import (
	"bufio"
	"context"
	_ "embed"
	"fmt"
	"net/url"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/extension/urlfilter"
	"github.com/gonutch/crawler/sdk/fault"
)

//go:embed plugin.hcl
var manifest []byte

// Plugin returns the plugin.
func Plugin() sdk.Plugin { return sdk.Plugin{Manifest: manifest, New: build} }

type config struct {
	Reject   []string `json:"reject"`
	File     string   `json:"file"`
	HostsToo bool     `json:"hosts_too"`
}

func build(env sdk.Env) (*sdk.Extensions, error) {
	var c config
	if err := env.Settings.Decode(&c); err != nil {
		return nil, err
	}
	f := &filter{words: map[string]string{}, hostsToo: c.HostsToo}
	for _, w := range c.Reject {
		if err := f.add(w, "reject"); err != nil {
			return nil, err
		}
	}
	if c.File != "" {
		if err := f.addFile(c.File); err != nil {
			return nil, err
		}
	}
	env.Logger.Debug("words to reject", "count", len(f.words))
	return &sdk.Extensions{URLFilter: f}, nil
}

// filter rejects URLs by whole words. It never changes once it is built, so it
// is safe for concurrent use.
type filter struct {
	words    map[string]string // lower-case word to where it comes from
	hostsToo bool
}

func (f *filter) add(word, where string) error {
	w := strings.ToLower(strings.TrimSpace(word))
	if w == "" || strings.ContainsFunc(w, between) {
		return fault.Errorf(fault.Invalid, "%s: %q is not one word", where, word)
	}
	f.words[w] = where + ": " + w
	return nil
}

func (f *filter) addFile(name string) error {
	file, err := os.Open(name)
	if err != nil {
		return fault.New(fault.Invalid, fmt.Errorf("open word file: %w", err))
	}
	defer file.Close()
	s := bufio.NewScanner(file)
	for n := 1; s.Scan(); n++ {
		if line := strings.TrimSpace(s.Text()); line != "" && line[0] != '#' {
			if err := f.add(line, fmt.Sprintf("%s:%d", name, n)); err != nil {
				return err
			}
		}
	}
	if err := s.Err(); err != nil {
		return fault.New(fault.Invalid, fmt.Errorf("read word file %s: %w", name, err))
	}
	return nil
}

// between reports whether r stands between words. Bytes that are not valid
// UTF-8 do too.
func between(r rune) bool { return r == utf8.RuneError || !unicode.IsLetter(r) && !unicode.IsDigit(r) }

// FilterURL rejects s when it has one of the words, and says which.
func (f *filter) FilterURL(_ context.Context, s string) (urlfilter.Verdict, error) {
	text := s
	if u, err := url.Parse(s); err == nil && !f.hostsToo {
		text = u.Path + " " + u.RawQuery
	}
	for word := range strings.FieldsFuncSeq(strings.ToLower(text), between) {
		if rule, ok := f.words[word]; ok {
			return urlfilter.Verdict{Reason: rule}, nil
		}
	}
	return urlfilter.Verdict{Accept: true}, nil
}
