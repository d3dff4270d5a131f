package indexstatic_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	indexstatic "github.com/gonutch/crawler/plugins/index-static"
	"github.com/gonutch/crawler/plugins/internal/libtest"
	"github.com/gonutch/crawler/sdk/extension/indexingfilter"
)

// Nutch's rule: nutch.md 2.7 and 3, index.static.
func TestFilterDocument(t *testing.T) {
	for _, c := range []struct {
		own  string
		want map[string][]string
	}{
		{``, nil},
		{`{"static": "source:web"}`, map[string][]string{"source": {"web"}}},
		{`{"static": "source:web,tag:a b , tag:c,"}`, map[string][]string{"source": {"web"}, "tag": {"a", "b", "c"}}},
		{`{"static": "home:http://a.example/"}`, map[string][]string{"home": {"http://a.example/"}}},
		{`{"static": "a=x,y;b=z", "fieldsep": ";", "keysep": "=", "valuesep": ","}`, map[string][]string{"a": {"x", "y"}, "b": {"z"}}},
		{`{"static": "a:x y", "valuesep": ""}`, map[string][]string{"a": {"x y"}}},
		{`{"fields": {"a": "x y, z", "b": "1"}, "static": "a:w"}`, map[string][]string{"a": {"x y, z", "w"}, "b": {"1"}}},
	} {
		if d := cmp.Diff(c.want, libtest.FilterDocument(t, indexstatic.Plugin(), c.own, &indexingfilter.Input{}).Add); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.own, d)
		}
	}
	for own, want := range map[string]string{
		`{"static": "web"}`:               `static: "web" is no field: write name:value`,
		`{"static": "a:, b:x"}`:           `static: "a:" is no field`,
		`{"static": ":x"}`:                `static: ":x" is no field`,
		`{"static": "a:x", "keysep": ""}`: `fieldsep and keysep must not be empty`,
	} {
		if _, err := libtest.New(t, indexstatic.Plugin(), own); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", own, err)
		}
	}
}
