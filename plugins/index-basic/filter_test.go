package indexbasic_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	basic "github.com/gonutch/crawler/plugins/index-basic"
	"github.com/gonutch/crawler/sdk/extension/indexingfilter"
	"github.com/gonutch/crawler/sdk/model"
)

func TestFilterDocument(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("x", 3600))
	all := basic.Config{MaxTitleLength: 100, MaxContentLength: -1, AddDomain: true}
	for _, c := range []struct {
		name string
		cfg  basic.Config
		in   indexingfilter.Input
		want map[string][]string
	}{
		{
			"plain",
			basic.Config{MaxTitleLength: 100, MaxContentLength: -1},
			indexingfilter.Input{URL: "http://www.example.org:8080/a", Parse: model.Parse{Title: "T", Text: "some text"}, Datum: model.CrawlDatum{PrevFetchTime: at}},
			map[string][]string{"url": {"http://www.example.org:8080/a"}, "host": {"www.example.org"}, "title": {"T"}, "content": {"some text"}, "tstamp": {"2026-01-02T02:04:05Z"}},
		},
		{
			"representative URL and domain", all,
			indexingfilter.Input{URL: "http://www.example.org/x", Datum: model.CrawlDatum{ReprURL: "http://a.b.example.co.uk/"}},
			map[string][]string{"url": {"http://a.b.example.co.uk/"}, "host": {"a.b.example.co.uk"}, "domain": {"example.co.uk"}, "title": {""}, "content": {""}},
		},
		{
			"address has itself as domain", all,
			indexingfilter.Input{URL: "http://127.0.0.1:80/x"},
			map[string][]string{"url": {"http://127.0.0.1:80/x"}, "host": {"127.0.0.1"}, "domain": {"127.0.0.1"}, "title": {""}, "content": {""}},
		},
		{
			"unlisted suffix", all,
			indexingfilter.Input{URL: "http://host7.test/x"},
			map[string][]string{"url": {"http://host7.test/x"}, "host": {"host7.test"}, "domain": {"host7.test"}, "title": {""}, "content": {""}},
		},
		{
			"private part of the list does not count", all,
			indexingfilter.Input{URL: "http://me.github.io/x"},
			map[string][]string{"url": {"http://me.github.io/x"}, "host": {"me.github.io"}, "domain": {"github.io"}, "title": {""}, "content": {""}},
		},
		{
			"cut by characters and cleaned",
			basic.Config{MaxTitleLength: 3, MaxContentLength: 4},
			indexingfilter.Input{URL: "file:///a", Parse: model.Parse{Title: "äöüß", Text: "a\x00b\ncd\x1fe", Robots: model.RobotsMeta{NoArchive: true}}},
			map[string][]string{"url": {"file:///a"}, "title": {"äöü"}, "content": {"ab\nc"}, "cache": {"content"}},
		},
	} {
		p, err := (&basic.Filter{Config: c.cfg}).FilterDocument(t.Context(), &c.in)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(c.want, p.Set); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, d)
		}
	}
}
