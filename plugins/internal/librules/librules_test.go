package librules_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gonutch/crawler/plugins/internal/librules"
)

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	plain, packed := filepath.Join(dir, "plain.txt"), filepath.Join(dir, "packed.txt")
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	_, _ = w.Write([]byte("a\nb"))
	_ = w.Close()
	for name, b := range map[string][]byte{plain: []byte("\ufeffa\r\nb"), packed: z.Bytes()} {
		if err := os.WriteFile(name, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name, file string
		rules      []string
		want       []string
	}{
		{"rules win over the file", plain, []string{"x", "y\nz"}, []string{"rules:1: x", "rules:2: y", "rules:3: z"}},
		{"byte order mark and carriage return", plain, nil, []string{plain + ":1: a", plain + ":2: b"}},
		{"gzip", packed, nil, []string{packed + ":1: a", packed + ":2: b"}},
		{"built in", "", nil, []string{"built-in rules:1: q"}},
	} {
		l, err := librules.Load(c.file, c.rules, "q")
		if err != nil {
			t.Fatal(c.name, err)
		}
		var got []string
		for _, line := range l.Lines {
			got = append(got, line.String())
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, d)
		}
	}
	if _, err := librules.Load(filepath.Join(dir, "none"), nil, ""); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
	bad := filepath.Join(dir, "bad")
	if err := os.WriteFile(bad, []byte("\x1f\x8bnonsense"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := librules.Load(bad, nil, ""); err == nil || !strings.Contains(err.Error(), bad) {
		t.Errorf("broken gzip: %v", err)
	}
}

func contains(expr string) (librules.Matcher, error) {
	switch expr {
	case "bad":
		return nil, errors.New("it is bad")
	case "slow":
		return func(string) (bool, error) { return false, errors.New("limit") }, nil
	}
	return func(url string) (bool, error) { return strings.Contains(url, expr), nil }, nil
}

func TestSigned(t *testing.T) {
	s, err := librules.CompileSigned(librules.Split("f", "# c\n-gif\n\n> Example.org.\n+a\n<\n-slow\n+http"), contains)
	if err != nil || s.Len() != 4 {
		t.Fatal(s.Len(), err)
	}
	for _, c := range []struct {
		url, reason string
		accept      bool
	}{
		{"http://x/a.gif", "f:2: -gif", false},
		{"http://www.example.org/a", "f:5: +a", true},
		{"http://EXAMPLE.org:80/a", "f:5: +a", true},
		{"http://notexample.org/a", "f:7: -slow (time limit)", false},
	} {
		accept, reason, _ := s.Judge(c.url)
		if accept != c.accept || reason != c.reason {
			t.Errorf("%s = %v, %q; want %v, %q", c.url, accept, reason, c.accept, c.reason)
		}
	}
}

func TestSignedErrorsAreCollected(t *testing.T) {
	_, err := librules.CompileSigned(librules.Split("f", "+bad\nx\n<\n> \n<\n> h/a\n+a\n"), contains)
	for _, want := range []string{"f:1: it is bad", `f:2: line starts with "x"`, "f:3: < closes", "f:4: a section needs", "f:6: a section needs", `f:6: section "h/a" is not closed`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v lacks %q", err, want)
		}
	}
}
