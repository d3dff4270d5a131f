package indexmore_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	more "github.com/gonutch/crawler/plugins/index-more"
	"github.com/gonutch/crawler/sdk/extension/indexingfilter"
	"github.com/gonutch/crawler/sdk/model"
)

func TestFilterDocument(t *testing.T) {
	fetched := model.CrawlDatum{PrevFetchTime: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)}
	for _, c := range []struct {
		name    string
		cfg     more.Config
		headers model.Metadata
		meta    model.Metadata
		want    map[string][]string
	}{
		{
			"all",
			more.Config{IndexMIMETypeParts: true},
			model.Metadata{"Last-Modified": {"Sun, 06 Nov 1994 08:49:37 GMT"}, "Content-Length": {"42"}, "Content-Type": {"Text/HTML; charset=utf-8"}},
			nil,
			map[string][]string{
				"lastModified": {"1994-11-06T08:49:37Z"}, "date": {"1994-11-06T08:49:37Z"}, "contentLength": {"42"},
				"type": {"text/html", "text", "html"},
			},
		},
		{
			"detected type wins, odd date, no parts",
			more.Config{},
			model.Metadata{"Last-Modified": {"2020-02-03 04:05:06"}, "Content-Type": {"text/plain"}, "Content-Length": {"-1"}},
			model.Metadata{"Content-Type": {"application/pdf"}},
			map[string][]string{"lastModified": {"2020-02-03T04:05:06Z"}, "date": {"2020-02-03T04:05:06Z"}, "type": {"application/pdf"}},
		},
		{
			"no headers",
			more.Config{},
			nil, nil,
			map[string][]string{"date": {"2026-03-04T05:06:07Z"}},
		},
		{
			"bad date",
			more.Config{},
			model.Metadata{"Last-Modified": {"yesterday"}},
			nil,
			map[string][]string{"date": {"2026-03-04T05:06:07Z"}},
		},
		{
			"name in place of the type",
			more.Config{IndexMIMETypeParts: true, MIMETypes: map[string]string{"text/html": "web page"}},
			model.Metadata{"Content-Type": {"text/html"}},
			nil,
			map[string][]string{"date": {"2026-03-04T05:06:07Z"}, "type": {"web page"}},
		},
		{
			"name in a field of its own",
			more.Config{MIMETypes: map[string]string{"text/html": "web page"}, MIMETypesField: "kind"},
			model.Metadata{"Content-Type": {"text/html"}},
			nil,
			map[string][]string{"date": {"2026-03-04T05:06:07Z"}, "type": {"text/html"}, "kind": {"web page"}},
		},
		{
			"title from Content-Disposition, without folders",
			more.Config{},
			model.Metadata{"Content-Disposition": {`attachment; filename="C:\\x\\report.pdf"`}},
			nil,
			map[string][]string{"date": {"2026-03-04T05:06:07Z"}, "title": {"report.pdf"}},
		},
	} {
		p, err := (&more.Filter{Config: c.cfg}).FilterDocument(t.Context(), &indexingfilter.Input{
			Headers: c.headers, Datum: fetched, Parse: model.Parse{ContentMeta: c.meta},
		})
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(c.want, p.Set); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, d)
		}
	}
}
