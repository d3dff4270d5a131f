package e2e

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gonutch/crawler/core/internal/db/crawldb"
	"github.com/gonutch/crawler/core/internal/urlkey"
	"github.com/gonutch/crawler/sdk/extension/searcher"
	"github.com/gonutch/crawler/sdk/testsite"
)

// badRun runs a command that must fail with code and say all words, in few lines and
// without the signs of a crash. It is run in a folder that must not gain anything.
func badRun(t *testing.T, code int, words []string, args ...string) {
	t.Helper()
	out, errOut, got := run(t, args...)
	text := out + errOut
	if got != code {
		t.Errorf("crawler %s: exit code %d, want %d\n%s", strings.Join(args, " "), got, code, text)
	}
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("crawler %s: the message does not say %q:\n%s", strings.Join(args, " "), w, text)
		}
	}
	for _, w := range []string{"panic", "goroutine ", "%!"} {
		if strings.Contains(text, w) {
			t.Errorf("crawler %s: %q in\n%s", strings.Join(args, " "), w, text)
		}
	}
	if n := strings.Count(text, "\n"); n > 40 {
		t.Errorf("crawler %s: a message of %d lines", strings.Join(args, " "), n)
	}
}

func writeFile(t testing.TB, dir, name, text string) string {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

const agent = "http {\n  agent_name = \"testbot\"\n  agent_url  = \"http://example.org/bot\"\n}\nstore {\n  low_water = \"0\"\n}\n"

// TestBadSeeds: seeds that can't be used are told by file and line; nothing is
// injected, and good ones work afterwards in the same place.
func TestBadSeeds(t *testing.T) {
	web := &pages{hosts: 1, perHost: 2}
	addr := serve(t, web)
	tmp := t.TempDir()
	dir, config := filepath.Join(tmp, "crawl"), site(t, addr, "")
	unreadable := writeFile(t, tmp, "unreadable.txt", "http://h0.test/\n")
	if err := os.Chmod(unreadable, 0); err != nil {
		t.Fatal(err)
	}
	type seeds struct {
		source string
		code   int
		words  []string
	}
	list := []seeds{
		{filepath.Join(tmp, "nosuch.txt"), 1, []string{"there is no file", "nosuch.txt"}},
		{"h0.test", 1, []string{"there is no file h0.test", "https://h0.test"}},
		{writeFile(t, tmp, "empty.txt", ""), 1, []string{"no seeds in", "empty.txt", "one URL on each line"}},
		{writeFile(t, tmp, "comments.txt", "# http://h0.test/\n\n"), 1, []string{"no seeds in", "comments.txt"}},
		{writeFile(t, tmp, "binary.bin", "http://h0.test/\n\x7fELF\x00"), 1, []string{"binary.bin:2: ", "no text"}},
		{writeFile(t, tmp, "score.txt", "http://h0.test/\nhttp://h0.test/a\tnutch.score=high\n"), 1, []string{"score.txt:2: nutch.score=high", "want a number"}},
		{writeFile(t, tmp, "nourl.txt", "http://h0.test/\nexample\n"), 1, []string{`nourl.txt:2: seed "example" is no URL that can be fetched`, "nothing was injected"}},
		{"mailto://h0.test", 1, []string{"command line: mailto://h0.test", "urlfilter-regex"}},
	}
	if os.Getuid() != 0 {
		list = append(list, seeds{unreadable, 1, []string{"unreadable.txt", "permission denied"}})
	}
	for _, s := range list {
		badRun(t, s.code, s.words, "run", "--config", config, "--dir", dir, "--seeds", s.source)
	}
	out := mustRun(t, "run", "--config", config, "--dir", dir, "--seeds", "http://h0.test/", "--json")
	if rep := reported(t, out); rep.Fetched != 3 {
		t.Errorf("afterwards %d pages were fetched", rep.Fetched)
	}
	badRun(t, 2, []string{"there is no crawl in", "--seeds"}, "run", "--config", config, "--dir", filepath.Join(tmp, "other"))
}

// TestBadConfiguration: mistakes are told with file, line and what to write; the crawl
// directory is not even made.
func TestBadConfiguration(t *testing.T) {
	tmp := t.TempDir()
	plug := func(name, manifest string) string {
		folder := filepath.Join(tmp, name)
		writeFile(t, filepath.Join(folder, "urlfilter-mine"), "plugin.hcl", manifest)
		return fmt.Sprintf("plugin {\n  folders = [%q]\n  add = [\"urlfilter-mine\"]\n}\n", folder)
	}
	jar := writeFile(t, tmp, "tika.jar", "no program")
	program := func(file string) string {
		return fmt.Sprintf("plugin {\n  add = [\"parse-ext\"]\n}\nplugin \"parse-ext\" {\n  program \"conv\" {\n    types   = [\"text/x-ext\"]\n    command = [%q]\n  }\n}\n", file)
	}
	const good = "id = \"urlfilter-mine\"\nname = \"Mine\"\nversion = \"1.0.0\"\napi = 1\ncommand = [\"./urlfilter-mine\"]\n"
	for name, c := range map[string]struct {
		text  string
		code  int
		words []string
	}{
		"no agent":        {"", 2, []string{"http.agent_name is empty", "agent_name = \"mycrawler\""}},
		"no contact":      {"http {\n  agent_name = \"testbot\"\n}\n", 2, []string{"agent_url", "agent_email"}},
		"unknown setting": {agent + "fetcher {\n  server_dely = \"1s\"\n}\n", 2, []string{"site.hcl:9:3: ", "server_dely", `did you mean "server_delay"`}},
		"unknown section": {agent + "fetch {\n  server_delay = \"1s\"\n}\n", 2, []string{"site.hcl:8:1: ", `did you mean "fetcher"`}},
		"no unit":         {agent + "fetcher {\n  server_delay = 5\n}\n", 2, []string{"site.hcl:9:18: ", "has no unit", `write "5s"`}},
		"wrong unit":      {"http {\n  content_limit = \"10 parsecs\"\n}\n", 2, []string{"site.hcl:2:", "content_limit", "10 parsecs"}},
		"wrong type":      {agent + "fetcher {\n  threads_fetch = \"many\"\n}\n", 2, []string{"site.hcl:9:19: ", "want a whole number"}},
		"Nutch's name":    {"http {\n  timeout = \"10s\"\n}\n", 2, []string{"site.hcl:2:3: ", "http.connect_timeout"}},
		"syntax":          {agent + "fetcher {\n  server_delay = \n}\n", 2, []string{"site.hcl:9:"}},
		"unknown plugin":  {agent + "plugin {\n  add = [\"parse-htm\"]\n}\n", 2, []string{"site.hcl:9:", `there is no plugin "parse-htm"`, `did you mean "parse-html"`}},
		"no match":        {agent + "plugin {\n  includes = \"protocol-http|parse-(htm|text)\"\n}\n", 2, []string{"site.hcl:9:", "parse-htm"}},
		"plugin setting":  {agent + "plugin \"urlfilter-regex\" {\n  fil = \"x\"\n}\n", 2, []string{"site.hcl:9:3: ", "fil", `did you mean "file"`}},
		"sheet":           {agent + "sheet \"a\" {\n  hosts = []\n}\n", 2, []string{"site.hcl:9:3: ", "which hosts is it for"}},
		"expression":      {agent + "generate {\n  expr = \"score >\"\n}\n", 2, []string{"site.hcl:9:10: ", "unexpected token"}},
		"plugin file":     {agent + "plugin \"urlfilter-regex\" {\n  file = \"nosuch.txt\"\n}\n", 2, []string{"site.hcl:9:", "nosuch.txt"}},
		"manifest": {
			agent + plug("wrong", good+"provide \"urlfiltr\" {}\nsetting \"a\" {\n  type = \"integer\"\n}\n"), 2,
			[]string{"plugin.hcl:6:9: ", `did you mean "urlfilter"`, "plugin.hcl:8:10: ", "needs a meaning"},
		},
		"no program": {agent + plug("unbuilt", good+"provide \"urlfilter\" {}\n"), 2, []string{"plugin.hcl", "urlfilter-mine", "not built yet?"}},
		"no Java":    {agent + fmt.Sprintf("plugin {\n  add = [\"parse-tika\"]\n}\nplugin \"parse-tika\" {\n  jar  = %q\n  java = \"/no/such/java\"\n}\n", jar), 2, []string{"parse-tika", "there is no Java", "/no/such/java", "install Java 17"}},
		"no jar":     {agent + "plugin {\n  add = [\"parse-tika\"]\n}\nplugin \"parse-tika\" {\n  jar = \"/no/such.jar\"\n}\n", 2, []string{"parse-tika", "/no/such.jar", "tika-server-standard"}},
		"no Tika":    {agent + "plugin {\n  add = [\"parse-tika\"]\n}\n", 2, []string{"parse-tika", "neither url nor jar"}},
		"no browser": {agent + "plugin {\n  add = [\"protocol-browser\"]\n}\nplugin \"protocol-browser\" {\n  path    = \"/no/such/chromium\"\n  sandbox = false\n}\n", 2, []string{"protocol-browser", "path", "/no/such/chromium"}},
		"no parser":  {agent + program("/no/such/program"), 2, []string{"parse-ext", `program "conv"`, "/no/such/program", "install it"}},
		"no right":   {agent + program(jar), 2, []string{"parse-ext", `program "conv"`, jar, "permission denied", "chmod +x"}},
		"no folder":  {agent + "plugin {\n  folders = [\"nosuch\"]\n}\n", 2, []string{"plugin folder", "nosuch"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "crawl")
			config := writeFile(t, t.TempDir(), "site.hcl", c.text)
			badRun(t, c.code, c.words, "run", "--config", config, "--dir", dir, "--seeds", "http://h0.test/")
			if _, err := os.Stat(dir); err == nil {
				t.Error("a crawl directory was made")
			}
		})
	}
}

