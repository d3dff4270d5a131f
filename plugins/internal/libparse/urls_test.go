package libparse

import (
	"strings"
	"testing"
	"time"
)

func TestFindURLs(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"see http://a.example/x, and <https://b.example/?q=1#f>.", "http://a.example/x https://b.example/?q=1#f"},
		{"(http://a.example/w_(x)) [ftp://f.example/y] \"http://q.example/\"", "http://a.example/w_(x) ftp://f.example/y http://q.example/"},
		{"[![badge](http://a.example/b.svg)](http://b.example/c) [d]: http://d.example/[e](f).", "http://a.example/b.svg http://b.example/c http://d.example/[e](f)"},
		{"HTTP://A.example/", "HTTP://A.example/"},
		{"http:// https:/// http://, ://x mailto:a@b", ""},
		{"xhttp://a.example/ gopher://b.example/", ""},
		{"http://a.example/http://b.example/", "http://a.example/http://b.example/"},
		{"http://self.example/doc#part http://self.example/other", "http://self.example/other"},
		{"http://[::1]/x http://müller.example/ü.", "http://[::1]/x http://müller.example/ü"},
		{"http://a.example!!! 'http://b.example'", "http://a.example http://b.example"},
	} {
		urls, over := FindURLs(c.text, 0, "http://self.example/doc")
		if got := strings.Join(urls, " "); got != c.want || over != 0 {
			t.Errorf("%q: got %q, want %q", c.text, got, c.want)
		}
	}
}

// TestLinearTime would take hours if any of these were quadratic.
func TestLinearTime(t *testing.T) {
	start := time.Now()
	for _, s := range []string{"://", "http://", "a", "http://)", "(", "http://a ", "http://a/("} {
		text := strings.Repeat(s, 8<<20/len(s))
		FindURLs(text, 100, "")
	}
	if d := time.Since(start); d > 20*time.Second {
		t.Errorf("took %v", d)
	}
}

func FuzzFindURLs(f *testing.F) {
	f.Add("see http://a.example/x, (https://b/[c])")
	f.Add("http://")
	f.Fuzz(func(t *testing.T, text string) {
		urls, _ := FindURLs(text, 0, "")
		for _, u := range urls {
			if !strings.Contains(text, u) || strings.ContainsAny(u, " \n<>\"") {
				t.Errorf("%q in %q", u, text)
			}
		}
	})
}
