package robots

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gonutch/crawler/sdk/model"
)

var t0 = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func http(code int) Answer {
	a := Answer{Status: model.ProtocolStatus{Code: model.ProtocolFailed, HTTP: code}}
	if code == 200 {
		a.Body = []byte("User-agent: *\nDisallow: /a\n")
	}
	return a
}

func failed(code model.ProtocolCode) Answer {
	return Answer{Status: model.ProtocolStatus{Code: code}}
}

func TestClassify(t *testing.T) {
	deny := DefaultPolicy()
	deny.Deny403 = true
	cut, long := http(200), http(200)
	cut.Truncated, long.Truncated = "disconnect", "length"
	for _, c := range []struct {
		name         string
		a            Answer
		want, strict State // strict: with Deny403
	}{
		{"200", http(200), Found, Found},
		{"204", http(204), Found, Found},
		{"200 cut off", cut, Unreachable, Unreachable},
		{"200 too long", long, Found, Found},
		{"301 without end", http(301), Missing, Missing},
		{"304 to nobody", http(304), Missing, Missing},
		{"400", http(400), Missing, Missing},
		{"401", http(401), Missing, Forbidden},
		{"403", http(403), Missing, Forbidden},
		{"404", http(404), Missing, Missing},
		{"410", http(410), Missing, Missing},
		{"429", http(429), Unreachable, Unreachable},
		{"500", http(500), Unreachable, Unreachable},
		{"503", http(503), Unreachable, Unreachable},
		{"599", http(599), Unreachable, Unreachable},
		{"100", http(100), Unreachable, Unreachable},
		{"file", failed(model.ProtocolSuccess), Found, Found},
		{"file not found", failed(model.ProtocolNotFound), Missing, Missing},
		{"file denied", failed(model.ProtocolAccessDenied), Missing, Forbidden},
		{"time-out", failed(model.ProtocolException), Unreachable, Unreachable},
		{"no plugin", failed(model.ProtocolFailed), Unreachable, Unreachable},
	} {
		if got := Update(nil, c.a, t0, DefaultPolicy()).State; got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		if got := Update(nil, c.a, t0, deny).State; got != c.strict {
			t.Errorf("%s with Deny403: %s, want %s", c.name, got, c.strict)
		}
	}
}

func allowed(e Entry, path string) bool {
	return e.Rules([]string{"foobot"}).Check("http://h" + path).Allowed
}

// What happens to a host over time; hours count from t0.
func TestLifeOfAnEntry(t *testing.T) {
	p := DefaultPolicy()
	p.UnreachableOK = 30 * 24 * time.Hour
	retry := http(503)
	retry.RetryAfter = 2 * time.Hour
	var e *Entry
	for _, s := range []struct {
		hour    float64
		a       Answer
		state   State
		expires float64 // hours after the answer
		a1, b   bool    // may /a, may /b be fetched
	}{
		{0, http(503), Unreachable, 1.0 / 12, false, false},
		{0.1, http(429), Unreachable, 2.0 / 12, false, false},
		{0.3, failed(model.ProtocolException), Unreachable, 4.0 / 12, false, false},
		{1, retry, Unreachable, 2, false, false}, // Retry-After wins over less
		{3, http(200), Found, 24, false, true},
		{27, http(500), Found, 1.0 / 12, false, true},                   // last good copy
		{28, failed(model.ProtocolNotModified), Found, 24, false, true}, // and it is confirmed
		{60, http(500), Found, 1.0 / 12, false, true},                   // good until 28 + 7 × 24
		{197, http(500), Unreachable, 2.0 / 12, false, false},
		{198, http(404), Missing, 24, true, true},
		{222, http(500), Missing, 1.0 / 12, true, true}, // "there is none" is a good answer too
		{222 + 30*24 - 1, http(500), Unreachable, 2.0 / 12, false, false},
		{222 + 30*24, http(500), Missing, 24, true, true}, // 30 days unreachable
		{222 + 31*24, http(500), Missing, 24, true, true},
		{222 + 32*24, http(200), Found, 24, false, true},
		{222 + 33*24, http(404), Missing, 24, true, true},
	} {
		now := t0.Add(time.Duration(s.hour * float64(time.Hour)))
		next := Update(e, s.a, now, p)
		gotExpires := next.Expires.Sub(now).Hours()
		if next.State != s.state || gotExpires < s.expires-1e-6 || gotExpires > s.expires+1e-6 {
			t.Fatalf("hour %v: %s for %v h, want %s for %v h", s.hour, next.State, gotExpires, s.state, s.expires)
		}
		if allowed(next, "/a") != s.a1 || allowed(next, "/b") != s.b {
			t.Fatalf("hour %v: wrong verdicts", s.hour)
		}
		if until, deferred := next.Deferred(); deferred != (s.state == Unreachable) || !until.Equal(next.Expires) {
			t.Fatalf("hour %v: deferred %v until %v", s.hour, deferred, until)
		}
		if !next.Fresh(next.Expires.Add(-1)) || next.Fresh(next.Expires) {
			t.Fatalf("hour %v: fresh at the wrong time", s.hour)
		}
		e = &next
	}
}

