package inject

import (
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gonutch/crawler/sdk/model"
)

func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestRead(t *testing.T) {
	dir := t.TempDir()
	a := write(t, dir, "a.txt", "\ufeff# seeds\n\nhttp://a.test/\tnutch.score=2.5\tnutch.fetchInterval=60\tlang=en\r\n  http://b.test/x y  \n")
	write(t, dir, ".hidden", "http://hidden.test/\n")
	want := []string{"http://a.test/ " + a + ":3", "http://b.test/x y " + a + ":4"}
	for _, source := range []string{a, dir} {
		got, err := Read([]string{source}, nil)
		if err != nil {
			t.Fatal(err)
		}
		var lines []string
		for _, s := range got {
			lines = append(lines, s.URL+" "+s.Where)
		}
		if d := cmp.Diff(want, lines); d != "" {
			t.Error(d)
		}
		if s := got[0]; s.Score != 5*model.Micro/2 || s.Interval != time.Minute || s.Metadata.First("lang") != "en" {
			t.Errorf("%+v", s)
		}
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, werr := z.Write([]byte("http://e.test/\nhttp://f.test/\n"))
	if err := errors.Join(werr, z.Close()); err != nil {
		t.Fatal(err)
	}
	if got, err := Read([]string{"-"}, &packed); err != nil || len(got) != 2 || got[1].URL != "http://f.test/" || got[1].Where != "standard input:2" {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := Read([]string{"-"}, strings.NewReader("\x1f\x8b\x08rest")); err == nil {
		t.Error("broken gzip is read")
	}
	got, err := Read([]string{"-", "http://c.test/"}, strings.NewReader("http://d.test/\n"))
	if err != nil || len(got) != 2 || got[0].Where != "standard input:1" || got[1].Where != "command line" {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestReadSaysWhatIsWrong: every fault with its place, and no more of them than
// people read.
func TestReadSaysWhatIsWrong(t *testing.T) {
	dir := t.TempDir()
	many := write(t, dir, "many.txt", strings.Repeat("http://a.test/\t"+strings.Repeat("x", 5000)+"\n", 100))
	for source, want := range map[string][]string{
		write(t, dir, "bad.txt", "http://a.test/\tnutch.score=x\nhttp://b.test/\tnutch.fetchInterval=-1\n"): {"bad.txt:1: nutch.score=x", "bad.txt:2: nutch.fetchInterval=-1"},
		write(t, dir, "binary", "http://a.test/\n\x7fELF\x00\xff\n"):                                        {"binary:2: this is no text"},
		write(t, dir, "latin1.txt", "http://a.test/caf\xe9\n"):                                              {"latin1.txt:1: this is no text in UTF-8"},
		write(t, dir, "empty.txt", "# nothing\n\n"):                                                         {"no seeds in", "one URL on each line"},
		many:          {"many.txt:1:", "many.txt:10:", "these are the first 10 faults"},
		"example.org": {"there is no file example.org", "https://example.org"},
	} {
		seeds, err := Read([]string{source}, nil)
		if err == nil || seeds != nil {
			t.Errorf("%s: %v, %v", source, seeds, err)
			continue
		}
		for _, w := range want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s: the message does not say %q:\n%.1000s", source, w, err)
			}
		}
		if n := len(err.Error()); n > 3000 {
			t.Errorf("%s: the message has %d bytes", source, n)
		}
	}
}

func TestSchemeHint(t *testing.T) {
	for seed, want := range map[string]string{
		"example.org": `; did you mean "https://example.org"?`, "//example.org/a": `; did you mean "https://example.org/a"?`,
		"word": "", "ht!tp://x": "", "mailto:a@example.org": "", "a b.c": "",
	} {
		if got := schemeHint(seed); got != want {
			t.Errorf("%s: %s, want %s", seed, got, want)
		}
	}
}
