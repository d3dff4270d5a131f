package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gonutch/crawler/sdk/testsite"
)

// commandRow is a row of testdata/commands.txt.
type commandRow struct {
	meanwhile string
	code      int
	pattern   *regexp.Regexp
	args      []string
	line      int
}

func commandRows(t *testing.T) []commandRow {
	t.Helper()
	b, err := os.ReadFile("testdata/commands.txt")
	if err != nil {
		t.Fatal(err)
	}
	var rows []commandRow
	for i, l := range strings.Split(string(b), "\n") {
		if strings.TrimSpace(l) == "" || l[0] == '#' {
			continue
		}
		f := strings.SplitN(l, "|", 4)
		if len(f) != 4 {
			t.Fatalf("commands.txt:%d: want four columns", i+1)
		}
		code, err := strconv.Atoi(strings.TrimSpace(f[1]))
		if err != nil {
			t.Fatalf("commands.txt:%d: %v", i+1, err)
		}
		rows = append(rows, commandRow{
			meanwhile: strings.TrimSpace(f[0]), code: code, pattern: regexp.MustCompile("(?m)" + strings.TrimSpace(f[2])), args: strings.Fields(f[3]), line: i + 1,
		})
	}
	return rows
}

// commandSite is the site that the rows are about.
func commandSite(t *testing.T) (root string) {
	site := testsite.Start(t, testsite.Options{}).Site()
	site.Page("/", `<title>Start</title><p>Welcome. <a href=/blue>blue page</a> <a href=/gone>gone</a>`)
	site.Page("/blue", `<title>Blue whales</title><p>The blue whale is large. <a href=/>home</a>`)
	site.Page("/extra", `<title>Extra</title><p>An extra page. <a href=/blue>blue again</a>`)
	site.Page("/free", `<title>Free</title><p>Free page. <a href=/>start</a>`)
	site.Status("/gone", http.StatusNotFound)
	root = strings.TrimSuffix(site.URL("/"), "/")
	site.File("/sitemap.xml", "application/xml", []byte(`<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>`+root+`/mapped</loc></url></urlset>`))
	return root
}

