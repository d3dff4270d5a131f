package libregex_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/gonutch/crawler/plugins/internal/libregex"
)

func TestFind(t *testing.T) {
	for _, c := range []struct {
		expr, in     string
		want, linear bool
	}{
		{`\.(gif|jpg)$`, "http://a/x.gif", true, true},
		{`(?i)\.(GIF)$`, "http://a/x.gif", true, true},
		{`.*(/[^/]+)/[^/]+\1/[^/]+\1/`, "http://a/b/c/b/c/b/", true, false},
		{`.*(/[^/]+)/[^/]+\1/[^/]+\1/`, "http://a/b/c/d/", false, false},
		{`^http://(?!www)`, "http://a/", true, false},
	} {
		r, err := libregex.Compile(c.expr, 0)
		if err != nil {
			t.Fatal(err)
		}
		got, err := r.Find(c.in)
		if err != nil || got != c.want || r.Linear() != c.linear {
			t.Errorf("%q on %q = %v, %v (linear %v), want %v (linear %v)", c.expr, c.in, got, err, r.Linear(), c.want, c.linear)
		}
	}
}

func TestLimit(t *testing.T) {
	r, err := libregex.Compile(`^(a+)+\1$`, 20*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	_, err = r.Find(strings.Repeat("a", 60) + "!")
	if !errors.Is(err, libregex.ErrLimit) {
		t.Errorf("error = %v, want ErrLimit", err)
	}
	if d := time.Since(start); d > 5*time.Second {
		t.Errorf("gave up only after %v", d)
	}
}

func TestReplaceAll(t *testing.T) {
	for _, c := range []struct{ expr, sub, in, want string }{
		{`&{2,}`, "&", "a?b&&&c", "a?b&c"},
		{`(x)(y)`, "$2$1", "axyb", "ayxb"},
		{`(x)1`, "${1}2", "x1", "x2"},
		{`a`, `\$`, "a", "$"},
		{`(?<!:)/{2,}`, "/", "http://a//b", "http://a/b"},
	} {
		r, err := libregex.Compile(c.expr, 0)
		if err != nil {
			t.Fatal(err)
		}
		got, err := r.ReplaceAll(c.in, libregex.NewSubstitution(c.sub))
		if err != nil || got != c.want {
			t.Errorf("%q → %q on %q = %q, %v, want %q", c.expr, c.sub, c.in, got, err, c.want)
		}
	}
}

func TestCompileError(t *testing.T) {
	if _, err := libregex.Compile(`(`, 0); err == nil {
		t.Error("no error for an expression that neither engine reads")
	}
}
