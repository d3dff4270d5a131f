package urlkey

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestKeys(t *testing.T) {
	for _, c := range []struct{ url, key string }{
		{"https://www.example.org/path?query", "org.example.www:https/path?query"},
		{"https://www.example.org:8080/path", "org.example.www:https:8080/path"},
		{"http://example.org", "org.example:http"},
		{"http://example.org?q=a:b@c", "org.example:http?q=a:b@c"},
		{"http://example.org#f", "org.example:http#f"},
		{"http://example.org/a/http://b.c/", "org.example:http/a/http://b.c/"},
		{"http://example.org:80/", "org.example:http:80/"}, // not normalized: its own key
		{"http://localhost/", "localhost:http/"},
		{"ftp://me:p@ss@example.org:21/x", "org.example:ftp:21@me:p@ss/x"},
		{"http://@example.org/", "org.example:http@/"},
		{"http://127.0.0.1:81/x", "127.0.0.1:http:81/x"},
		{"http://1.0.0.127/x", "1.0.0.127:http/x"},
		{"http://1.2.3.256/", "256.3.2.1:http/"}, // no address
		{"http://[2001:db8::1]:8080/", "[2001:db8::1]:http:8080/"},
		{"http://[::ffff:1.2.3.4]/", "[::ffff:1.2.3.4]:http/"},
		{"file:///etc/motd", ":file/etc/motd"},
		{"file://srv.lan/x", "lan.srv:file/x"},
		{"file:/etc/motd", "!file:/etc/motd"},
		{"gopher+x://a.b/", "b.a:gopher+x/"},
		{"http://example.org./", ".org.example:http/"},
		{"HTTP://Example.ORG/", "ORG.Example:HTTP/"},
		{"http://bücher.de/", "de.bücher:http/"},
		{"http://a.b:/", "b.a:http:/"},
		{"mailto:a@b.c", "!mailto:a@b.c"},
		{"http://a b/", "!http://a b/"},
		{"http://a%2eb/", "!http://a%2eb/"},
		{"http://a.b:port/", "!http://a.b:port/"},
		{"http://[::1/", "!http://[::1/"},
		{"http://[::1]x/", "!http://[::1]x/"},
		{"http://[1.2.3.4]/", "!http://[1.2.3.4]/"},
		{"http://a:1:2/", "!http://a:1:2/"},
		{"http://:80/", "!http://:80/"},
		{"://a/", "!://a/"},
		{"!x", "!!x"},
		{"", "!"},
		{"http://a/\x00\x01\x02", "!http://a/\x01\x01\x01\x02\x02"},
		{"http://a/\x01", "a:http/\x01"},
	} {
		got := FromURL(c.url)
		if string(got) != c.key {
			t.Errorf("FromURL(%q) = %q, want %q", c.url, got, c.key)
		}
		back, err := ToURL(got)
		if err != nil || back != c.url {
			t.Errorf("ToURL(%q) = %q, %v, want %q", got, back, err, c.url)
		}
		if got.Host() != Host(c.url) {
			t.Errorf("key host %q, URL host %q", got.Host(), Host(c.url))
		}
		if p := string(AppendKey([]byte("p"), c.url)); p != "p"+c.key {
			t.Errorf("AppendKey(%q) = %q", c.url, p)
		}
	}
}

func TestToURLRefusesWhatIsNoKey(t *testing.T) {
	for _, k := range []Key{"", "abc", "org.example/http", "[::1:http/", "[::1]/:http", "a:1http/", "a:http:x/", "a b:http/", "!\x01", "!\x01\x03", ":/"} {
		if u, err := ToURL(k); err == nil {
			t.Errorf("ToURL(%q) = %q, want an error", k, u)
		}
		if k != "" && k[0] != '!' && k.Host() != "" {
			t.Errorf("Host of %q is %q", k, k.Host())
		}
	}
}