func TestHoldGrowsToItsLimit(t *testing.T) {
	var e Entry
	for i := range 40 {
		prev := &e
		if i == 0 {
			prev = nil
		}
		e = Update(prev, http(500), t0, DefaultPolicy())
	}
	if d := e.Expires.Sub(t0); d != time.Hour || e.Failures != 40 {
		t.Errorf("after %d failures: %v", e.Failures, d)
	}
	if v := e.Rules(nil).Check("http://h/"); v.Allowed || !strings.Contains(v.Rule, "unreachable") {
		t.Errorf("verdict %+v gives no reason", v)
	}
	hostile := http(503)
	hostile.RetryAfter = 10_000 * time.Hour
	if d := Update(nil, hostile, t0, DefaultPolicy()).Expires.Sub(t0); d != 24*time.Hour {
		t.Errorf("endless Retry-After: %v", d)
	}
}

func TestCodec(t *testing.T) {
	big := http(200)
	big.Body = append([]byte("\xff\x00"), make([]byte, MaxBytes+1000)...)
	found := Update(nil, http(200), t0, DefaultPolicy())
	for _, e := range []Entry{found, Update(&found, http(503), t0, DefaultPolicy()), Update(nil, http(503), t0, DefaultPolicy()), Update(nil, big, t0, DefaultPolicy())} {
		got, err := DecodeEntry(e.Encode())
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(e.Text, got.Text) {
			t.Error("text changed")
		}
		if d := cmp.Diff(e, got, cmp.FilterPath(func(p cmp.Path) bool { return p.String() == "Text" }, cmp.Ignore())); d != "" {
			t.Error(d)
		}
		if len(e.Text) > MaxBytes+8 {
			t.Errorf("%d bytes kept", len(e.Text))
		}
	}
	for _, bad := range []string{"", "{", `{"v":2,"state":"found"}`, `{"v":1,"state":"odd"}`, `{"v":1}`} {
		if _, err := DecodeEntry([]byte(bad)); err == nil {
			t.Errorf("%q decoded", bad)
		}
	}
	if !Update(nil, big, t0, DefaultPolicy()).Rules(nil).Truncated {
		t.Error("a long text is not seen to be truncated")
	}
}

func TestURLForAndRedirect(t *testing.T) {
	for page, want := range map[string]string{
		"http://H.example/x?y": "http://h.example/robots.txt", "https://h:8443/": "https://h:8443/robots.txt",
		"http://u:p@h:80": "http://h/robots.txt", "http://[::1]:81/": "http://[::1]:81/robots.txt",
		"ftp://u:p@H/x": "ftp://h/robots.txt", "ftp://h:21/": "ftp://h/robots.txt", "ftps://h:991/x": "ftps://h:991/robots.txt",
		"file:///x": "", "s3://h/x": "", "ftp:x": "", "nonsense": "",
	} {
		if got, ok := URLFor(page); got != want || ok != (want != "") {
			t.Errorf("URLFor(%s) = %q, %v", page, got, ok)
		}
	}
	p := DefaultPolicy()
	for _, c := range []struct {
		location string
		hops     int
		want     string
	}{
		{"/r.txt#x", 0, "http://h/r.txt"},
		{"https://www.h/robots.txt", 4, "https://www.h/robots.txt"},
		{"https://www.h/robots.txt", 5, ""},
		{"file:///etc/passwd", 0, ""},
		{"http://", 0, ""},
		{"", 0, ""},
		{"http://%zz/", 0, ""},
	} {
		if got, ok := Redirect("http://h/robots.txt", c.location, c.hops, p); got != c.want || ok != (c.want != "") {
			t.Errorf("Redirect(%q, %d) = %q, %v", c.location, c.hops, got, ok)
		}
	}
}