// TestUnchosenProgram: a plugin that is not built yet is a mistake only where it is chosen.
func TestUnchosenProgram(t *testing.T) {
	folder := t.TempDir()
	writeFile(t, folder, "urlfilter-mine/plugin.hcl", "id = \"urlfilter-mine\"\nname = \"Mine\"\nversion = \"1.0.0\"\napi = 1\ncommand = [\"./urlfilter-mine\"]\nprovide \"urlfilter\" {}\n")
	plugins := fmt.Sprintf("plugin {\n  folders = [%q]\n  ", folder)
	config := writeFile(t, t.TempDir(), "site.hcl", agent+plugins+"}\n")
	if out := mustRun(t, "plugin", "list", "--config", config); !strings.Contains(out, "urlfilter-mine") {
		t.Errorf("it is not listed:\n%s", out)
	}
	mustRun(t, "config", "check", "--config", config)
	config = writeFile(t, t.TempDir(), "site.hcl", agent+plugins+"add = [\"urlfilter-mine\"]\n}\n")
	for _, command := range [][]string{{"plugin", "list"}, {"config", "check"}, {"config", "show"}} {
		badRun(t, 2, []string{"urlfilter-mine", "not built yet?"}, append(command, "--config", config)...)
	}
}

// TestBadProgram: a plugin's file that can't be executed, or is no program.
func TestBadProgram(t *testing.T) {
	folder := t.TempDir()
	writeFile(t, folder, "urlfilter-mine/plugin.hcl", "id = \"urlfilter-mine\"\nname = \"Mine\"\nversion = \"1.0.0\"\napi = 1\ncommand = [\"./urlfilter-mine\"]\nprovide \"urlfilter\" {}\n")
	program := writeFile(t, folder, "urlfilter-mine/urlfilter-mine", "this is text")
	config := writeFile(t, t.TempDir(), "site.hcl", agent+fmt.Sprintf("plugin {\n  folders = [%q]\n  add = [\"urlfilter-mine\"]\n}\n", folder))
	dir := filepath.Join(t.TempDir(), "crawl")
	args := []string{"run", "--config", config, "--dir", dir, "--seeds", "http://h0.test/"}
	badRun(t, 2, []string{"plugin.hcl", "can't be executed: chmod +x", program}, args...)
	if err := os.Chmod(program, 0o700); err != nil {
		t.Fatal(err)
	}
	badRun(t, 1, []string{"start plugin urlfilter-mine: fork/exec", program, "exec format error", "#!"}, args...)
}

