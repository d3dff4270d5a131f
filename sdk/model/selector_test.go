package model_test

import (
	"testing"

	"github.com/gonutch/crawler/sdk/model"
)

func TestParseSelector(t *testing.T) {
	for _, c := range []struct{ in, arg, attr, err string }{
		{in: "h1", arg: "h1"},
		{in: " .price > b ::text ", arg: ".price > b"},
		{in: "a.next::attr(href)", arg: "a.next", attr: "href"},
		{in: `a::attr( "Data-ID" )`, arg: "a", attr: "data-id"},
		{in: "article::html", arg: "article", attr: "html"},
		{in: `a[href*="::"]`, arg: `a[href*="::"]`},
		{in: `a[href*="::"]::attr(href)`, arg: `a[href*="::"]`, attr: "href"},
		{in: "li:nth-child(2)", arg: "li:nth-child(2)"},
		{in: "", err: `selector "" selects nothing`},
		{in: "::text", err: `selector "::text" selects nothing`},
		{in: "p::before", err: `selector "p::before" ends in ::before; write ::text, ::html or ::attr(name)`},
		{in: "p::attr()", err: `selector "p::attr()": "" can't be read as an attribute`},
		{in: "p::attr(html)", err: `selector "p::attr(html)": "html" can't be read as an attribute`},
		{in: "p::attr(x", err: `selector "p::attr(x" ends in ::attr(x; write ::text, ::html or ::attr(name)`},
	} {
		got, err := model.ParseSelector(c.in)
		text := ""
		if err != nil {
			text = err.Error()
		}
		if text != c.err || got.Arg != c.arg || got.Attr != c.attr || err == nil && got.Kind != model.FactSelector {
			t.Errorf("%q: got %+v, %q", c.in, got, text)
		}
	}
}
