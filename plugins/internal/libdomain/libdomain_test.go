package libdomain_test

import (
	"strings"
	"testing"

	"github.com/gonutch/crawler/plugins/internal/libdomain"
	"github.com/gonutch/crawler/plugins/internal/librule"
)

// The cases follow nutch.md, section 6.22.
func TestSplit(t *testing.T) {
	for _, c := range []struct{ host, domain, suffix string }{
		{"www.example.org", "example.org", "org"},
		{"example.org", "example.org", "org"},
		{"a.b.example.co.uk", "example.co.uk", "co.uk"},
		{"co.uk", "co.uk", "co.uk"},
		{"me.github.io", "github.io", "io"},
		{"host7.test", "host7.test", ""},
		{"localhost", "localhost", ""},
		{"192.0.2.7", "192.0.2.7", ""},
		{"[2001:db8::1]", "[2001:db8::1]", ""},
		{"www.xn--85x722f.com.cn", "xn--85x722f.com.cn", "com.cn"},
		{"", "", ""},
	} {
		if d, s := libdomain.Split(c.host); d != c.domain || s != c.suffix {
			t.Errorf("%q = %q, %q; want %q, %q", c.host, d, s, c.domain, c.suffix)
		}
	}
}

func TestParseErrors(t *testing.T) {
	_, err := libdomain.Parse(librule.Split("d", "org\n# c\n.com\nhttp://a/\n *.b \n"))
	for _, want := range []string{"d:3: ", "d:4: ", "d:5: ", "want one public suffix"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v lacks %q", err, want)
		}
	}
}
