package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// TestConfigImport: "file NAME" writes a file of Nutch's conf folder; "import" shows what became of
// it, and that "config check" takes the result.
func TestConfigImport(t *testing.T) {
	datadriven.Walk(t, "testdata/configimport", func(t *testing.T, path string) {
		abs, err := filepath.Abs(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Chdir(t.TempDir())
		if err := os.Mkdir("conf", 0o700); err != nil {
			t.Fatal(err)
		}
		datadriven.RunTest(t, abs, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "file" {
				if err := os.WriteFile(filepath.Join("conf", d.CmdArgs[0].Key), []byte(d.Input+"\n"), 0o600); err != nil {
					t.Fatal(err)
				}
				return ""
			}
			o := runLine(t, "", "config", "import", "conf/nutch-site.xml", "site.hcl")
			if o.code != ExitDone {
				return o.err
			}
			// Without a FILE the same goes to standard output, files by their whole paths.
			runLine(t, "", "config", "import", "conf/nutch-site.xml").wants(t, ExitDone, "^# Translated from nutch-site.xml")
			check := runLine(t, "", "config", "check", "--config", "site.hcl")
			b, err := os.ReadFile("site.hcl")
			if err != nil {
				t.Fatal(err)
			}
			if check.code != ExitDone {
				t.Errorf("config check: %s", check.err)
			}
			if n := strings.Count(o.err, "not translated: "); n != strings.Count(string(b), "\n#   ") {
				t.Errorf("standard error tells of %d things, the file of others:\n%s", n, o.err)
			}
			return string(b)
		})
	})
}
