package repocheck

import (
	"go/ast"
	"os"
	"path"
	"strconv"
	"strings"
	"testing"
)

// nutchBugs is how many rows the list of Nutch's bugs has.
const nutchBugs = 46

// TestNutchBugs checks that testdata/nutch-bugs has every bug, and that the tests that keep
// each away exist.
func TestNutchBugs(t *testing.T) {
	tests := map[string]bool{}
	for _, f := range open(t).goFiles(t) {
		if !f.isTest() {
			continue
		}
		for _, d := range f.ast.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil {
				tests[f.dir()+" "+fn.Name.Name] = true
			}
		}
	}
	text, err := os.ReadFile(path.Join("testdata", "nutch-bugs"))
	if err != nil {
		t.Fatal(err)
	}
	next := 1
	for i, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		if strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.Split(line, "\t")
		if len(f) != 3 || f[0] != strconv.Itoa(next) || f[2] == "" {
			t.Fatalf("nutch-bugs:%d: %q: want number %d, a tab, what holds, a tab, tests", i+1, line, next)
		}
		next++
		if f[1] == "-" {
			continue
		}
		names := strings.Fields(f[2])
		if len(names)%2 != 0 {
			t.Errorf("nutch-bugs:%d: %q: want pairs of a folder and a test", i+1, f[2])
			continue
		}
		for ; len(names) > 0; names = names[2:] {
			if !tests[names[0]+" "+names[1]] {
				t.Errorf("nutch-bugs:%d: there is no test %s in %s", i+1, names[1], names[0])
			}
		}
	}
	if next != nutchBugs+1 {
		t.Errorf("nutch-bugs ends before %d, want %d", next, nutchBugs)
	}
}