// newCrawl is a finished crawl of three pages.
func newCrawl(t *testing.T) (dir, config string) {
	t.Helper()
	web := &pages{hosts: 1, perHost: 2}
	addr := serve(t, web)
	dir, config = filepath.Join(t.TempDir(), "crawl"), site(t, addr, "")
	mustRun(t, "run", "--config", config, "--dir", dir, "--seeds", "http://h0.test/")
	return dir, config
}

// TestBadDirectory: a crawl directory that can't be used is left as it is.
func TestBadDirectory(t *testing.T) {
	dir, config := newCrawl(t)
	commands := [][]string{{"run", "--adddays", "40"}, {"readdb", "--stats"}, {"search", "word"}}
	each := func(t *testing.T, dir string, words ...string) {
		t.Helper()
		before := tree(t, dir)
		for _, c := range commands {
			badRun(t, 1, words, append(c, "--config", config, "--dir", dir)...)
		}
		if d := cmp.Diff(before, tree(t, dir)); d != "" {
			t.Errorf("the directory was changed:\n%s", d)
		}
	}
	t.Run("newer version", func(t *testing.T) {
		c := clone(t, dir)
		name := filepath.Join(c, "CRAWLER")
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s", b)
		if err := os.WriteFile(name, newer(b), 0o600); err != nil {
			t.Fatal(err)
		}
		each(t, c, "newer")
	})
	t.Run("no store", func(t *testing.T) {
		c := clone(t, dir)
		if err := os.RemoveAll(filepath.Join(c, "store")); err != nil {
			t.Fatal(err)
		}
		each(t, c, "incomplete or damaged", "store")
	})
	t.Run("half-copied store", func(t *testing.T) {
		c := clone(t, dir)
		files, _ := filepath.Glob(filepath.Join(c, "store", "MANIFEST*"))
		for _, f := range files {
			if err := os.Remove(f); err != nil {
				t.Fatal(err)
			}
		}
		each(t, c, "incomplete or damaged", "copy it again")
	})
	t.Run("half-copied segments", func(t *testing.T) {
		c := clone(t, dir)
		files, _ := filepath.Glob(filepath.Join(c, "segments", "*", "*.warc.gz"))
		if len(files) == 0 {
			t.Fatal("no WARC files")
		}
		for _, f := range files {
			if err := os.Truncate(f, 100); err != nil {
				t.Fatal(err)
			}
		}
		badRun(t, 1, []string{"warc.gz"}, "run", "--config", config, "--dir", c)
		if err := os.RemoveAll(filepath.Join(c, "segments")); err != nil {
			t.Fatal(err)
		}
		if err := os.CopyFS(filepath.Join(c, "segments"), os.DirFS(filepath.Join(dir, "segments"))); err != nil {
			t.Fatal(err)
		}
		mustRun(t, "run", "--config", config, "--dir", c, "--adddays", "40", "--rounds", "1")
	})
	t.Run("no directory", func(t *testing.T) {
		file := writeFile(t, t.TempDir(), "file", "x")
		badRun(t, 1, []string{file}, "run", "--config", config, "--dir", file, "--seeds", "http://h0.test/")
		badRun(t, 1, []string{"nosuch"}, "readdb", "--stats", "--config", config, "--dir", filepath.Join(t.TempDir(), "nosuch"))
	})
	mustRun(t, "run", "--config", config, "--dir", dir, "--adddays", "40", "--rounds", "1")
}

