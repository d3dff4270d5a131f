package e2e

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// repository returns the root of the work tree this test is in.
func repository(t *testing.T) string {
	t.Helper()
	for _, tool := range []string{"git", "make"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("needs %s", tool)
		}
	}
	out, err := exec.CommandContext(t.Context(), "git", "rev-parse", "--show-toplevel").Output()
	if err != nil {
		t.Skip("needs a git work tree")
	}
	return strings.TrimSpace(string(out))
}

// TestFromCloneToFirstHit does what a newcomer does: clone, make run. Nothing is compiled
// already and nothing is downloaded but modules, which are there.
func TestFromCloneToFirstHit(t *testing.T) {
	if !soak() {
		t.Skip("compiles everything anew: set CRAWLER_SOAK=1")
	}
	root, tmp := repository(t), t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	var out bytes.Buffer
	var cpu time.Duration
	do := func(dir, name string, args ...string) {
		t.Helper()
		cmd := exec.CommandContext(ctx, name, args...)
		cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &out
		cmd.Env = append(os.Environ(), "GOCACHE="+filepath.Join(tmp, "cache"), "GOPROXY=off", "GOFLAGS=", "HTTP_PROXY=http://127.0.0.1:1", "HTTPS_PROXY=http://127.0.0.1:1")
		if err := cmd.Run(); err != nil {
			t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out.String())
		}
		cpu += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	start := time.Now()
	do(tmp, "git", "clone", "--quiet", root, "crawler")
	clone := filepath.Join(tmp, "crawler")
	do(clone, "make", "run")
	took := time.Since(start)
	// A machine that did other things meanwhile is judged by the processor time that
	// clone, build and crawl took of it.
	busy := cpu < took*time.Duration(runtime.NumCPU())/2
	if took > 5*time.Minute && (!busy || cpu > 5*time.Minute) {
		t.Errorf("it took %v, %v of processor time", took, cpu)
	}
	text := out.String()
	if !strings.Contains(text, "1. ") || !strings.Contains(text, "http://host") || !strings.Contains(text, "results (") {
		t.Errorf("no hit in\n%s", text)
	}
	out.Reset()
	do(clone, "git", "status", "--porcelain")
	if out.Len() > 0 {
		t.Errorf("files that git does not ignore were made:\n%s", out.String())
	}
	t.Logf("%v, %v of processor time", took.Round(time.Second), cpu.Round(time.Second))
}

// TestFirstMistakes: the mistakes that people make first are answered by where they are and
// what to write.
func TestFirstMistakes(t *testing.T) {
	const name = "http {\n  agent_name = \"mycrawler\"\n  agent_url  = \"https://example.org/\"\n}\n"
	for what, c := range map[string]struct {
		site, seeds string
		code        int
		words       []string
	}{
		"the crawler has no name": {
			"http {\n  agent_name = \"\"\n}\n", "http://example.org/\n", 2,
			[]string{"site.hcl:2:", "http.agent_name is empty", "agent_name = \"mycrawler\""},
		},
		"a number without a unit": {
			name + "fetcher {\n  server_delay = 5\n}\n", "http://example.org/\n", 2,
			[]string{"site.hcl:6:18: ", "has no unit", "write \"5s\""},
		},
		"the property's Nutch name": {name + "db {\n  max.outlinks.per.page = 50\n}\n", "http://example.org/\n", 2, []string{"site.hcl:6:"}},
		"a setting misspelt": {
			name + "db {\n  ignore_externel_links = true\n}\n", "http://example.org/\n", 2,
			[]string{"site.hcl:6:3: ", "did you mean \"ignore_external_links\""},
		},
		"a plugin that is not there": {
			name + "plugin {\n  add = [\"parse-pdf\"]\n  remove = [\"parse-txt\"]\n}\n", "http://example.org/\n", 2,
			[]string{"site.hcl:7:", "there is no plugin \"parse-txt\"", "did you mean \"parse-text\""},
		},
		"a seed without a scheme": {
			name, "# my sites\nexample.org\n", 1,
			[]string{"seeds.txt:2: ", "did you mean \"https://example.org\""},
		},
	} {
		t.Run(what, func(t *testing.T) {
			tmp := t.TempDir()
			config, seeds := writeFile(t, tmp, "site.hcl", c.site), writeFile(t, tmp, "seeds.txt", c.seeds)
			badRun(t, c.code, c.words, "run", "--config", config, "--dir", filepath.Join(tmp, "crawl"), "--seeds", seeds, "-D", "store.low_water=0")
		})
	}
}
