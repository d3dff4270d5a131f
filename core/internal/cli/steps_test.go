package cli

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gonutch/crawler"
	"github.com/gonutch/crawler/plugins"
)

// TestStepsHearInterrupts: while any step runs, somebody waits for Ctrl-C.
func TestStepsHearInterrupts(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "crawl")
	smallCrawl(t, dir)
	for _, name := range []string{"generate", "parse", "updatedb", "invertlinks", "dedup", "clean", "index", "reindex", "db check", "db repair"} {
		t.Run(name, func(t *testing.T) {
			var out, errs strings.Builder
			interrupts, ended := make(chan struct{}), make(chan int, 1)
			app := &App{
				Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Defaults: crawler.Defaults(), Builtins: plugins.Builtins(), Version: "test",
				Interrupts: interrupts,
			}
			args := append(strings.Fields(name), "--dir", dir, "-D", "store.low_water=0")
			go func() { ended <- Run(t.Context(), app, args) }()
			select {
			case interrupts <- struct{}{}:
			case code := <-ended:
				t.Fatalf("it ended with %d and did not look at Ctrl-C\n%s%s", code, out.String(), errs.String())
			}
			// It may have been through already.
			if code := <-ended; code == ExitError && !strings.Contains(errs.String(), "stopped") || code == ExitUsage {
				t.Errorf("exit code %d\n%s", code, errs.String())
			}
		})
	}
	runLine(t, "", "db", "check", "--dir", dir, "-D", "store.low_water=0").wants(t, ExitDone, " 0 problems")
}

// TestNutchPlaces: crawl/crawldb, crawl/segments and crawl/segments/ID name the crawl, and all of them the same.
func TestNutchPlaces(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "crawl")
	smallCrawl(t, dir)
	segs, err := filepath.Glob(filepath.Join(dir, "segments", "*"))
	if err != nil || len(segs) < 2 {
		t.Fatalf("segments %v, %v", segs, err)
	}
	crawldb, segments := filepath.Join(dir, "crawldb"), filepath.Join(dir, "segments")
	for _, c := range []struct {
		args []string
		n    int // segments
	}{
		{[]string{"updatedb", crawldb, segs[0]}, 1},
		{[]string{"updatedb", crawldb, "-dir", segments}, len(segs)},
		{[]string{"updatedb", crawldb, segs[0], segs[1]}, 2},
		{[]string{"parse", segs[0]}, 1},
		{[]string{"invertlinks", filepath.Join(dir, "linkdb"), "-dir", segments}, len(segs)},
		{[]string{"invertlinks", filepath.Join(dir, "linkdb"), segs[1]}, 1},
		{[]string{"dedup", crawldb}, 0},
		{[]string{"index", crawldb, segs[0]}, 0},
		{[]string{"clean", crawldb, "--dir", dir + "/"}, 0},
	} {
		o := runLine(t, "", append(c.args, "-D", "store.low_water=0")...)
		o.wants(t, ExitDone)
		if n := strings.Count(o.out, "segment "); n != c.n {
			t.Errorf("%v: %d segments, want %d\n%s", c.args, n, c.n, o.out)
		}
	}
	for _, args := range [][]string{{"dedup", crawldb, "other"}, {"generate", "--dir", dir, "other/crawldb"}, {"readdb", "--stats", "--dir", dir, "other"}, {"index", "--dir", dir, "other"}} {
		runLine(t, "", args...).wants(t, ExitUsage, "!crawl and other are two crawl directories: name one")
	}
}

// TestInjectorSettings: what becomes of known seeds follows the settings, in inject and in run.
func TestInjectorSettings(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "crawl")
	root := smallCrawl(t, dir)
	for set, want := range map[string]string{"db.injector_update": `"updated": 1`, "db.injector_overwrite": `"overwritten": 1`, "db.score_injected": `"ignored": 1`} {
		runLine(t, "", "inject", root+"/", "--dir", dir, "--json", "-D", "store.low_water=0", "-D", set+"="+map[bool]string{true: "1", false: "true"}[set == "db.score_injected"]).wants(t, ExitDone, want)
	}
	runLine(t, "", "run", "--seeds", root+"/", "--dir", dir, "-D", "store.low_water=0", "-D", "db.injector_overwrite=true", "-D", "cycle.rounds=1").wants(t, ExitDone, "!seeds: 0 injected, 1 overwritten")
}

// TestAddDaysEnds: what was just fetched is due again within the days, so that there is one round.
func TestAddDaysEnds(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "crawl")
	smallCrawl(t, dir)
	runLine(t, "", "run", "--dir", dir, "--json", "--adddays", "100", "-D", "store.low_water=0", "-D", "fetcher.server_delay=0s").wants(t, ExitDone, `"rounds": 1,`)
}

// TestPlaceholders: the help names what an option takes in capital letters, or its type; never one
// of the values.
func TestPlaceholders(t *testing.T) {
	for _, c := range commands() {
		var out strings.Builder
		app := &App{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out, Defaults: crawler.Defaults(), Builtins: plugins.Builtins(), Version: "test"}
		if code := Run(t.Context(), app, []string{c.name, "--help"}); code != ExitDone {
			t.Errorf("%s --help: exit code %d", c.name, code)
		}
		for _, line := range strings.Split(out.String(), "\n") {
			if strings.TrimRight(line, " ") != line || strings.Contains(line, "(default 0s)") {
				t.Errorf("%s: %q", c.name, line)
			}
			option, isOption := strings.CutPrefix(line, "  -")
			if !isOption {
				continue
			}
			_, what, found := strings.Cut(strings.TrimSpace(option[:min(len(option), 27)]), " ")
			if kinds := []string{"int", "int64", "uint", "float", "duration", "string", "value"}; found && what != strings.ToUpper(what) && !slices.Contains(kinds, what) && what != "section.key=value" {
				t.Errorf("%s: %q names what it takes %q", c.name, line, what)
			}
		}
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

// TestOutputFails: what was printed into a full disk was not done.
func TestOutputFails(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "crawl")
	smallCrawl(t, dir)
	for _, line := range []string{"help", "version", "readdb --help", "readdb --stats", "readdb --stats --json", "readdb --dump -", "readseg --list", "plugin list", "search whale", "status"} {
		var errs strings.Builder
		app := &App{Stdin: strings.NewReader(""), Stdout: full{}, Stderr: &errs, Defaults: crawler.Defaults(), Builtins: plugins.Builtins(), Version: "test"}
		args := strings.Fields(line)
		if len(args) > 1 || line == "status" {
			args = append(args, "--dir", dir)
		}
		if code := Run(t.Context(), app, args); code != ExitError || strings.Count(errs.String(), "no space left on device") != 1 {
			t.Errorf("%s: exit code %d\n%s", line, code, errs.String())
		}
	}
}
