package urlfilterregex_test

import (
	"bufio"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gonutch/crawler/plugins/internal/librule"
	urlfilterregex "github.com/gonutch/crawler/plugins/urlfilter-regex"
)

// TestRules runs every testdata/<case>.rules over its <case>.urls, in which a
// + or - before each URL says what is expected.
func TestRules(t *testing.T) {
	files, _ := filepath.Glob("testdata/*.rules")
	if len(files) < 3 {
		t.Fatalf("found %d rule files, want at least 3", len(files))
	}
	for _, file := range append(files, "regex-urlfilter.txt") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			rules, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			f, err := urlfilterregex.Compile(librule.Split(filepath.Base(file), string(rules)), time.Second)
			if err != nil {
				t.Fatal(err)
			}
			urls := strings.TrimSuffix(file, filepath.Ext(file)) + ".urls"
			if file == "regex-urlfilter.txt" {
				urls = "testdata/regex-urlfilter.urls"
			}
			in, err := os.Open(urls)
			if err != nil {
				t.Fatal(err)
			}
			defer in.Close()
			n := 0
			for s := bufio.NewScanner(in); s.Scan(); n++ {
				v, err := f.FilterURL(t.Context(), s.Text()[1:])
				if err != nil || v.Accept != (s.Text()[0] == '+') {
					t.Errorf("%s: accept = %v (%s), %v", s.Text(), v.Accept, v.Reason, err)
				}
			}
			if n < 3 {
				t.Errorf("only %d URLs in %s", n, urls)
			}
		})
	}
}

func TestReasonNamesTheRule(t *testing.T) {
	f, err := urlfilterregex.Compile(librule.Split("r.txt", "# c\n-\\.gif$\n+."), time.Second)
	if err != nil {
		t.Fatal(err)
	}
	v, _ := f.FilterURL(t.Context(), "http://a/x.gif")
	if want := `r.txt:2: -\.gif$`; v.Accept || v.Reason != want {
		t.Errorf("verdict = %+v, want rejection by %q", v, want)
	}
}

func TestErrorsAreCollected(t *testing.T) {
	_, err := urlfilterregex.Compile(librule.Split("r.txt", "+(\nhttp://a/\n> h\n+.\n"), time.Second)
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"r.txt:1: ", "r.txt:2: line starts with \"h\"", `r.txt:3: section "h" is not closed`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q lacks %q", err, want)
		}
	}
	if _, err := urlfilterregex.Compile(librule.Split("r.txt", "# nothing\n"), time.Second); err == nil || !strings.Contains(err.Error(), "no rules") {
		t.Errorf("empty file: error = %v", err)
	}
}

func TestHostileRuleCostsThatURLOnly(t *testing.T) {
	f, err := urlfilterregex.Compile(librule.Split("r.txt", "-^http://a/(x+)+\\1$\n+."), 20*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	v, err := f.FilterURL(t.Context(), "http://a/"+strings.Repeat("x", 50)+"!")
	if err != nil || v.Accept || !strings.Contains(v.Reason, "time limit") {
		t.Errorf("verdict = %+v, %v, want rejection for the time limit", v, err)
	}
	if v, err := f.FilterURL(t.Context(), "http://a/y"); err != nil || !v.Accept {
		t.Errorf("next URL: %+v, %v", v, err)
	}
}

func FuzzFilter(f *testing.F) {
	f.Add("+.\n", "http://a/")
	f.Add("> h\n-x\n<\n+.", "http://h:80/x")
	f.Fuzz(func(t *testing.T, rules, url string) {
		flt, err := urlfilterregex.Compile(librule.Split("f", rules), 10*time.Millisecond)
		if err != nil {
			return
		}
		if _, err := flt.FilterURL(context.Background(), url); err != nil {
			t.Fatal(err)
		}
	})
}

func BenchmarkBuiltinRules(b *testing.B) {
	rules, err := os.ReadFile("regex-urlfilter.txt")
	if err != nil {
		b.Fatal(err)
	}
	f, err := urlfilterregex.Compile(librule.Split("r", string(rules)), time.Second)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		_, _ = f.FilterURL(context.Background(), "https://www.example.org/docs/current/tutorial-window.html?x=1")
	}
}
