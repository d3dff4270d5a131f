package export

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestSURT: expected values are those of the Python library surt that pywb uses.
func TestSURT(t *testing.T) {
	for in, want := range map[string]string{
		"http://www.Example.org/":                "org,example)/",
		"https://example.org:443/A/b/?b=2&a=1#x": "org,example)/a/b?a=1&b=2",
		"http://example.org:8080/x?":             "org,example:8080)/x",
		"http://127.0.0.1:4000/a":                "1,0,0,127:4000)/a",
		"http://u:p@www2.example.org/a//":        "org,example)/a",
		"http://[::1]/x":                         "::1)/x",
		"http://ex.org/?B=1&a":                   "org,ex)/?a&b=1",
		"http://www.org/":                        "org)/",
		"http://wwwx.org/":                       "org,wwwx)/",
		"http://ex.org/a%20b":                    "org,ex)/a%20b",
		"file:///x":                              "file:///x",
	} {
		if got := SURT(in); got != want {
			t.Errorf("SURT(%s) = %s, want %s", in, got, want)
		}
	}
}

// TestSorter: the same lines come out sorted, however many runs there are.
func TestSorter(t *testing.T) {
	for _, most := range []int{1, 300, 1 << 20} {
		dir := t.TempDir()
		s := &sorter{dir: dir, most: most}
		var want []string
		for range 100 {
			l := fmt.Sprintf("%d,x)/ %d", rand.IntN(50), rand.IntN(5))
			want = append(want, l)
			if err := s.add(l); err != nil {
				t.Fatal(err)
			}
		}
		var b strings.Builder
		if err := s.writeTo(&b); err != nil {
			t.Fatal(err)
		}
		slices.Sort(want)
		if b.String() != strings.Join(want, "\n")+"\n" {
			t.Errorf("portions of %d bytes: %s", most, b.String())
		}
		if most == 1 && len(s.runs) < 100 {
			t.Errorf("%d runs", len(s.runs))
		}
		if err := s.close(); err != nil {
			t.Fatal(err)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("left behind: %v %v", left, err)
		}
	}
}

// TestFilePaths: no URL leads out of the folder, and each has its own file.
func TestFilePaths(t *testing.T) {
	f := NewFiles("", "/d", false)
	for url, want := range map[string]string{
		"http://www.example.org/a/b.pdf?x=/../y": "/d/org/example/www/*_b.pdf",
		"http://example.org/":                    "/d/org/example/*_example.org",
		"http://[::1]/x":                         "/d/__1/*_x",
		"http://127.0.0.1:80/..":                 "/d/127.0.0.1/*__",
		"http://../../x":                         "/d/_/*_x",
		"file:///etc/pass wd":                    "/d/_/*_pass_wd",
		"%00/\n":                                 "/d/_/*__",
	} {
		if ok, err := filepath.Match(want, f.path(url)); !ok || err != nil {
			t.Errorf("%q goes to %s, want %s", url, f.path(url), want)
		}
	}
	if a, b := f.path("http://h/x?1"), f.path("http://h/x?2"); a == b {
		t.Errorf("two documents in %s", a)
	}
}