func TestHostDomainOrigin(t *testing.T) {
	for _, c := range []struct{ url, host, domain, origin string }{
		{"http://www.Example.co.uk/", "www.example.co.uk", "example.co.uk", "http://www.example.co.uk"},
		{"http://a.b.foo.github.io/", "a.b.foo.github.io", "github.io", "http://a.b.foo.github.io"}, // private rule passed over
		{"http://x.s3.amazonaws.com/", "x.s3.amazonaws.com", "amazonaws.com", "http://x.s3.amazonaws.com"},
		{"http://co.uk/", "co.uk", "co.uk", "http://co.uk"},
		{"http://com/", "com", "com", "http://com"},
		{"http://www.city.kawasaki.jp/", "www.city.kawasaki.jp", "city.kawasaki.jp", "http://www.city.kawasaki.jp"}, // exception rule
		{"http://a.b.c.kawasaki.jp/", "a.b.c.kawasaki.jp", "b.c.kawasaki.jp", "http://a.b.c.kawasaki.jp"},           // wildcard rule
		{"http://host0.test:80/", "host0.test", "host0.test", "http://host0.test"},
		{"http://a.host0.test/", "a.host0.test", "a.host0.test", "http://a.host0.test"}, // unlisted suffix
		{"https://a.example.org.:443/", "a.example.org.", "example.org", "https://a.example.org."},
		{"https://a.example.org:08443/", "a.example.org", "example.org", "https://a.example.org:8443"},
		{"http://a.b:/", "a.b", "a.b", "http://a.b"},
		{"http://10.1.2.3/", "10.1.2.3", "10.1.2.3", "http://10.1.2.3"},
		{"http://[::1]:80/", "[::1]", "[::1]", "http://[::1]"},
		{"http://www.bücher.de/", "www.bücher.de", "bücher.de", "http://www.bücher.de"},
		{"http://a.b.公司.cn/", "a.b.公司.cn", "b.公司.cn", "http://a.b.公司.cn"},
		{"http://", "", "", ""},
		{"file:///x", "", "", ""},
		{"nonsense", "", "", ""},
	} {
		got := struct{ url, host, domain, origin string }{c.url, Host(c.url), Domain(c.url), Origin(c.url)}
		if got != c {
			t.Errorf("got %+v, want %+v", got, c)
		}
	}
}

func TestQueueKey(t *testing.T) {
	for _, c := range []struct {
		url  string
		mode Mode
		ip   string
		want string
	}{
		{"https://WWW.example.org:8443/", ByHost, "1.2.3.4", "www.example.org"},
		{"https://www.example.org/", ByDomain, "1.2.3.4", "example.org"},
		{"https://www.example.org/", ByIP, "1.2.3.4", "1.2.3.4"},
		{"https://www.example.org/", ByIP, "", "www.example.org"},
		{"file:///x", ByHost, "", "file:"},
		{"FILE:/x", ByDomain, "", "file:"},
		{"http://a b/", ByIP, "9.9.9.9", "http:"},
		{"nonsense", ByHost, "", "!"},
	} {
		if got := QueueKey(c.url, c.mode, c.ip); got != c.want {
			t.Errorf("QueueKey(%q, %v, %q) = %q, want %q", c.url, c.mode, c.ip, got, c.want)
		}
	}
	for _, m := range []Mode{ByHost, ByDomain, ByIP} {
		got, err := ParseMode(strings.ToUpper(m.String()))
		if err != nil || got != m {
			t.Errorf("ParseMode(%v) = %v, %v", m, got, err)
		}
	}
	if _, err := ParseMode("byName"); err == nil || !strings.Contains(err.Error(), `"byName"`) {
		t.Errorf("ParseMode(byName): %v", err)
	}
}

