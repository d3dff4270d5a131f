package parseext_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gonutch/crawler/plugins/internal/libtest"
	parseext "github.com/gonutch/crawler/plugins/parse-ext"
	"github.com/gonutch/crawler/sdk/extension/parser"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/model"
)

const url = "http://a.example/d/x"

// own is a configuration of one program, a shell script, for text/x-test.
func own(script, more string) string {
	return fmt.Sprintf(`{"program": {"p": {"types": ["text/x-test", "image/*"], "command": ["/bin/sh", "-c", %q, "sh", "{type}", "{url}"], "time_limit": "20s", "format": "text", "encoding": "utf-8"%s}}}`, script, more)
}

func parse(t testing.TB, own, mime, body string) model.Parse {
	t.Helper()
	out, err := libtest.Must(t, parseext.Plugin(), own).Parser.Parse(t.Context(), &parser.Input{Content: model.Content{URL: url, Base: url, MIMEType: mime, Body: []byte(body)}})
	if err != nil {
		t.Fatal(err)
	}
	return out.Parses[0]
}

func links(p *model.Parse) string {
	var s []string
	for _, l := range p.Outlinks {
		s = append(s, l.URL)
	}
	return strings.Join(s, " ")
}

// Nutch's rule: nutch.md 2.4, parse-ext.
func TestParse(t *testing.T) {
	for _, c := range []struct{ name, script, more, mime, body, status, title, text, links string }{
		{name: "text", script: "cat", body: "Title\n\nsome  text http://b.example/.", status: "success(1,0)", title: "Title", text: "Title\nsome text http://b.example/.", links: "http://b.example/"},
		{name: "arguments", script: `echo "$1 $2 $CRAWLER_TYPE"`, mime: "image/png", status: "success(1,0)", title: "image/png http://a.example/d/x image/png", text: "image/png http://a.example/d/x image/png"},
		{name: "html", script: "cat", more: `, "format": "html"`, body: "<title>T</title><p>a<p>b <a href=y>l</a>", status: "success(1,0)", title: "T", text: "a\nb l", links: "http://a.example/d/y"},
		{name: "json", script: "cat", more: `, "format": "json"`, body: `{"title": "T", "text": "x", "links": ["y", "javascript:z"], "metadata": {"k": ["v"]}}`, status: "success(1,0)", title: "T", text: "x", links: "http://a.example/d/y"},
		{name: "bad json", script: "echo words", more: `, "format": "json"`, status: `failed(2,200): program "p": invalid character 'w' looking for beginning of value`},
		{name: "encoding", script: `printf 'caf\351'`, more: `, "encoding": "iso-8859-1"`, status: "success(1,0)", title: "café", text: "café"},
		{name: "exit code", script: "echo broken >&2; exit 3", status: `failed(2,200): program "p": exit status 3: broken`},
		{name: "killed", script: "kill -9 $$", status: `failed(2,200): program "p": signal: killed`},
		{name: "does not read", script: "echo done", body: strings.Repeat("x", 1<<20), status: "success(1,0)", title: "done", text: "done"},
		{name: "too slow", script: "sleep 600", more: `, "time_limit": "100ms"`, status: `failed(2,200): program "p": took longer than 100ms`},
		{name: "nothing", script: "true", status: "success(1,0)"},
		{name: "another type", script: "cat", mime: "text/x-other", status: `failed(2,203): no parser for type "text/x-other"`},
	} {
		if c.mime == "" {
			c.mime = "text/x-test"
		}
		p := parse(t, own(c.script, c.more), c.mime, c.body)
		if p.Status.String() != c.status || p.Title != c.title || p.Text != c.text || links(&p) != c.links {
			t.Errorf("%s: %s, title %q, text %q, links %s", c.name, p.Status, p.Title, p.Text, links(&p))
		}
	}
}

// TestMuchOutput: a program that writes without end is stopped, and what was read
// counts.
func TestMuchOutput(t *testing.T) {
	conf := strings.TrimSuffix(own("yes words", ""), "}") + `, "max_output": "64KiB"}`
	p := parse(t, conf, "text/x-test", "")
	if !p.Status.OK() || p.ParseMeta.First("parse.truncated") != "output" || len(p.Text) == 0 || len(p.Text) > 64<<10 {
		t.Errorf("%v, %d bytes of text, %v", p.Status, len(p.Text), p.ParseMeta)
	}
}

// TestGrandchildren: what a program leaves behind is killed with it.
func TestGrandchildren(t *testing.T) {
	dir := t.TempDir()
	pid := filepath.Join(dir, "pid")
	for name, script := range map[string]string{"it ends": "sleep 600 >/dev/null 2>&1 & echo $! > " + pid, "it is killed": "sleep 600 & echo $! > " + pid + "; wait"} {
		p := parse(t, own(script, `, "time_limit": "2s"`), "text/x-test", "")
		raw, err := os.ReadFile(pid) //nolint:gosec // a test's own file
		if err != nil {
			t.Fatalf("%s: %v (%v)", name, err, p.Status)
		}
		proc := filepath.Join("/proc", strings.TrimSpace(string(raw)), "stat")
		deadline := time.Now().Add(20 * time.Second)
		for {
			stat, err := os.ReadFile(proc)
			if err != nil || strings.Contains(string(stat), ") Z ") {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s: what it started still runs: %s", name, stat)
			}
		}
	}
}

func TestEndedContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	p := libtest.Must(t, parseext.Plugin(), own("sleep 600", "")).Parser
	if _, err := p.Parse(ctx, &parser.Input{Content: model.Content{URL: url, MIMEType: "text/x-test"}}); err == nil {
		t.Error("no error")
	}
}

func TestSettingMistakes(t *testing.T) {
	for own, want := range map[string]string{
		`{"program": {"a": {"types": ["a/b"], "command": [], "encoding": "utf-8"}}}`:                                                                        `program "a": command is empty`,
		`{"program": {"a": {"command": ["cat"], "encoding": "utf-8"}}}`:                                                                                     `program "a": types is empty`,
		`{"program": {"a": {"types": ["pdf"], "command": ["cat"], "encoding": "utf-8"}}}`:                                                                   `program "a": "pdf" is no MIME type`,
		`{"program": {"a": {"types": ["a/b"], "command": ["/no/such/program"], "encoding": "utf-8"}}}`:                                                      `program "a": command: `,
		`{"program": {"a": {"types": ["a/b"], "command": ["cat"], "encoding": "klingon"}}}`:                                                                 `program "a": encoding "klingon"`,
		`{"program": {"a": {"types": ["a/b"], "command": ["cat"], "encoding": "utf-8"}, "b": {"types": ["A/B"], "command": ["cat"], "encoding": "utf-8"}}}`: `program "b": a/b is program "a"'s already`,
	} {
		if _, err := libtest.New(t, parseext.Plugin(), own); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", own, err)
		}
	}
}

func BenchmarkParse(b *testing.B) {
	body := strings.Repeat("Some words of a document.\n", 2000)
	p := libtest.Must(b, parseext.Plugin(), own("cat", "")).Parser
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		if _, err := p.Parse(b.Context(), &parser.Input{Content: model.Content{URL: url, MIMEType: "text/x-test", Body: []byte(body)}}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "pages/s")
}
