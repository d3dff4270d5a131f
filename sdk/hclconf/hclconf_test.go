package hclconf

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

func TestParseLimits(t *testing.T) {
	deep := func(open, closing string, n int) string {
		return "x = " + strings.Repeat(open, n) + "1" + strings.Repeat(closing, n) + "\n"
	}
	for name, tc := range map[string]struct {
		src  string
		want string // in the message; "" for none
	}{
		"brackets":          {deep("[", "]", 20_000), "nested more than"},
		"parentheses":       {deep("(", ")", 20_000), "nested more than"},
		"braces":            {strings.Repeat("a {\n", 20_000), "nested more than"},
		"templates":         {deep("\"${", "}\"", 20_000), "nested more than"},
		"minus":             {"x = " + strings.Repeat("-", 20_000) + "1\n", "operators"},
		"sum":               {"x = 1" + strings.Repeat("+1", 20_000) + "\n", "operators"},
		"conditional":       {"x = " + strings.Repeat("true ? 1 : ", 20_000) + "1\n", "operators"},
		"size":              {strings.Repeat("# comment\n", MaxBytes/10+1), "more than"},
		"zero byte":         {"x = \"\x00\"\n", "not a text file"},
		"UTF-16":            {"\xff\xfex\x00 \x00=\x00", "UTF-16"},
		"byte order mark":   {"\xef\xbb\xbfx = 1\n", ""},
		"line ends of DOS":  {"x = 1\r\ny = 2\r\n", ""},
		"nested a little":   {deep("[", "]", 30), ""},
		"empty":             {"", ""},
		"comments only":     {"# x\n// y\n/* z */\n", ""},
		"no line end":       {"x = 1", ""},
		"huge number":       {"x = 1e999999999\n", ""},
		"XML with blanks":   {"  \n<a/>", "XML"},
		"invalid UTF-8":     {"x = \"\xff\"\n", "UTF-8"},
		"duration":          {"x = 2s\n", `f.hcl:1:6: text must stand in quotes: write "2s"`},
		"size in a block":   {"a { x = 1.5MiB }\n", `text must stand in quotes: write "1.5MiB"`},
		"share in a list":   {"x = [1, 50%]\n", `text must stand in quotes: write "50%"`},
		"two settings":      {"a { x = 1 y = 2 }\n", "written on several lines"},
		"after a number":    {"a {\nx = 1; y = 2s\n}\n", `not by ";"`},
		"unbalanced closes": {strings.Repeat("]", 1000) + "\n", "required"},
	} {
		_, body, ps := Parse("f.hcl", []byte(tc.src))
		switch {
		case tc.want == "" && ps != nil:
			t.Errorf("%s: %v", name, ps)
		case tc.want != "" && (ps == nil || !strings.Contains(ps.Error(), tc.want)):
			t.Errorf("%s: got %v, want %q", name, ps, tc.want)
		case (ps == nil) != (body != nil):
			t.Errorf("%s: body %v with problems %v", name, body, ps)
		}
		if len(ps.Error()) > 2000 {
			t.Errorf("%s: a message of %d bytes", name, len(ps.Error()))
		}
	}
}

func TestEval(t *testing.T) {
	f, body, ps := Parse("f.hcl", []byte(`
a = "x"
b = 5
c = 5.0
d = 1e1
e = -1
f = 0.5
g = 2 * 3
h = [1, "x", true, null, [], {}]
i = { a = "b", "c/d" = 2 }
`))
	if ps != nil {
		t.Fatal(ps)
	}
	want := map[string]any{"a": "x", "b": int64(5), "c": 5.0, "d": 10.0, "e": int64(-1), "f": 0.5, "g": int64(6)}
	for name, w := range want {
		if got := eval(t, f, body, name); got != w {
			t.Errorf("%s = %v (%T), want %v (%T)", name, got, got, w, w)
		}
	}
	if got, ok := eval(t, f, body, "h").([]any); !ok || len(got) != 6 || got[0] != int64(1) || got[3] != nil {
		t.Errorf("h = %v", got)
	}
	if got, ok := eval(t, f, body, "i").(map[string]any); !ok || got["c/d"] != int64(2) {
		t.Errorf("i = %v", got)
	}
}

