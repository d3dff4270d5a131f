package parsefilterdebug_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gonutch/crawler/plugins/internal/libtest"
	debug "github.com/gonutch/crawler/plugins/parsefilter-debug"
	"github.com/gonutch/crawler/sdk/extension/parsefilter"
	"github.com/gonutch/crawler/sdk/model"
)

// Nutch's rule: nutch.md 2.5, parsefilter-debug.
func TestFilterParse(t *testing.T) {
	for _, c := range []struct{ name, own, page, want string }{
		{
			"tree", ``, "<!doctype html><title>T</title><p id=a class='b \"c'>one\n two<!--x--><p>ü",
			"<!doctype html>\n<html>\n <head>\n  <title>\n   T\n <body>\n  <p id=\"a\" class=\"b \\\"c\">\n   one two\n   <!--x-->\n  <p>\n   ü\n",
		},
		{"what the parser mends", ``, "<table><tr><td>x", "<html>\n <head>\n <body>\n  <table>\n   <tbody>\n    <tr>\n     <td>\n      x\n"},
		{"cut at a line", `{"max_length": "18B"}`, "<p>x", "<html>\n <head>\n"},
		{"empty page", ``, "", "<html>\n <head>\n <body>\n"},
	} {
		p := libtest.FilterPage(t, debug.Plugin(), c.own, "http://a/", c.page)
		if d := cmp.Diff(c.want, p.SetMeta.First("debug.tree")); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, d)
		}
	}
	p, err := libtest.Must(t, debug.Plugin(), "").ParseFilter.FilterParse(t.Context(), &parsefilter.Input{Content: &model.Content{MIMEType: "application/pdf"}})
	if p != nil || err != nil {
		t.Errorf("pdf: %v, %v", p, err)
	}
}

func FuzzTree(f *testing.F) {
	f.Add([]byte("<p>x<table><svg><p>"))
	f.Add([]byte(strings.Repeat("<b>", 200)))
	p := libtest.Must(f, debug.Plugin(), `{"max_length": "1KiB"}`).ParseFilter
	f.Fuzz(func(t *testing.T, body []byte) {
		patch, err := p.FilterParse(t.Context(), &parsefilter.Input{Content: &model.Content{MIMEType: "text/html", Body: body}})
		if err != nil {
			t.Fatal(err)
		}
		if n := len(patch.SetMeta.First("debug.tree")); n > 1024 {
			t.Errorf("%d bytes", n)
		}
	})
}
