package exchangejexl_test

import (
	"strings"
	"testing"

	exchangejexl "github.com/gonutch/crawler/plugins/exchange-jexl"
	"github.com/gonutch/crawler/sdk/extension/exchange"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/model"
	"github.com/gonutch/crawler/sdk/plugintest"
)

func TestConformance(t *testing.T) {
	plugintest.Run(t, exchangejexl.Plugin(), plugintest.Options{Params: map[string]string{"expr": "doc.title == 'x'"}})
}

func sample() *model.Document {
	return &model.Document{ID: "http://a.de/x", Boost: 2, Fields: map[string][]string{"lang": {"de"}, "host": {"a.de"}, "tag": {"a", "b"}}}
}

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		expr, onError string
		want          bool
		err           bool
	}{
		{"doc.lang == 'de'", "fail", true, false},
		{"doc.getFieldValue('lang') eq 'en'", "fail", false, false},
		{"doc.host =$ '.de' and boost gt 1.5", "fail", true, false},
		{"'b' in fields.tag && id =^ 'http:'", "fail", true, false},
		{"doc.nothing == 'x'", "fail", false, false},
		{"doc.nothing > 1", "fail", false, true},
		{"doc.nothing > 1", "match", true, false},
		{"doc.nothing > 1", "pass", false, false},
	} {
		x := &exchangejexl.Exchange{}
		if err := x.Open(t.Context(), "a", exchange.Params{"expr": c.expr, "on_error": c.onError}); err != nil {
			t.Fatal(err)
		}
		got, err := x.Match(t.Context(), "a", sample())
		if got != c.want || (err != nil) != c.err {
			t.Errorf("%s, %s: %v, %v", c.expr, c.onError, got, err)
		}
	}
}

func TestInstances(t *testing.T) {
	x := &exchangejexl.Exchange{}
	for name, expr := range map[string]string{"yes": "true", "no": "true"} {
		if err := x.Open(t.Context(), name, exchange.Params{"expr": expr}); err != nil {
			t.Fatal(err)
		}
	}
	if err := x.Open(t.Context(), "no", exchange.Params{"expr": "false"}); err != nil { // again replaces it
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"yes": true, "no": false} {
		if got, err := x.Match(t.Context(), name, sample()); got != want || err != nil {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	if _, err := x.Match(t.Context(), "never", sample()); !fault.Is(err, fault.Invalid) {
		t.Errorf("not open: %v", err)
	}
}

func TestErrors(t *testing.T) {
	for expr, want := range map[string]string{"": "expr is missing", "doc.lang =": "assigns", "(": "unexpected", "1 + 1": "bool", "dok.lang == 'x'": "unknown name dok"} {
		err := (&exchangejexl.Exchange{}).Open(t.Context(), "a", exchange.Params{"expr": expr})
		if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", expr, err, want)
		}
	}
}

func BenchmarkMatch(b *testing.B) {
	x := &exchangejexl.Exchange{}
	if err := x.Open(b.Context(), "a", exchange.Params{"expr": "doc.lang == 'de' and doc.host =$ '.de'"}); err != nil {
		b.Fatal(err)
	}
	doc := sample()
	for b.Loop() {
		if _, err := x.Match(b.Context(), "a", doc); err != nil {
			b.Fatal(err)
		}
	}
}
