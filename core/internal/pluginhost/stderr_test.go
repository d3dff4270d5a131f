package pluginhost

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"
)

// captured returns a stderrLog and what it logs, as lines of level and text.
func captured(level hclog.Level) (*stderrLog, func() []string) {
	var buf bytes.Buffer
	s := newStderrLog(hclog.New(&hclog.LoggerOptions{Output: &buf, JSONFormat: true, Level: level}))
	return s, func() []string {
		var out []string
		for line := range strings.Lines(buf.String()) {
			var m map[string]any
			if err := json.Unmarshal([]byte(line), &m); err != nil {
				out = append(out, "not JSON: "+line)
				continue
			}
			delete(m, "@timestamp")
			text := fmt.Sprint(m["@level"], " ", m["@message"])
			delete(m, "@level")
			delete(m, "@message")
			if len(m) > 0 {
				text += fmt.Sprint(" ", m)
			}
			out = append(out, text)
		}
		return out
	}
}

func TestStderr(t *testing.T) {
	for _, c := range []struct {
		in    string
		level hclog.Level
		want  []string
		last  string
	}{
		{`{"@level":"warn","@message":"hello","@module":"m","url":"u","n":7,"deep":{"a":[1]}}`, hclog.Info, []string{`warn hello map[deep:{"a":[1]} n:7 url:u]`}, "hello"},
		{`{"@level":"debug","@message":"quiet"}`, hclog.Info, nil, "quiet"},
		{`{"@level":"info","@message":"mine","plugin":"other"}`, hclog.Info, []string{"info mine map[plugin_plugin:other]"}, "mine"},
		{`{"@message": 42, "@level": "info"}`, hclog.Debug, []string{`debug output map[line:{"@message": 42, "@level": "info"} stream:stderr]`}, `{"@message": 42, "@level": "info"}`},
		{`{"@message": 42, "@level": "info"}`, hclog.Info, nil, `{"@message": 42, "@level": "info"}`},
		{`{"@message": "m", "@level": "loud"}`, hclog.Info, nil, `{"@message": "m", "@level": "loud"}`},
		{"plain\r\nsecond\n\n  \n", hclog.Debug, []string{"debug output map[line:plain stream:stderr]", "debug output map[line:second stream:stderr]"}, "second"},
		{"panic: oh no\n\ngoroutine 1:\nmain.go:7\n", hclog.Info, nil, "panic: oh no"},
		{"\x1b[31mred\x00\xff\n", hclog.Debug, []string{"debug output map[line:[31mred\uFFFD stream:stderr]"}, "[31mred\uFFFD"},
	} {
		s, lines := captured(c.level)
		for i := range c.in { // byte by byte
			_, _ = s.Write([]byte(c.in[i : i+1]))
		}
		last, _ := s.epitaph()
		if d := cmp.Diff(c.want, lines()); d != "" {
			t.Errorf("%q: %s", c.in, d)
		}
		if last != c.last {
			t.Errorf("%q: last words %q, want %q", c.in, last, c.last)
		}
	}
}

func TestStderrBounds(t *testing.T) {
	s, lines := captured(hclog.Debug)
	now := time.Unix(0, 0)
	s.now = func() time.Time { return now }
	for i := range 10_000 {
		_, _ = fmt.Fprintf(s, "line %d\n", i)
	}
	now = now.Add(time.Second)
	_, _ = s.Write([]byte("after\n"))
	got := lines()
	if n := len(got); n != logBurst+2 || got[n-2] != "warn lines left out: the plugin prints too much map[count:9500]" {
		t.Errorf("%d lines, the last two %q", n, got[max(0, len(got)-2):])
	}
	long := strings.Repeat("x", 10<<20)
	_, _ = s.Write([]byte(long))
	if len(s.line) > maxLogLine {
		t.Errorf("%d bytes of one line are kept", len(s.line))
	}
	if last, _ := s.epitaph(); len(last) > maxLogText+100 || !strings.Contains(last, "bytes more") {
		t.Errorf("last words of %d bytes", len(last))
	}
}

func FuzzStderr(f *testing.F) {
	for _, s := range []string{`{"@message":{},"@level":1}`, `{"@message":"m","@level":"info","a":null}`, "[", "x\n\xffy", `{"@level":"error","@message":"\ud800"}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		s, lines := captured(hclog.Trace)
		_, _ = s.Write(b)
		last, _ := s.epitaph()
		for _, l := range append(lines(), last) {
			if !utf8.ValidString(l) || strings.HasPrefix(l, "not JSON") {
				t.Errorf("%q", l)
			}
		}
	})
}