// newer raises the first number of a format file.
func newer(b []byte) []byte {
	i := bytes.IndexAny(b, "0123456789")
	if i < 0 {
		return append(b, " 99"...)
	}
	return slices.Concat(b[:i], []byte("99"), b[i:])
}

// clone copies a crawl directory.
func clone(t *testing.T, dir string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "copy")
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return to
}

// tree lists files with their sizes; who has or had the lock does not count.
func tree(t *testing.T, dir string) map[string]int64 {
	t.Helper()
	out := map[string]int64{}
	err := filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if n := d.Name(); n == "LOCK" || n == "OWNER" {
			return nil
		}
		info, err := d.Info()
		if err == nil {
			out[p] = info.Size()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestDirectoryInUse: a second crawl in the same directory is refused with the
// name of the first, which goes on.
func TestDirectoryInUse(t *testing.T) {
	cfg := killWeb()
	web, addr := serveWeb(t, cfg)
	dir := filepath.Join(t.TempDir(), "crawl")
	config := site(t, addr, "fetcher {\n  server_delay = \"200ms\"\n}\n")
	r := start(t, "run", "--config", config, "--dir", dir, "--seeds", "http://host0.test/", "--json")
	eventually(t, time.Minute, "the crawler fetches", func() bool { return web.Report().Requests > 20 || len(r.exited) > 0 })
	pid := fmt.Sprint(r.cmd.Process.Pid)
	for _, c := range [][]string{{"run"}, {"inject", "http://h0.test/"}, {"dedup"}, {"db", "refilter"}} {
		badRun(t, 1, []string{"in use", pid}, append(c, "--config", config, "--dir", dir)...)
	}
	if len(r.exited) > 0 {
		t.Fatalf("the first crawl ended: %s", r.errOut.String())
	}
	mustRun(t, "stop", "--config", config, "--dir", dir)
	if code := r.end(t, time.Minute); code != 0 {
		t.Errorf("exit code %d\n%s", code, r.errOut.String())
	}
}

// mount makes a file system of its own, which needs root; without, the test is skipped.
func mount(t *testing.T, options string) string {
	t.Helper()
	dir := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", options, "crawler-test", dir).CombinedOutput(); err != nil {
		t.Skipf("needs the right to mount a tmpfs: %s", bytes.TrimSpace(out))
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", dir).CombinedOutput(); err != nil {
			t.Errorf("umount: %s", out)
		}
	})
	return dir
}

