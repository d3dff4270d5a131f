package plugins_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gonutch/crawler/plugins"
	"github.com/gonutch/crawler/plugins/internal/libtest"
	"github.com/gonutch/crawler/sdk/extension/urlexemption"
	"github.com/gonutch/crawler/sdk/extension/urlnormalizer"
)

// hostileURLs are what one page can put into its links.
func hostileURLs() map[string]string {
	var params strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&params, "&p%d=%d", (i*7919)%10_000, i)
	}
	const host = "http://www.example.org/"
	return map[string]string{
		"a mebibyte of path":       host + strings.Repeat("a", 1<<20),
		"a mebibyte of segments":   host + strings.Repeat("a/", 1<<19),
		"a mebibyte of host":       "http://" + strings.Repeat("a.", 1<<19) + "example.org/",
		"a mebibyte of #! state":   host + "#!" + strings.Repeat("ä&", 1<<18),
		"a mebibyte of escapes":    host + strings.Repeat("%2e%2E/", 1<<17),
		"10,000 query parameters":  host + "?" + params.String()[1:],
		"invalid UTF-8":            host + strings.Repeat("\xff\xc3", 1<<16),
		"invalid UTF-8 in a host":  "http://" + strings.Repeat("\xff", 1<<16) + "/",
		"international mebibyte":   "http://" + strings.Repeat("ü.", 1<<18) + "/",
		"nothing but separators":   strings.Repeat(":/?#@", 1<<17),
		"session ids without end":  host + strings.Repeat(";jsessionid=0?sid=1&", 1<<15),
		"controls and zero bytes":  host + strings.Repeat("\x00\t\n", 1<<16),
		"brackets without address": "http://[" + strings.Repeat("[:", 1<<18),
	}
}

// TestHostileURLs: a hostile URL costs that URL only, and little of it: every
// filter and normalizer answers soon, and judges the next URL as before.
func TestHostileURLs(t *testing.T) {
	const limit = 20 * time.Second // a loaded machine takes some; what is not linear takes for ever
	settings := map[string]string{
		"urlfilter-automaton":      `{"rules": ["-.*(a+)+b", "-@x@&~(@y@)", "+.*"]}`,
		"urlfilter-domain":         `{"rules": ["example.org"]}`,
		"urlfilter-domaindenylist": `{"rules": ["example.com"]}`,
		"urlfilter-fast":           `{"rules": ["Domain example.org", "DenyPath (a+)+b", "DenyPathQuery (.)\\1x", "Domain .", "DenyPath ^/(a+)+\\1$"]}`,
		"urlfilter-ignoreexempt":   `{"rules": ["-^(a+)+\\1$", "+."]}`,
		"urlfilter-prefix":         `{"rules": ["http://www.example.org/", "http://www.example.org/a"]}`,
		"urlnormalizer-host":       `{"rules": ["*.example.org example.org"]}`,
		"urlnormalizer-protocol":   `{"rules": ["*.example.org https"]}`,
		"urlnormalizer-slash":      `{"rules": ["*.example.org +"]}`,
	}
	const normal = "http://www.example.org/a?b"
	for _, p := range plugins.Builtins() {
		m := libtest.Manifest(t, p)
		if !strings.HasPrefix(m.ID, "urlfilter-") && !strings.HasPrefix(m.ID, "urlnormalizer-") {
			continue
		}
		ext := libtest.Must(t, p, settings[m.ID])
		ask := func(url string) string {
			switch {
			case ext.URLFilter != nil:
				v, err := ext.URLFilter.FilterURL(t.Context(), url)
				return fmt.Sprint(v.Accept, err)
			case ext.URLNormalizer != nil:
				r, err := ext.URLNormalizer.NormalizeURL(t.Context(), urlnormalizer.ScopeDefault, url)
				return fmt.Sprint(r.URL, err)
			}
			ok, err := ext.URLExemption.Exempt(t.Context(), urlexemption.Pair{From: normal, To: url})
			return fmt.Sprint(ok, err)
		}
		before := ask(normal)
		for name, url := range hostileURLs() {
			start := time.Now()
			answer := ask(url)
			if !strings.HasSuffix(answer, "<nil>") {
				t.Errorf("%s: %s: %.200s", m.ID, name, answer)
			}
			if d := time.Since(start); d > limit {
				t.Errorf("%s: %s took %v", m.ID, name, d)
			}
			if after := ask(normal); after != before {
				t.Errorf("%s: after %s: %s, before %s", m.ID, name, after, before)
			}
		}
	}
}
