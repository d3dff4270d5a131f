package indexmetadata_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	indexmetadata "github.com/gonutch/crawler/plugins/index-metadata"
	"github.com/gonutch/crawler/plugins/internal/libtest"
	"github.com/gonutch/crawler/sdk/extension/indexingfilter"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/model"
)

// Nutch's rule: nutch.md 2.7, index-metadata.
func TestFilterDocument(t *testing.T) {
	in := &indexingfilter.Input{
		Datum:   model.CrawlDatum{Metadata: model.Metadata{"Source": {"seed"}, "tag": {"x"}}},
		Parse:   model.Parse{ParseMeta: model.Metadata{"metatag.description": {"Words"}, "metatag.keywords": {"a, b", "c"}, "h1": {"One, two"}, "Rel-Tag": {"t"}}, ContentMeta: model.Metadata{"Content-Type": {"text/html"}}},
		Headers: model.Metadata{"Content-Type": {"text/plain"}, "X-Powered-By": {"magic"}, "Server": {"s"}},
	}
	for _, c := range []struct {
		name, own string
		want      map[string][]string
	}{
		{"default", ``, map[string][]string{"metatag.description": {"Words"}, "metatag.keywords": {"a, b", "c"}}},
		{"nothing", `{"parse_md": []}`, nil},
		{"keys are case-sensitive, fields lower case", `{"parse_md": ["Rel-Tag", "rel-tag"], "db_md": ["Source"]}`, map[string][]string{"rel-tag": {"t"}, "source": {"seed"}}},
		{"same field from two places", `{"parse_md": ["h1"], "db_md": ["tag"], "content_md": ["server"]}`, map[string][]string{"h1": {"One, two"}, "tag": {"x"}, "server": {"s"}}},
		{"content before headers", `{"parse_md": [], "content_md": ["Content-Type", "x-powered-by"]}`, map[string][]string{"content-type": {"text/html"}, "x-powered-by": {"magic"}}},
		{"split all", `{"parse_md": ["metatag.keywords", "h1"], "separator": ","}`, map[string][]string{"metatag.keywords": {"a", "b", "c"}, "h1": {"One", "two"}}},
		{"split some", `{"parse_md": ["metatag.keywords", "h1"], "separator": ",", "multivalued_fields": ["Metatag.keywords"]}`, map[string][]string{"metatag.keywords": {"a", "b", "c"}, "h1": {"One, two"}}},
		{"star", `{"parse_md": ["metatag.*"]}`, map[string][]string{"metatag.description": {"Words"}, "metatag.keywords": {"a, b", "c"}}},
		{"star over headers", `{"parse_md": [], "content_md": ["x-p*"]}`, map[string][]string{"x-powered-by": {"magic"}}},
		{"limit", `{"parse_md": ["metatag.keywords"], "max_values": 1}`, map[string][]string{"metatag.keywords": {"a, b"}}},
	} {
		if d := cmp.Diff(c.want, libtest.FilterDocument(t, indexmetadata.Plugin(), c.own, in).Add); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, d)
		}
	}
	for _, own := range []string{`{"db_md": ["a*b"]}`, `{"parse_md": [""]}`} {
		if _, err := libtest.New(t, indexmetadata.Plugin(), own); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v", own, err)
		}
	}
}