// TestReadOnlyAndFullDisk: a disk without room or right to write ends a crawl, which goes on later.
func TestReadOnlyAndFullDisk(t *testing.T) {
	addr := serve(t, fat{})
	t.Run("full", func(t *testing.T) {
		disk := mount(t, "size=24m")
		dir := filepath.Join(disk, "crawl")
		config := site(t, addr, "fetcher {\n  server_delay = \"0s\"\n}\n")
		args := []string{"run", "--config", config, "--dir", dir, "--seeds", "http://fat.test/"}
		began := time.Now()
		badRun(t, 1, []string{"no space left on device"}, args...)
		t.Logf("the disk was full after %v", time.Since(began))
		if out, err := exec.Command("mount", "-o", "remount,size=400m", disk).CombinedOutput(); err != nil {
			t.Fatalf("remount: %s", out)
		}
		rep := reported(t, mustRun(t, append(args, "--json")...))
		t.Logf("the whole crawl took %v", time.Since(began))
		if rep.Fetched == 0 {
			t.Error("nothing was left to fetch: the disk was not full in time")
		}
		if l := openLocal(t, dir, addr); l != nil {
			if c, err := l.DB.Check(t.Context()); err != nil || c.Total != 0 {
				t.Errorf("CrawlDB is inconsistent: %v %+v", err, c)
			}
			if n := len(l.statuses(t)); n != fatPages+1 {
				t.Errorf("%d URLs are known, want %d", n, fatPages+1)
			}
		}
	})
	t.Run("low water", func(t *testing.T) {
		dir := filepath.Join(mount(t, "size=40m"), "crawl")
		config := site(t, addr, "")
		badRun(t, 1, []string{"store.low_water"}, "run", "--config", config, "--dir", dir, "--seeds", "http://fat.test/", "-D", "store.low_water=1GiB")
	})
	t.Run("read-only", func(t *testing.T) {
		disk := mount(t, "size=100m")
		dir := filepath.Join(disk, "crawl")
		config := site(t, addr, "fetcher {\n  server_delay = \"0s\"\n}\n")
		mustRun(t, "run", "--config", config, "--dir", dir, "--seeds", "http://fat.test/", "--rounds", "1")
		if out, err := exec.Command("mount", "-o", "remount,ro", disk).CombinedOutput(); err != nil {
			t.Fatalf("remount: %s", out)
		}
		badRun(t, 1, []string{dir, "read-only"}, "run", "--config", config, "--dir", dir)
	})
}

