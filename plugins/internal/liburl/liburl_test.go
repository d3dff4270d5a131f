package liburl_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gonutch/crawler/plugins/internal/liburl"
)

func TestSplit(t *testing.T) {
	for _, c := range []struct {
		in   string
		want liburl.Parts
	}{
		{"http://u:p@h:80/a?b#c", liburl.Parts{Scheme: "http:", Slashes: "//", User: "u:p@", Host: "h", Port: ":80", Path: "/a", Query: "?b", Fragment: "#c", HasScheme: true}},
		{"http://[2001:db8::1]:8080/", liburl.Parts{Scheme: "http:", Slashes: "//", Host: "[2001:db8::1]", Port: ":8080", Path: "/", HasScheme: true}},
		{"http://[::1]", liburl.Parts{Scheme: "http:", Slashes: "//", Host: "[::1]", HasScheme: true}},
		{"http://h?a/b", liburl.Parts{Scheme: "http:", Slashes: "//", Host: "h", Query: "?a/b", HasScheme: true}},
		{"http://h#a?b", liburl.Parts{Scheme: "http:", Slashes: "//", Host: "h", Fragment: "#a?b", HasScheme: true}},
		{"http://a@b@c/", liburl.Parts{Scheme: "http:", Slashes: "//", User: "a@b@", Host: "c", Path: "/", HasScheme: true}},
		{"mailto:a@b", liburl.Parts{Scheme: "mailto:", Path: "a@b", HasScheme: true}},
		{"file:///a", liburl.Parts{Scheme: "file:", Slashes: "//", Path: "/a", HasScheme: true}},
		{"//h/a", liburl.Parts{Path: "//h/a"}},
		{":a", liburl.Parts{Path: ":a"}},
		{"1a:b", liburl.Parts{Path: "1a:b"}},
		{"/a:b", liburl.Parts{Path: "/a:b"}},
		{"", liburl.Parts{}},
	} {
		if d := cmp.Diff(c.want, liburl.Split(c.in)); d != "" {
			t.Errorf("%q (-want +got):\n%s", c.in, d)
		}
	}
}

func FuzzSplitIsLossless(f *testing.F) {
	f.Add("http://u:p@h:80/a?b#c")
	f.Add("http://[::1")
	f.Fuzz(func(t *testing.T, url string) {
		if p := liburl.Split(url); p.String() != url {
			t.Errorf("%q became %q", url, p.String())
		}
	})
}

func TestHostKey(t *testing.T) {
	for in, want := range map[string]string{
		"WWW.Example.ORG.": "www.example.org", "München.example": "xn--mnchen-3ya.example", "[2001:DB8::1]": "[2001:db8::1]", "": "", "ä b": "ä b",
	} {
		if got := liburl.HostKey(in); got != want {
			t.Errorf("%q = %q, want %q", in, got, want)
		}
	}
}

func TestHosts(t *testing.T) {
	var h liburl.Hosts[string]
	for _, name := range []string{"www.example.org", "*.example.org", "*.Deep.example.org", "other.test"} {
		if _, had, err := h.Set(name, name); had || err != nil {
			t.Fatal(name, had, err)
		}
	}
	if old, had, _ := h.Set("OTHER.test.", "again"); !had || old != "other.test" {
		t.Errorf("setting a name again: %q, %v", old, had)
	}
	for host, want := range map[string]string{
		"www.example.org": "www.example.org", "example.org": "*.example.org", "a.b.example.org": "*.example.org",
		"deep.example.org": "*.Deep.example.org", "x.deep.example.org": "*.Deep.example.org",
		"other.test": "again", "sub.other.test": "", "notexample.org": "", "": "", "org": "",
	} {
		if got, ok := h.Get(host); got != want || ok != (want != "") {
			t.Errorf("%q = %q, %v; want %q", host, got, ok, want)
		}
	}
	for _, bad := range []string{"", "*.", "a..b", ".org", "a/b", "http://a", "a:80", "*", "a*b", "x y", "[::1", "a@b"} {
		if _, _, err := h.Set(bad, ""); err == nil {
			t.Errorf("%q is taken for a host", bad)
		}
	}
	if err := liburl.CheckHost("[2001:db8::1]"); err != nil {
		t.Error(err)
	}
}
