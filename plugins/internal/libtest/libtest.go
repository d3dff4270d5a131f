// Package libtest runs plugins in tests as the crawler would: with the defaults
// of their manifests, and parse filters over what parse-html makes of a page.
// It owns no rule of any plugin.
package libtest

import (
	"encoding/json"
	"maps"
	"testing"

	"github.com/hashicorp/go-hclog"

	parsehtml "github.com/gonutch/crawler/plugins/parse-html"
	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/extension/indexingfilter"
	"github.com/gonutch/crawler/sdk/extension/parsefilter"
	"github.com/gonutch/crawler/sdk/extension/parser"
	"github.com/gonutch/crawler/sdk/manifest"
	"github.com/gonutch/crawler/sdk/model"
)

// Manifest reads the manifest of p.
func Manifest(t testing.TB, p sdk.Plugin) *manifest.Manifest {
	t.Helper()
	m, err := manifest.Read("plugin.hcl", p.Manifest)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Settings returns the defaults of m with own, a JSON object or "", laid over them.
func Settings(t testing.TB, m *manifest.Manifest, own string) sdk.Settings {
	t.Helper()
	all := map[string]json.RawMessage{}
	for _, s := range m.Settings {
		raw, err := json.Marshal(s.Default)
		if err != nil {
			t.Fatal(err)
		}
		all[s.Name] = raw
	}
	if own != "" {
		var over map[string]json.RawMessage
		if err := json.Unmarshal([]byte(own), &over); err != nil {
			t.Fatalf("settings %s: %v", own, err)
		}
		maps.Copy(all, over)
	}
	raw, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	out := sdk.Settings{Own: raw, Sections: map[string]json.RawMessage{}}
	for _, s := range m.Sections {
		out.Sections[s] = json.RawMessage("{}")
	}
	return out
}

// New builds p with own laid over its defaults; the error is that of p's New.
func New(t testing.TB, p sdk.Plugin, own string) (*sdk.Extensions, error) {
	t.Helper()
	ext, err := p.New(sdk.Env{Settings: Settings(t, Manifest(t, p), own), Logger: hclog.NewNullLogger(), DataDir: t.TempDir()})
	if err == nil && ext.Close != nil {
		t.Cleanup(func() { _ = ext.Close() })
	}
	return ext, err
}

// Must is New for settings that are sound.
func Must(t testing.TB, p sdk.Plugin, own string) *sdk.Extensions {
	t.Helper()
	ext, err := New(t, p, own)
	if err != nil {
		t.Fatal(err)
	}
	return ext
}

// Page parses an HTML page of url with parse-html, with the facts that the parse
// filter p asks for under own.
func Page(t testing.TB, p sdk.Plugin, own, url, page string) *parsefilter.Input {
	t.Helper()
	m := Manifest(t, p)
	facts, err := m.Facts(Settings(t, m, own).Own)
	if err != nil {
		t.Fatal(err)
	}
	c := model.Content{URL: url, Base: url, Body: []byte(page), ContentType: "text/html; charset=utf-8", MIMEType: "text/html"}
	out, err := Must(t, parsehtml.Plugin(), "").Parser.Parse(t.Context(), &parser.Input{Content: c, Facts: facts})
	if err != nil {
		t.Fatal(err)
	}
	in := &parsefilter.Input{Parse: out.Parses[0]}
	if m.Needs.Content {
		in.Content = &c
	}
	return in
}

// FilterPage runs the parse filter p over an HTML page; a patch that changes
// nothing comes back as the zero Patch.
func FilterPage(t testing.TB, p sdk.Plugin, own, url, page string) parsefilter.Patch {
	t.Helper()
	patch, err := Must(t, p, own).ParseFilter.FilterParse(t.Context(), Page(t, p, own, url, page))
	if err != nil {
		t.Fatal(err)
	}
	if patch == nil {
		return parsefilter.Patch{}
	}
	return *patch
}

// FilterDocument runs the indexing filter p; a patch that changes nothing comes
// back as the zero Patch.
func FilterDocument(t testing.TB, p sdk.Plugin, own string, in *indexingfilter.Input) indexingfilter.Patch {
	t.Helper()
	patch, err := Must(t, p, own).IndexingFilter.FilterDocument(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	if patch == nil {
		return indexingfilter.Patch{}
	}
	return *patch
}
