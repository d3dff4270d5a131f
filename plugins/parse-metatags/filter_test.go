package parsemetatags_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gonutch/crawler/plugins/internal/libtest"
	metatags "github.com/gonutch/crawler/plugins/parse-metatags"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/model"
)

// Nutch's rule: nutch.md 2.5, parse-metatags.
func TestFilterParse(t *testing.T) {
	const page = `<head><meta name=Description content=" Words "><meta name=keywords content="a, b"><meta name=KEYWORDS content="c">
		<meta property="og:title" content="T"><meta http-equiv="X-UA-Compatible" content="IE=edge"><meta name=empty content=""><meta charset=utf-8></head>`
	for _, c := range []struct {
		name, own string
		want      model.Metadata
	}{
		{"default", ``, model.Metadata{"metatag.description": {"Words"}, "metatag.keywords": {"a, b", "c"}}},
		{"property", `{"names": ["og:title"]}`, model.Metadata{"metatag.og:title": {"T"}}},
		{"http-equiv", `{"names": ["x-ua-compatible"]}`, model.Metadata{"metatag.x-ua-compatible": {"IE=edge"}}},
		{"names in capitals", `{"names": ["OG:Title"]}`, model.Metadata{"metatag.og:title": {"T"}}},
		{"all", `{"names": ["keywords", "*"]}`, model.Metadata{
			"metatag.description": {"Words"}, "metatag.keywords": {"a, b", "c"}, "metatag.og:title": {"T"}, "metatag.x-ua-compatible": {"IE=edge"},
		}},
		{"listed twice", `{"names": ["keywords", "Keywords"]}`, model.Metadata{"metatag.keywords": {"a, b", "c"}}},
		{"without content", `{"names": ["empty"]}`, nil},
		{"not there", `{"names": ["author"]}`, nil},
		{"none", `{"names": []}`, nil},
	} {
		if d := cmp.Diff(c.want, libtest.FilterPage(t, metatags.Plugin(), c.own, "http://a/", page).SetMeta); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, d)
		}
	}
	if _, err := libtest.New(t, metatags.Plugin(), `{"names": [" a"]}`); !fault.Is(err, fault.Invalid) {
		t.Errorf("name with a space: %v", err)
	}
}