func TestRanges(t *testing.T) {
	urls := []string{
		"http://example.org/", "https://example.org:8080/x", "http://www.example.org/", "http://a.b.example.org/",
		"http://example0.org/", "http://example-a.org/", "http://myexample.org/", "http://example.com/", "http://127.0.0.1/",
		"http://127.0.0.10/", "file:///x", "http://[::1]/", "mailto:x@example.org", "http://u@example.org/",
	}
	pick := func(ranges ...Range) (got []string) {
		for _, u := range urls {
			if slices.ContainsFunc(ranges, func(r Range) bool { return r.Contains(FromURL(u)) }) {
				got = append(got, u)
			}
		}
		return got
	}
	for _, c := range []struct {
		name   string
		ranges []Range
		want   []string
	}{
		{"host example.org", []Range{HostRange("example.org")}, []string{"http://example.org/", "https://example.org:8080/x", "http://u@example.org/"}},
		{"domain example.org", DomainRanges("example.org"), []string{
			"http://example.org/", "https://example.org:8080/x", "http://www.example.org/", "http://a.b.example.org/", "http://u@example.org/",
		}},
		{"domain org", DomainRanges("org"), []string{
			"http://example.org/", "https://example.org:8080/x", "http://www.example.org/", "http://a.b.example.org/",
			"http://example0.org/", "http://example-a.org/", "http://myexample.org/", "http://u@example.org/",
		}},
		{"host 127.0.0.1", DomainRanges("127.0.0.1"), []string{"http://127.0.0.1/"}},
		{"host [::1]", DomainRanges("[::1]"), []string{"http://[::1]/"}},
		{"no host", DomainRanges(""), []string{"file:///x"}},
	} {
		if d := cmp.Diff(c.want, pick(c.ranges...)); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, d)
		}
		for i := 1; i < len(c.ranges); i++ {
			if c.ranges[i-1].Hi > c.ranges[i].Lo {
				t.Errorf("%s: ranges overlap or are out of order: %q", c.name, c.ranges)
			}
		}
	}
}

func TestHashesAreStable(t *testing.T) {
	// First half of SHA-256("org.example:http/"), computed by sha256sum.
	const want = "80ac256e95cde95ef200dc09c3fc7f81"
	if got := Hash128("org.example:http/"); hex(got[:]) != want {
		t.Errorf("Hash128 = %s, want %s", hex(got[:]), want)
	}
	if got := Hash32("example.org"); got != 2183983586 {
		t.Errorf("Hash32 = %d: stored indexes would no longer match", got)
	}
}

func hex(b []byte) string {
	const digits = "0123456789abcdef"
	var s strings.Builder
	for _, c := range b {
		s.WriteByte(digits[c>>4])
		s.WriteByte(digits[c&15])
	}
	return s.String()
}

func FuzzRoundTrip(f *testing.F) {
	for _, s := range []string{
		"https://www.example.org:8080/p?q#f", "http://u:p@[::1]:1/", "file:///a", "a:b", "!", "\x00\x01", "http://1.2.3.4/", "x://..", "http://[::1%25e]/",
	} {
		f.Add(s, "http://a/")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		ka := FromURL(a)
		if strings.IndexByte(string(ka), 0) >= 0 || ka == "" {
			t.Fatalf("key of %q holds NUL or is empty: %q", a, ka)
		}
		back, err := ToURL(ka)
		if err != nil || back != a {
			t.Fatalf("%q -> %q -> %q, %v", a, ka, back, err)
		}
		if a != b && ka == FromURL(b) {
			t.Fatalf("%q and %q share key %q", a, b, ka)
		}
		host := Host(a)
		if ka.Host() != host {
			t.Fatalf("%q: host %q, of key %q", a, host, ka.Host())
		}
		if p, ok := split(a); ok && p.host == host && !HostRange(host).Contains(ka) {
			t.Fatalf("%q: key %q outside its host's range", a, ka)
		}
		if d := Domain(a); d != "" && !isAddress(d) && !strings.HasSuffix(strings.TrimSuffix(host, "."), d) {
			t.Fatalf("%q: domain %q is no suffix of host %q", a, d, host)
		}
		// Any string that ToURL accepts must decode without panic.
		if _, err := ToURL(Key(a)); err == nil {
			_ = Key(a).Host()
		}
	})
}

func BenchmarkFromURL(b *testing.B) {
	u := "https://www.example.org/some/path/to/a/page.html?with=query"
	dst := make([]byte, 0, 128)
	for b.Loop() {
		dst = AppendKey(dst[:0], u)
	}
}

func BenchmarkHash128(b *testing.B) {
	k := FromURL("https://www.example.org/some/path/to/a/page.html?with=query")
	for b.Loop() {
		Hash128(k)
	}
}

func BenchmarkDomain(b *testing.B) {
	for b.Loop() {
		Domain("https://www.example.co.uk/some/path")
	}
}
