package parsetext

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/extension/parser"
	"github.com/gonutch/crawler/sdk/fault"
	mf "github.com/gonutch/crawler/sdk/manifest"
	"github.com/gonutch/crawler/sdk/model"
)

func newParser(t testing.TB, own, section string) parser.Parser {
	t.Helper()
	ext, err := Plugin().New(sdk.Env{Settings: sdk.Settings{
		Own: json.RawMessage(own), Sections: map[string]json.RawMessage{"parser": json.RawMessage(section)},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return ext.Parser
}

const defaults = `{"extract_outlinks": true, "outlinks_max": 10000, "title_length": 80}`

func parse(t testing.TB, p parser.Parser, c model.Content) model.Parse {
	t.Helper()
	out, err := p.Parse(context.Background(), &parser.Input{Content: c})
	if err != nil {
		t.Fatal(err)
	}
	if len(out.Parses) != 1 || !out.Parses[0].Status.OK() {
		t.Fatalf("got %+v", out)
	}
	return out.Parses[0]
}

func TestManifest(t *testing.T) {
	m, err := mf.Read("plugin.hcl", Plugin().Manifest)
	if err != nil {
		t.Fatal(err)
	}
	if m.ID != "parse-text" {
		t.Errorf("id %q", m.ID)
	}
}

func TestParse(t *testing.T) {
	got := parse(t, newParser(t, defaults, `{}`), model.Content{
		URL: "http://h/readme.txt", ContentType: "text/plain; charset=iso-8859-1",
		Body: []byte("\r\n  The   caf\xe9\r\nSee http://a.example/x.\x00\r\n"), Headers: model.Metadata{"Content-Language": {"fr"}},
	})
	want := model.Parse{
		URL: "http://h/readme.txt", Status: model.ParseStatus{Major: model.ParseSuccess}, Title: "The café",
		Text: "The   café\nSee http://a.example/x.", Outlinks: []model.Outlink{{URL: "http://a.example/x"}},
		Charset: "windows-1252", Language: "fr",
		ParseMeta: model.Metadata{"OriginalCharEncoding": {"iso-8859-1"}, "CharEncodingForConversion": {"windows-1252"}},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestLimits(t *testing.T) {
	p := newParser(t, `{"extract_outlinks": true, "outlinks_max": 2, "title_length": 5}`, `{"max_text_length": 12}`)
	got := parse(t, p, model.Content{URL: "http://h/", Body: []byte("ÄÖ ÜÄÖÜ http://a/ http://b/ http://c/ http://d/")})
	if got.Title != "ÄÖ ÜÄ" || got.Text != "ÄÖ ÜÄÖÜ http" || len(got.Outlinks) != 2 {
		t.Errorf("got %+v", got)
	}
	if got.ParseMeta.First("outlinks.dropped.limit") != "2" || got.ParseMeta.First("text.cut") != "47" {
		t.Errorf("metadata %v", got.ParseMeta)
	}
}

func TestNoOutlinks(t *testing.T) {
	p := newParser(t, `{"extract_outlinks": false, "title_length": 0}`, `{}`)
	got := parse(t, p, model.Content{Body: []byte("http://a.example/ and more")})
	if got.Outlinks != nil || got.Title != "" {
		t.Errorf("got %+v", got)
	}
}

func TestUnknownCharsetIsInvalid(t *testing.T) {
	_, err := build(sdk.Env{Settings: sdk.Settings{Sections: map[string]json.RawMessage{
		"parser": json.RawMessage(`{"character_encoding_default": "klingon"}`),
	}}})
	if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "klingon") {
		t.Errorf("got %v", err)
	}
}
