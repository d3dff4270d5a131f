package librule_test

import (
	"os"
	"path/filepath"
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
