package manifest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gonutch/crawler/sdk/model"
)

const factsHead = "id = \"parsefilter-a\"\nname = \"A\"\nversion = \"1\"\napi = 1\nprovide \"parsefilter\" {}\n" +
	"setting \"fields\" {\n type = \"map\"\n default = { z = \"h1\" }\n meaning = \"m\"\n}\n" +
	"setting \"names\" {\n type = \"list\"\n default = [\"d\"]\n meaning = \"m\"\n}\n" +
	"setting \"text\" {\n type = \"string\"\n meaning = \"m\"\n}\n"

func TestFactsOfSettings(t *testing.T) {
	m, err := Read("plugin.hcl", []byte(factsHead+
		"needs {\n fact \"jsonld\" {}\n fact \"selector\" {\n  setting = \"fields\"\n  max = 7\n }\n fact \"meta\" {\n  setting = \"names\"\n }\n}\n"))
	if err != nil {
		t.Fatal(err)
	}
	ld, sel := model.Fact{Kind: model.FactJSONLD}, model.FactSelector
	for _, c := range []struct {
		own  string
		want []model.Fact
		err  string
	}{
		{"", []model.Fact{ld, {Kind: sel, Arg: "h1", Max: 7}, {Kind: model.FactMeta, Arg: "d"}}, ""},
		{`{"fields": {}, "names": []}`, []model.Fact{ld}, ""},
		{
			`{"fields": {"b": "b::attr(x)", "a": "a"}, "names": ["n", "m"]}`,
			[]model.Fact{ld, {Kind: sel, Arg: "a", Max: 7}, {Kind: sel, Arg: "b", Attr: "x", Max: 7}, {Kind: model.FactMeta, Arg: "n"}, {Kind: model.FactMeta, Arg: "m"}},
			"",
		},
		{`{"fields": {"a": "a::b"}}`, nil, `setting fields of plugin parsefilter-a: selector "a::b" ends in ::b; write ::text, ::html or ::attr(name)`},
		{`{"fields": {"a": "li["}}`, nil, `setting fields of plugin parsefilter-a: selector "li[": `},
		{`{"names": [""]}`, nil, `setting names of plugin parsefilter-a: fact meta needs to know what to look for`},
		{`{"names": {}}`, nil, "setting names of plugin parsefilter-a: json: cannot unmarshal"},
		{`[`, nil, "settings of plugin parsefilter-a: unexpected end"},
	} {
		got, err := m.Facts([]byte(c.own))
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.own, d)
		}
		if (err == nil) != (c.err == "") || err != nil && !strings.HasPrefix(err.Error(), c.err) {
			t.Errorf("%s: error %v, want %q", c.own, err, c.err)
		}
	}
}

func TestFactSettingMistakes(t *testing.T) {
	for block, want := range map[string]string{
		"fact \"selector\" {\n arg = \"li[\"\n}":                      `plugin.hcl:22:2: selector "li[": `,
		"fact \"heading\" {\n arg = \"h7\"\n}":                        `plugin.hcl:22:2: "h7" is no heading: write h1 to h6`,
		`fact "selector" { setting = "field" }`:                       `plugin.hcl:21:29: fact "selector": there is no setting "field"; did you mean "fields"?`,
		`fact "meta" { setting = "text" }`:                            `plugin.hcl:21:25: fact "meta": setting "text" is of type string; facts come from a list or map`,
		"fact \"meta\" {\n setting = \"names\"\n arg = \"x\"\n}":      `plugin.hcl:23:2: fact "meta": either arg or setting, not both`,
		"fact \"jsonld\" {\n setting = \"names\"\n}":                  `plugin.hcl:22:12: fact "jsonld" takes no argument`,
		"fact \"selector\" {\n setting = \"names\"\n attr = \"x\"\n}": `plugin.hcl:23:2: fact "selector": the setting's selectors say themselves what they yield, as in "a::attr(x)"`,
	} {
		_, err := Read("plugin.hcl", []byte(factsHead+"needs {\n"+block+"\n}\n"))
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s:\n got %v\nwant %s", block, err, want)
		}
	}
}
