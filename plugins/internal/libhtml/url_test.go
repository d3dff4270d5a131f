package libhtml

import (
	"net/url"
	"strings"
	"testing"

	"golang.org/x/text/encoding/charmap"
)

func TestResolve(t *testing.T) {
	const base = "http://a/b/c/d;p?q"
	for _, c := range []struct{ ref, want string }{
		// RFC 3986, 5.4.1 and 5.4.2
		{"g:h", ""},
		{"g", "http://a/b/c/g"},
		{"./g", "http://a/b/c/g"},
		{"g/", "http://a/b/c/g/"},
		{"/g", "http://a/g"},
		{"//g", "http://g/"},
		{"?y", "http://a/b/c/d;p?y"},
		{"g?y", "http://a/b/c/g?y"},
		{"g#s", "http://a/b/c/g#s"},
		{"g?y#s", "http://a/b/c/g?y#s"},
		{";x", "http://a/b/c/;x"},
		{"g;x", "http://a/b/c/g;x"},
		{".", "http://a/b/c/"},
		{"./", "http://a/b/c/"},
		{"..", "http://a/b/"},
		{"../", "http://a/b/"},
		{"../g", "http://a/b/g"},
		{"../..", "http://a/"},
		{"../../g", "http://a/g"},
		{"../../../g", "http://a/g"},
		{"/./g", "http://a/g"},
		{"/../g", "http://a/g"},
		{"g.", "http://a/b/c/g."},
		{".g", "http://a/b/c/.g"},
		{"..g", "http://a/b/c/..g"},
		{"./../g", "http://a/b/g"},
		{"./g/.", "http://a/b/c/g/"},
		{"g/./h", "http://a/b/c/g/h"},
		{"g/../h", "http://a/b/c/h"},
		{"g?y/../x", "http://a/b/c/g?y/../x"},
		{"g#s/../x", "http://a/b/c/g#s/../x"},
		// the URL standard
		{"http:g", "http://a/b/c/g"},
		{"HTTPS://X/Y", "https://X/Y"},
		{"https:x/y", "https://x/y"},
		{"http:///x/y", "http://x/y"},
		{`\x\y`, "http://a/x/y"},
		{`\\x\y`, "http://x/y"},
		{"  g \n", "http://a/b/c/g"},
		{"g\n\th", "http://a/b/c/gh"},
		{"%2e%2E/g", "http://a/b/g"},
		{"g h?i j", "http://a/b/c/g%20h?i%20j"},
		{`g"<>`, "http://a/b/c/g%22%3C%3E"},
		{"ü?ü", "http://a/b/c/ü?ü"},
		{"http://x?y", "http://x/?y"},
		{"//x", "http://x/"},
		{"ftp://x/y", "ftp://x/y"},
		{"file:/x", "file:///x"},
		{"file:///x/../y", "file:///y"},
		{"s3://bucket/key", "s3://bucket/key"},
		{"x%zz", "http://a/b/c/x%zz"},
		{"a//b", "http://a/b/c/a//b"},
		// no links
		{"", ""},
		{"#s", ""},
		{"#!s", "http://a/b/c/d;p?q#!s"},
		{"#", ""},
		{"d;p?q#s", ""},
		{"javascript:x()", ""},
		{"JavaScript://x/%0a", ""},
		{"mailto:a@b", ""},
		{"data:text/plain,x", ""},
		{"tel:+1", ""},
		{"http://", ""},
		{"http://a b/", ""},
		{"about:blank", ""},
	} {
		r := newResolver(base, base)
		got, ok := r.resolve([]byte("before"), []byte(c.ref))
		if s := strings.TrimPrefix(string(got), "before"); s != c.want || ok != (c.want != "") {
			t.Errorf("%q: got %q %v, want %q", c.ref, s, ok, c.want)
		}
	}
}

func TestResolveWithoutBase(t *testing.T) {
	for _, base := range []string{"", "about:blank", "x"} {
		r := newResolver(base, "")
		if got, ok := r.resolve(nil, []byte("g")); ok {
			t.Errorf("base %q: got %q", base, got)
		}
		if got, _ := r.resolve(nil, []byte("http://x/g")); string(got) != "http://x/g" {
			t.Errorf("base %q: got %q", base, got)
		}
	}
}

// TestQueryCharset: browsers send queries in the page's charset, paths in UTF-8.
func TestQueryCharset(t *testing.T) {
	r := newResolver("http://a/b", "http://a/b")
	r.charset = charmap.KOI8R
	for _, c := range []struct{ ref, want string }{
		{"д?д=я #д", "http://a/д?%C4=%D1%20#д"}, {"?q=漢", "http://a/b?q=%26%2328450%3B"}, {"?q=%C4&x=1", "http://a/b?q=%C4&x=1"},
	} {
		if got, _ := r.resolve(nil, []byte(c.ref)); string(got) != c.want {
			t.Errorf("%q: got %q, want %q", c.ref, got, c.want)
		}
	}
}

// FuzzResolve checks that what comes out is an absolute URL without the bytes
// and dot segments that must not be there.
func FuzzResolve(f *testing.F) {
	for _, s := range []string{"../g", "//x\\y", "http:\n//x/./%2e./", "?a b", "file:..", "x://y"} {
		f.Add("http://a/b/c?d", s)
	}
	f.Fuzz(func(t *testing.T, base, ref string) {
		r := newResolver(base, base)
		got, ok := r.resolve(nil, []byte(ref))
		if !ok {
			return
		}
		i := schemeLen(got)
		if i == 0 || !strings.HasPrefix(string(got[i:]), "://") {
			t.Fatalf("%q + %q = %q", base, ref, got)
		}
		if strings.ContainsAny(ref, " \n\t<>\"") && !strings.ContainsAny(base, " \n\t<>\"") && strings.ContainsAny(string(got), " \n\t<>\"") {
			t.Errorf("%q + %q = %q", base, ref, got)
		}
	})
}

// TestResolveAgreesWithNetURL compares plain references with the standard
// library's.
func TestResolveAgreesWithNetURL(t *testing.T) {
	base, err := url.Parse("https://host.example/a/b/c.html?x=1")
	if err != nil {
		t.Fatal(err)
	}
	r := newResolver(base.String(), "http://elsewhere/")
	parts := []string{"a", "..", ".", "b.html", "", "c;d", "%41"}
	for _, p := range parts {
		for _, q := range parts {
			for _, tail := range []string{"", "?q=/../x", "#f"} {
				ref := p + "/" + q + tail
				want, err := base.Parse(ref)
				if err != nil {
					t.Fatal(err)
				}
				if p == "" && q == "" { // "//": no host
					continue
				}
				if got, _ := r.resolve(nil, []byte(ref)); string(got) != want.String() && p != "" {
					t.Errorf("%q: got %q, want %q", ref, got, want)
				}
			}
		}
	}
}
