package urlnormalizerpass_test

import (
	"testing"

	pass "github.com/gonutch/crawler/plugins/urlnormalizer-pass"
	"github.com/gonutch/crawler/sdk/extension/urlnormalizer"
)

func TestPass(t *testing.T) {
	for _, url := range []string{"", "http://A:80/#x", "\xff", "no url"} {
		r, err := pass.Normalizer{}.NormalizeURL(t.Context(), urlnormalizer.ScopeInject, url)
		if err != nil || r.URL != url || r.Reason != "" {
			t.Errorf("%q became %+v, %v", url, r, err)
		}
	}
}