// fat serves pages of about 700 KB that hardly compress and have little text.
type fat struct{}

const fatPages = 90

func (fat) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/robots.txt" {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/html")
	if r.URL.Path == "/" {
		for i := range fatPages {
			fmt.Fprintf(w, "<a href=/%d>%d</a> ", i, i)
		}
		return
	}
	fmt.Fprintf(w, "<p>page %s<!--", r.URL.Path)
	defer fmt.Fprint(w, "-->")
	x := uint64(len(r.URL.Path)) + uint64(r.URL.Path[len(r.URL.Path)-1])<<8
	for range 700_000 / 16 {
		x = x*6364136223846793005 + 1442695040888963407
		fmt.Fprintf(w, "%x", x)
	}
}

// TestHostilePages: pages made to hurt cost one page each; the others of the site are
// indexed.
func TestHostilePages(t *testing.T) {
	s := testsite.Start(t, testsite.Options{})
	h := s.Site()
	hostile := map[string]func(path string){
		"/endless-header": func(p string) { h.Raw(p, endlessHeader) },
		"/endless-line":   func(p string) { h.Raw(p, endlessLine) },
		"/bomb":           func(p string) { h.Handle(p, bomb) },
		"/invalid":        func(p string) { h.File(p, "text/html; charset=utf-8", invalidUTF8()) },
		"/long-links":     func(p string) { h.Page(p, longLinks()) },
		"/loop-a":         func(p string) { h.Redirect(p, 302, "/loop-b").Redirect("/loop-b", 302, "/loop-a") },
		"/self":           func(p string) { h.Redirect(p, 301, p) },
		"/spiral":         func(p string) { h.Handle(p+"*", spiral) },
		"/garbage":        func(p string) { h.RawText(p, "\x00\xff\x16\x03\x01 what?\r\n\r\n") },
		"/reset": func(p string) {
			h.RawText(p, "HTTP/1.1 200 OK\r\nContent-Length: 99999\r\nContent-Type: text/html\r\n\r\n<p>half")
		},
		"/deep": func(p string) { h.Page(p, strings.Repeat("<div>", 300_000)+"deep") },
	}
	if soak() {
		hostile["/nodes"] = func(p string) { h.Handle(p, manyNodes) }
	}
	front := "<title>front</title>"
	for _, p := range slices.Sorted(maps.Keys(hostile)) {
		hostile[p](p)
		front += fmt.Sprintf("<a href=%q>x</a>", p)
	}
	want := []string{s.Site().URL("/")}
	for i := range 30 {
		p := fmt.Sprintf("/good/%d.html", i)
		h.Page(p, fmt.Sprintf("<title>good %d</title>word%d", i, i))
		front += fmt.Sprintf("<a href=%q>x</a>", p)
		want = append(want, h.URL(p))
	}
	h.Page("/", front)
	dir := filepath.Join(t.TempDir(), "crawl")
	config := writeFile(t, t.TempDir(), "site.hcl", "fetcher {\n  server_delay = \"0s\"\n  threads_per_queue = 4\n  max_exceptions_per_queue = -1\n  exceptions_per_queue_delay = \"0s\"\n}\nhttp {\n  agent_name = \"testbot\"\n  agent_url = \"http://example.org/bot\"\n  read_timeout = \"5s\"\n  time_limit = \"10s\"\n  content_limit = \"40MiB\"\n}\nstore {\n  low_water = \"0\"\n}\n")
	out, errOut, code := run(t, "run", "--config", config, "--dir", dir, "--seeds", h.URL("/"), "--json", "--rounds", "12")
	if code != 0 {
		t.Fatalf("exit code %d\n%s\n%.3000s", code, out, errOut)
	}
	rep := reported(t, out)
	if len(rep.Poisonous) > 0 {
		t.Errorf("plugins died of %q", rep.Poisonous)
	}
	u, err := url.Parse(h.URL("/"))
	if err != nil {
		t.Fatal(err)
	}
	l := openLocal(t, dir, u.Host)
	if _, err := l.Chains.OpenWriters(t.Context(), l.WriterConfigs()); err != nil {
		t.Fatal(err)
	}
	res, err := l.Chains.Search(t.Context(), "main", &searcher.Query{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	indexed := map[string]bool{}
	for i := range res.Hits {
		indexed[res.Hits[i].ID] = true
	}
	for _, w := range want {
		if !indexed[w] {
			t.Errorf("%s is not in the index", w)
		}
	}
	spirals := 0
	err = l.DB.Scan(t.Context(), "", func(k urlkey.Key, r *crawldb.Record) error {
		u, err := urlkey.ToURL(k)
		if len(u) > 4096 {
			t.Errorf("a URL of %d bytes is known", len(u))
		}
		if strings.Contains(u, "/spiral") {
			spirals++
		} else if !strings.Contains(u, "/good/") {
			t.Logf("%.80s: %v %v %s", u, r.Datum.Status, r.Datum.ProtocolStatus, r.Datum.Metadata.First("parse.status"))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if spirals > 20 {
		t.Errorf("an endless chain of redirects led to %d URLs in 12 rounds", spirals)
	}
}

func endlessHeader(c net.Conn) {
	_, err := io.WriteString(c, "HTTP/1.1 200 OK\r\n")
	for i := 0; err == nil && i < 1<<20; i++ {
		_, err = fmt.Fprintf(c, "X-%d: %s\r\n", i, strings.Repeat("y", 1000))
	}
}

func endlessLine(c net.Conn) {
	_, err := io.WriteString(c, "HTTP/1.1 200 ")
	for i := 0; err == nil && i < 1<<16; i++ {
		_, err = io.WriteString(c, strings.Repeat("y", 16<<10))
	}
}

// bomb sends 2 GiB in 2 MiB.
func bomb(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html")
	w.Header().Set("Content-Encoding", "gzip")
	z := gzip.NewWriter(w)
	zeros := bytes.Repeat([]byte("<p> "), 256<<10)
	for range 2 << 10 {
		if _, err := z.Write(zeros); err != nil {
			return
		}
	}
	_ = z.Close()
}

func invalidUTF8() []byte {
	b := []byte("<title>\xff\xfe\xc0\x80</title><a href=\"/\xed\xa0\x80\xff\">\xf8</a><p>")
	for i := range 100_000 {
		b = append(b, byte(i*7))
	}
	return b
}

func longLinks() string {
	var b strings.Builder
	for i := range 5 {
		fmt.Fprintf(&b, "<a href=\"/%d%s\">long</a>\n", i, strings.Repeat("x", 1<<20))
	}
	return b.String()
}

func spiral(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Location", r.URL.Path+"x")
	w.WriteHeader(http.StatusFound)
}

// manyNodes sends ten million elements.
func manyNodes(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html")
	chunk := bytes.Repeat([]byte("<b>"), 100_000)
	for range 100 {
		if _, err := w.Write(chunk); err != nil {
			return
		}
	}
}