// TestCommands runs every command: alone, and those that may while a crawl runs.
func TestCommands(t *testing.T) {
	for k, v := range map[string]string{
		"HTTP__AGENT_NAME": "testbot", "HTTP__AGENT_URL": "http://example.org/bot", "STORE__LOW_WATER": "0", "FETCHER__SERVER_DELAY": "0s",
		"LINKDB__IGNORE_INTERNAL_LINKS": "false", "LINK__IGNORE_INTERNAL_HOST": "false", "LINK__IGNORE_INTERNAL_DOMAIN": "false",
		"LINK__IGNORE_LIMIT_DOMAIN": "false", "LINK__IGNORE_LIMIT_PAGE": "false",
	} {
		t.Setenv("CRAWLER_"+k, v)
	}
	rows := commandRows(t)
	everyCommand(t, rows)
	tmp := t.TempDir()
	c := &commandRun{t: t, tmp: tmp, dir: filepath.Join(tmp, "crawl"), root: commandSite(t)}
	t.Setenv("CRAWLER_HTTP__ALLOW_PRIVATE", `["`+strings.TrimPrefix(c.root, "http://")+`"]`)
	if err := os.WriteFile(filepath.Join(tmp, "robots.txt"), []byte("User-agent: *\nDisallow: /private\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		c.row(r, r.code, r.pattern)
	}
	c.whileRunning(rows)
}

// everyCommand compares the rows with the help.
func everyCommand(t *testing.T, rows []commandRow) {
	t.Helper()
	has, asJSON := map[string]bool{}, map[string]bool{}
	for _, r := range rows {
		has[r.args[0]] = true
		asJSON[r.args[0]] = asJSON[r.args[0]] || strings.Contains(strings.Join(r.args, " "), "--json")
	}
	// These have no facts to print, or print lines that are data.
	noJSON := map[string]bool{"testweb": true, "stop": true, "linkdumper": true, "robotsparser": true}
	elsewhere := map[string]bool{"import": true} // TestImportNutch has crawls by Nutch
	n := 0
	for _, m := range regexp.MustCompile(`(?m)^  ([a-z]+) +[A-Z]`).FindAllStringSubmatch(mustRun(t, "help"), -1) {
		n++
		switch name := m[1]; {
		case elsewhere[name]:
		case !has[name]:
			t.Errorf("command %s has no row in testdata/commands.txt", name)
		case !asJSON[name] && !noJSON[name]:
			t.Errorf("command %s has no row with --json in testdata/commands.txt", name)
		}
	}
	if n < 40 {
		t.Fatalf("the help lists %d commands", n)
	}
}

// commandRun is where the rows are run.
type commandRun struct {
	t              *testing.T
	tmp, dir, root string
}

func (c *commandRun) args(r commandRow) []string {
	seg := ""
	if names, err := filepath.Glob(filepath.Join(c.dir, "segments", "*")); err == nil && len(names) > 0 {
		seg = filepath.Base(names[len(names)-1])
	}
	out := make([]string, len(r.args))
	for i, a := range r.args {
		out[i] = strings.NewReplacer("$DIR", c.dir, "$TMP", c.tmp, "$ROOT", c.root, "$SEG", seg).Replace(a)
	}
	return out
}

// row runs a row and compares how it ends.
func (c *commandRun) row(r commandRow, code int, pattern *regexp.Regexp) {
	c.t.Helper()
	args := c.args(r)
	out, errOut, got := run(c.t, args...)
	if got != code || !pattern.MatchString(out+errOut) {
		c.t.Errorf("commands.txt:%d: crawler %s: exit code %d, want %d and %s\n%.3000s\n%.3000s", r.line, strings.Join(args, " "), got, code, pattern, out, errOut)
	}
	if code <= 3 && strings.Contains(strings.Join(args, " "), "--json") && pattern == r.pattern {
		if n, err := jsonValues(out); err != nil || n == 0 {
			c.t.Errorf("commands.txt:%d: crawler %s: %d values of JSON, %v\n%.3000s", r.line, strings.Join(args, " "), n, err, out)
		}
	}
}

func jsonValues(s string) (n int, err error) {
	d := json.NewDecoder(strings.NewReader(s))
	for {
		var v any
		if err := d.Decode(&v); errors.Is(err, io.EOF) {
			return n, nil
		} else if err != nil {
			return n, err
		}
		n++
	}
}

// whileRunning runs the rows that ask or are refused beside a run that waits before its first request.
func (c *commandRun) whileRunning(rows []commandRow) {
	t := c.t
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	cmd := command(ctx, t, "run", "--dir", c.dir, "--adddays", "100", "-D", "fetcher.server_delay=30m")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, time.Minute, "the run can be asked", func() bool {
		out, _, code := run(t, "status", "--dir", c.dir, "--json")
		return code == 0 && strings.Contains(out, `"running": true`)
	})
	anything := regexp.MustCompile("")
	held := regexp.MustCompile(`in use by process ` + strconv.Itoa(cmd.Process.Pid) + ` \(crawler run\)`)
	for i, r := range rows {
		if r.meanwhile == "ask" && strings.Contains(strings.Join(r.args, " "), "$TMP") {
			r.args = strings.Fields(strings.ReplaceAll(strings.Join(r.args, " "), "$TMP", "$TMP/"+strconv.Itoa(i)))
			if err := os.MkdirAll(filepath.Join(c.tmp, strconv.Itoa(i)), 0o750); err != nil {
				t.Fatal(err)
			}
		}
		switch {
		case r.meanwhile == "lock":
			c.row(r, 1, held)
		case r.args[0] == "status" && r.meanwhile == "ask":
			c.row(r, 0, regexp.MustCompile("crawler run, process "+strconv.Itoa(cmd.Process.Pid)))
		case r.meanwhile == "ask":
			c.row(r, r.code, anything)
		case r.meanwhile != "alone" && r.meanwhile != "-":
			t.Fatalf("commands.txt:%d: meanwhile %q", r.line, r.meanwhile)
		}
	}
	c.row(commandRow{args: []string{"stop", "--dir", c.dir, "--wait"}, pattern: anything}, 0, regexp.MustCompile("has ended|finishes"))
	if err := cmd.Wait(); err != nil {
		t.Errorf("the run ended with %v\n%s", err, errs.String())
	}
}
