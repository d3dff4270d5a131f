package parseext

import (
	"encoding/json"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/model"
)

func settings(own []byte) sdk.Settings {
	return sdk.Settings{Own: json.RawMessage(own), Sections: map[string]json.RawMessage{"parser": json.RawMessage("{}")}}
}

// FuzzSettings: settings of any kind make a plugin or a mistake that is told, never a panic.
func FuzzSettings(f *testing.F) {
	for _, s := range []string{
		`{"program": {"p": {"types": ["text/x", "image/*"], "command": ["true", "{url}"], "time_limit": "1s", "format": "json", "encoding": "utf-8"}}, "max_output": "1KiB", "processes": 1}`,
		`{"processes": -1}`, `{"max_output": "-5"}`, `{"program": {"": {"types": ["/"], "command": [""]}}}`, `{"program": {"p": {"time_limit": "-1s"}}}`, `[]`, `{"program": null}`, ``,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, own []byte) {
		x, err := build(sdk.Env{Settings: settings(own), Logger: hclog.NewNullLogger()})
		if err != nil && !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: error %v, want Invalid", own, err)
		}
		if err == nil && x.Parser == nil {
			t.Errorf("%s: no parser", own)
		}
	})
}

// FuzzAnswer: what a program writes of a stranger's document ends in a parse or an error,
// within limits.
func FuzzAnswer(f *testing.F) {
	for _, s := range []string{
		"Title\n\ntext http://b.example/", "<title>T</title><a href=x>l", `{"title": "T", "links": ["x", "javascript:y"], "metadata": {"": [], "k": null}}`, "\xff\xfe\x00", `{"text": 5}`, "",
	} {
		f.Add([]byte(s), "text", "utf-8")
		f.Add([]byte(s), "html", "utf-16le")
		f.Add([]byte(s), "json", "utf-8")
	}
	x, err := build(sdk.Env{Settings: settings([]byte(`{"processes": 1, "max_output": "1MiB"}`)), Logger: hclog.NewNullLogger()})
	if err != nil {
		f.Fatal(err)
	}
	p := x.Parser.(*Parser)
	f.Fuzz(func(t *testing.T, raw []byte, format, encoding string) {
		c := &model.Content{URL: "http://a.example/d/x", MIMEType: "text/x"}
		out := model.Parse{URL: c.URL, ParseMeta: model.Metadata{}}
		if err := p.take(&out, c, &program{Format: format, Encoding: encoding, name: "p"}, raw); err != nil {
			return
		}
		if len([]rune(out.Title)) > 200 || len(out.Outlinks) > 10_000 {
			t.Errorf("title of %d bytes, %d links", len(out.Title), len(out.Outlinks))
		}
	})
}
