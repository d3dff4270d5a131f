package librule_test

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gonutch/crawler/plugins/internal/librule"
	"github.com/gonutch/crawler/sdk/fault"
)

func TestLines(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rules.txt")
	if err := os.WriteFile(file, []byte("\ufeff# comment\r\na b\r\n\n \t\n #not a comment\nlast"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		s    librule.Source
		want []librule.Line
	}{
		{librule.Source{}, nil},
		{librule.Source{File: file, Builtin: "x"}, []librule.Line{{"a b", file + ":2"}, {" #not a comment", file + ":5"}, {"last", file + ":6"}}},
		{librule.Source{Setting: "rules", Inline: []string{"a", "#\nb\nc"}, File: file}, []librule.Line{{"a", "rules[0]"}, {"b", "rules[1]"}, {"c", "rules[1]"}}},
		{librule.Source{Setting: "rules", Text: "a\n\nb", File: file}, []librule.Line{{"a", "rules:1"}, {"b", "rules:3"}}},
		{librule.Source{Builtin: "\nx"}, []librule.Line{{"x", "built-in rules:2"}}},
	} {
		got, err := c.s.Lines()
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Error(d)
		}
	}
	if _, err := (librule.Source{File: file + "x"}).Lines(); !fault.Is(err, fault.Invalid) {
		t.Errorf("missing file: %v", err)
	}
	if err := (librule.Line{At: "f:1"}).Errorf("no %s", "x"); err.Error() != "f:1: no x" || !fault.Is(err, fault.Invalid) {
		t.Errorf("got %v", err)
	}
}

func TestPackedFile(t *testing.T) {
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	_, _ = w.Write([]byte("a\n # b\n"))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	file, bad := filepath.Join(t.TempDir(), "rules.txt"), filepath.Join(t.TempDir(), "50%s.gz")
	for name, b := range map[string][]byte{file: z.Bytes(), bad: z.Bytes()[:z.Len()-4]} {
		if err := os.WriteFile(name, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	l, err := librule.Source{File: file}.Load()
	if err != nil {
		t.Fatal(err)
	}
	want := &librule.Lines{Name: file, Lines: []librule.Line{{"a", file + ":1"}, {" # b", file + ":2"}, {"", file + ":3"}}}
	if d := cmp.Diff(want, l); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if got := l.Lines[0].String(); got != file+":1: a" || l.Lines[0].Empty() || !l.Lines[1].Empty() || !l.Lines[2].Empty() {
		t.Errorf("%q", l.Lines)
	}
	if _, err := librule.Read(bad); err == nil || !strings.Contains(err.Error(), bad) {
		t.Errorf("cut file: %v", err)
	}
	if err := (librule.Line{At: bad + ":1"}).Errorf("%d words", 3); err.Error() != bad+":1: 3 words" {
		t.Errorf("got %v", err)
	}
}