func eval(t *testing.T, f *File, body *hclsyntax.Body, name string) any {
	t.Helper()
	v, ps := f.Eval(body.Attributes[name].Expr, nil)
	if ps != nil {
		t.Fatal(ps)
	}
	return v
}

// TestQuote keeps hostile lines from reaching the terminal as they are.
func TestQuote(t *testing.T) {
	long := strings.Repeat("é", 5000)
	for _, src := range []string{
		"x = \"\x1b[31mred\u202e\a\" y\n", "x = \"" + long + "\" y\n", long + " = = 1\n", "\t\tx\ty = 1\n", "x = \"\xff\xfe\" y\n",
	} {
		_, _, ps := Parse("f.hcl", []byte(src))
		if ps == nil {
			t.Errorf("%q was accepted", src[:min(20, len(src))])
		}
		for _, p := range ps {
			out := p.String()
			if !utf8.ValidString(out) || strings.ContainsAny(out, "\x1b\a\r\u202e") || len(p.Source) > 3*maxLine {
				t.Errorf("printed: %q", out)
			}
			if p.Column+p.Width > utf8.RuneCountInString(p.Source)+1 {
				t.Errorf("caret at %d+%d of %q", p.Column, p.Width, p.Source)
			}
		}
	}
}

func TestProblems(t *testing.T) {
	if err := (Problems{}).Err(); err != nil {
		t.Errorf("no problems are an error: %v", err)
	}
	var ps Problems
	f := &File{Name: "f.hcl", Src: []byte("a\nb\n")}
	for i := range MaxShown + 5 {
		p := f.Problem(rangeAt(2), "problem %d", i)
		if i%2 == 1 {
			p = f.Problem(rangeAt(1), "problem %d", i)
		}
		ps = append(ps, p)
	}
	err := ps.Err()
	text := err.Error()
	if !strings.HasPrefix(text, "f.hcl:1:1: problem 1\n    a\n    ^\nf.hcl:1:1: problem 3") || !strings.HasSuffix(text, "\nand 5 more problems") {
		t.Errorf("got %s", text)
	}
	var back Problems
	if !errors.As(err, &back) || len(back) != MaxShown+5 {
		t.Errorf("errors.As gives %d problems", len(back))
	}
}

func TestSuggest(t *testing.T) {
	known := []string{"agent_name", "agent_url", "timeout", "server_delay", "file", "byHost", "x", "parse-ext", "parse-text", "parse-xml"}
	for word, want := range map[string]string{
		"agent_nam": "agent_name", "agentname": "agent_name", "agent-name": "agent_name", "AGENT_NAME": "agent_name",
		"flie": "file", "byhost": "byHost", "delay": "server_delay", "timeuot": "timeout", "time_out": "timeout",
		"parse-txt": "parse-text", "parse-exe": "parse-ext", // as many slips to either; the longer same beginning
		"agent": "", "zzz": "", "": "", "abcdef": "", strings.Repeat("a", 20_000): "",
	} {
		if got := Suggest(word, known); got != want {
			t.Errorf("Suggest(%.20q) = %q, want %q", word, got, want)
		}
	}
	if got := DidYouMean("file", known); got != "" {
		t.Errorf("the word itself is suggested: %s", got)
	}
}

func rangeAt(line int) hcl.Range {
	pos := hcl.Pos{Line: line, Column: 1, Byte: 2 * (line - 1)}
	end := hcl.Pos{Line: line, Column: 2, Byte: pos.Byte + 1}
	return hcl.Range{Filename: "f.hcl", Start: pos, End: end}
}

func TestHidePasswords(t *testing.T) {
	for line, want := range map[string]string{
		`url = ["http://me:geheim@host/a:b@c", "amqp://u:p%40@h"]`: `url = ["http://me:xxxxxx@host/a:b@c", "amqp://u:xxxx@h"]`,
		`url = ["http://host:9200/@x", "http://me@host"]`:          `url = ["http://host:9200/@x", "http://me@host"]`,
	} {
		f := &File{Name: "f.hcl", Src: []byte(line)}
		if got := f.Problem(rangeAt(1), "wrong").Source; got != want {
			t.Errorf("%q is shown as %q, want %q", line, got, want)
		}
	}
}
