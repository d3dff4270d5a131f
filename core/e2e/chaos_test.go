package e2e

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gonutch/crawler/core/internal/cycle"
	"github.com/gonutch/crawler/core/internal/db/crawldb"
	"github.com/gonutch/crawler/core/internal/urlkey"
	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/extension/searcher"
	"github.com/gonutch/crawler/sdk/model"
	"github.com/gonutch/crawler/sdk/plugintest/chaos"
)

// chaosArg makes this test's program serve the chaos plugin.
const chaosArg = "serve-chaos"

// serveChaos serves the chaos plugin under the manifest of the folder it was
// started in, which differs from the plugin's own in that it has a command.
func serveChaos() {
	m, err := os.ReadFile("plugin.hcl")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	sdk.Main(sdk.Plugin{Manifest: m, New: chaos.Plugin().New})
}

// chaosFolder makes a plugin folder with the chaos plugin and returns it.
func chaosFolder(t testing.TB) string {
	t.Helper()
	folder := t.TempDir()
	dir := filepath.Join(folder, "chaos")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("%s\ncommand = [%q, %q]\n", chaos.Plugin().Manifest, self, chaosArg)
	if err := os.WriteFile(filepath.Join(dir, "plugin.hcl"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return folder
}

// chaosSite is the configuration of a crawl in which the chaos plugin misbehaves
// at points; settings are more of its settings.
func chaosSite(t testing.TB, addr, folder, points, settings string) string {
	t.Helper()
	return site(t, addr, fmt.Sprintf(`
fetcher {
  server_delay      = "0s"
  threads_per_queue = 8
}
plugin {
  add               = ["chaos"]
  folders           = [%q]
  call_timeout      = "3s"
  stop_timeout      = "2s"
  memory_limit      = "384MiB"
  watch_interval    = "200ms"
  restart_delay     = "10ms"
  restart_delay_max = "100ms"
}
parser {
  timeout = "3s"
}
plugin "chaos" {
  points = [%s]
  %s
}
`, folder, points, settings))
}

// pages serves hosts of pages as an HTTP proxy: the front page of each host links to
// its pages, that of the first to the other hosts. Among the pages are the extra paths.
type pages struct {
	hosts, perHost int
	extra          []string // paths, spread over the hosts
}

func (p *pages) host(i int) string { return fmt.Sprintf("h%d.test", i) }

func (p *pages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/robots.txt" {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	fmt.Fprintf(w, "<title>Page %s of %s</title><p>word %s</p>\n", r.URL.Path, r.Host, strings.ReplaceAll(r.URL.Path, "/", " "))
	if r.URL.Path != "/" {
		return
	}
	n, err := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(r.Host, "h"), ".test"))
	if err != nil {
		return
	}
	for i := range p.perHost {
		fmt.Fprintf(w, "<a href=\"/p%d.html\">p</a>\n", i)
	}
	for i := n; i < len(p.extra); i += p.hosts {
		fmt.Fprintf(w, "<a href=%q>x</a>\n", p.extra[i])
	}
	if n == 0 {
		for i := 1; i < p.hosts; i++ {
			fmt.Fprintf(w, "<a href=\"http://%s/\">host</a>\n", p.host(i))
		}
	}
}

// urls returns the URLs of all pages, those of extra included.
func (p *pages) urls() []string {
	var out []string
	for i := range p.hosts {
		out = append(out, "http://"+p.host(i)+"/")
		for k := range p.perHost {
			out = append(out, fmt.Sprintf("http://%s/p%d.html", p.host(i), k))
		}
	}
	for i := range p.extra {
		out = append(out, p.extraURL(i))
	}
	slices.Sort(out)
	return out
}

func (p *pages) extraURL(i int) string { return "http://" + p.host(i%p.hosts) + p.extra[i] }

// serve serves h until the test ends and returns the address.
func serve(t testing.TB, h http.Handler) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
	done := make(chan struct{})
	go func() {
		_ = srv.Serve(l)
		close(done)
	}()
	t.Cleanup(func() {
		_ = srv.Close()
		<-done
	})
	return l.Addr().String()
}

// noneLeft fails when something that was started in folder, or a process of the
// built binary, is still alive.
func noneLeft(t *testing.T, folder string) {
	t.Helper()
	var left []string
	deadline := time.Now().Add(5 * time.Second)
	for {
		left = left[:0]
		for _, p := range processes(t) {
			left = append(left, strings.Join(p.args, " "))
		}
		dirs, _ := filepath.Glob("/proc/[0-9]*/cwd")
		for _, d := range dirs {
			if to, err := os.Readlink(d); err == nil && strings.HasPrefix(to, folder) {
				line, _ := os.ReadFile(filepath.Join(filepath.Dir(d), "cmdline"))
				left = append(left, fmt.Sprintf("%s %q", d, line))
			}
		}
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("processes are left: %q", left)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// reported is the last JSON value that a run printed: its report.
func reported(t testing.TB, out string) cycle.Report {
	t.Helper()
	var rep cycle.Report
	if err := json.Unmarshal([]byte(out), &rep); err != nil {
		t.Fatalf("%v in\n%s", err, out)
	}
	return rep
}

// marks reads which URLs of a crawl carry a failed parse, and why, and what the
// index holds.
func marks(t *testing.T, dir, addr string) (failed map[string]string, indexed []string) {
	t.Helper()
	l := openLocal(t, dir, addr)
	defer l.close(t)
	if _, err := l.Chains.OpenWriters(t.Context(), l.WriterConfigs()); err != nil {
		t.Fatal(err)
	}
	failed = map[string]string{}
	err := l.DB.Scan(t.Context(), "", func(k urlkey.Key, r *crawldb.Record) error {
		u, err := urlkey.ToURL(k)
		if why := r.Datum.Metadata.First("parse.status"); why != "" {
			failed[u] = why
		}
		if r.Datum.Status != model.StatusDBFetched {
			t.Errorf("%s is %v", u, r.Datum.Status)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for offset := 0; ; offset += 500 {
		res, err := l.Chains.Search(t.Context(), "main", &searcher.Query{Limit: 500, Offset: offset})
		if err != nil {
			t.Fatal(err)
		}
		for i := range res.Hits {
			indexed = append(indexed, res.Hits[i].ID)
		}
		if len(res.Hits) < 500 {
			break
		}
	}
	slices.Sort(indexed)
	return failed, indexed
}

// TestChaosBehaviours: each way of the chaos plugin to misbehave, at a parse filter in one
// crawl. Those pages alone are marked that can't be looked at, with the reason.
func TestChaosBehaviours(t *testing.T) {
	// Why a page is marked; "" for those that are not.
	want := map[chaos.Behaviour]string{
		chaos.Crash: "poisonous: plugin chaos crashed 3 times", chaos.Kill: "poisonous: plugin chaos crashed 3 times",
		chaos.Fatal: "poisonous: plugin chaos crashed 3 times", chaos.Stop: "poisonous: plugin chaos hung 3 times",
		chaos.Hang: "poisonous: plugin chaos hung 3 times", chaos.Spin: "poisonous: plugin chaos hung 3 times",
		chaos.Hog: "poisonous: plugin chaos", chaos.Panic: "panic", chaos.Short: "the plugin answered 0 of 1 items", chaos.Long: "the plugin answered 2 of 1 items",
		chaos.Huge: "larger than max", chaos.Refuse: "refused", chaos.Transient: "chaos: ", chaos.Permanent: "chaos: ", chaos.Denied: "chaos: ",
		chaos.Invalid: "chaos: ", chaos.Shutdown: "chaos: ",
		chaos.CrashOnce: "", chaos.Slow: "", chaos.Leak: "", chaos.Fork: "", chaos.Daemon: "", chaos.Noise: "", chaos.Hostile: "", chaos.Nonsense: "",
	}
	behaviours := chaos.Behaviours()
	if !soak() { // hang stands for those that take as long
		behaviours = slices.DeleteFunc(behaviours, func(b chaos.Behaviour) bool { return b == chaos.Stop || b == chaos.Spin })
	}
	web := &pages{hosts: 3, perHost: 20}
	for _, b := range behaviours {
		if _, ok := want[b]; !ok {
			t.Errorf("what becomes of %q?", b)
		}
		web.extra = append(web.extra, "/chaos-"+string(b)+"/")
	}
	addr, folder := serve(t, web), chaosFolder(t)
	dir := filepath.Join(t.TempDir(), "crawl")
	config := chaosSite(t, addr, folder, `"parsefilter"`, "")
	start := time.Now()
	out, errOut, code := run(t, "run", "--config", config, "--dir", dir, "--seeds", "http://h0.test/", "--json")
	if code != 0 {
		t.Fatalf("exit code %d\n%s\n%s", code, out, errOut)
	}
	took := time.Since(start)
	noneLeft(t, folder)
	failed, indexed := marks(t, dir, addr)
	healthy := web.urls()
	var poisonous []string
	for i, b := range behaviours {
		u := web.extraURL(i)
		why, marked := failed[u]
		if marked != (want[b] != "") || !strings.Contains(why, want[b]) {
			t.Errorf("%s is marked with %q, want %q", u, why, want[b])
		}
		if marked {
			healthy = slices.DeleteFunc(healthy, func(h string) bool { return h == u })
		}
		if strings.HasPrefix(want[b], "poisonous") {
			poisonous = append(poisonous, u)
		}
		delete(failed, u)
	}
	if len(failed) > 0 {
		t.Errorf("others are marked: %q", failed)
	}
	if d := cmp.Diff(healthy, indexed); d != "" {
		t.Errorf("index (-want +got):\n%s", d)
	}
	rep := reported(t, out)
	if rep.Rounds < 2 || rep.Fetched != int64(len(web.urls())) {
		t.Errorf("%d rounds, %d fetched", rep.Rounds, rep.Fetched)
	}
	comparePoisonous(t, poisonous, rep.Poisonous)
	t.Logf("%d pages, %d behaviours, %v", rep.Fetched, len(behaviours), took.Round(time.Millisecond))
}

// comparePoisonous compares the URLs that a report lists.
func comparePoisonous(t *testing.T, want, listed []string) {
	t.Helper()
	var got []string
	for _, s := range listed {
		u, why, _ := strings.Cut(s, ": ")
		got = append(got, u)
		if !strings.HasPrefix(why, "poisonous: plugin chaos ") {
			t.Errorf("reported without the reason: %s", s)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("poisonous URLs of the report (-want +got):\n%s", d)
	}
}

// TestPoisonousPages: many pages that kill the plugin at each of several points, in
// different ways, cost nothing but themselves.
func TestPoisonousPages(t *testing.T) {
	poison, web := 10, &pages{hosts: 6, perHost: 30}
	if soak() {
		poison, web = 200, &pages{hosts: 20, perHost: 65}
	}
	var want []string
	for i := range poison {
		b := []chaos.Behaviour{chaos.Crash, chaos.Kill, chaos.Fatal}[i%3]
		web.extra = append(web.extra, fmt.Sprintf("/chaos-%s/%d.html", b, i))
	}
	for i := range web.extra {
		want = append(want, web.extraURL(i))
	}
	addr, folder := serve(t, web), chaosFolder(t)
	dir := filepath.Join(t.TempDir(), "crawl")
	config := chaosSite(t, addr, folder, `"parsefilter"`, "")
	start := time.Now()
	out, errOut, code := run(t, "run", "--config", config, "--dir", dir, "--seeds", "http://h0.test/", "--json")
	if code != 0 {
		t.Fatalf("exit code %d\n%s\n%.5000s", code, out, errOut)
	}
	took := time.Since(start)
	noneLeft(t, folder)
	rep := reported(t, out)
	comparePoisonous(t, want, rep.Poisonous)
	if n := rep.ParseFails["chaos: poisonous"]; n != int64(poison) {
		t.Errorf("report: %d parses failed as poisonous, want %d: %v", n, poison, rep.ParseFails)
	}
	failed, indexed := marks(t, dir, addr)
	if len(failed) != poison {
		t.Errorf("%d pages are marked", len(failed))
	}
	healthy := slices.DeleteFunc(web.urls(), func(u string) bool { return failed[u] != "" })
	if d := cmp.Diff(healthy, indexed); d != "" {
		t.Errorf("index (-want +got):\n%.3000s", d)
	}
	for _, u := range want[:3] {
		var a struct {
			Record struct{ Metadata model.Metadata }
		}
		text := mustRun(t, "readdb", "--config", config, "--dir", dir, "--url", u, "--json")
		if err := json.Unmarshal([]byte(text), &a); err != nil {
			t.Fatal(err)
		}
		if why := a.Record.Metadata.First("parse.status"); !strings.Contains(why, "poisonous: plugin chaos crashed 3 times on this record") {
			t.Errorf("readdb --url %s: %q\n%s", u, why, text)
		}
	}
	t.Logf("%d pages, %d poisonous, %v", rep.Fetched, poison, took.Round(time.Millisecond))
}

// TestChaosAtEveryPoint: a record that kills the plugin at another point than a parse
// filter costs that record and no other.
func TestChaosAtEveryPoint(t *testing.T) {
	for _, c := range []struct {
		point   string
		known   bool // the page gets into the CrawlDB
		indexed bool
	}{
		{"urlfilter", false, false}, {"urlnormalizer", false, false}, {"scoring", true, true}, {"indexingfilter", true, false},
	} {
		if !soak() && c.point != "urlfilter" && c.point != "indexingfilter" {
			continue
		}
		t.Run(c.point, func(t *testing.T) {
			web := &pages{hosts: 2, perHost: 20, extra: []string{"/chaos-crash/1.html", "/chaos-kill/2.html"}}
			addr, folder := serve(t, web), chaosFolder(t)
			dir := filepath.Join(t.TempDir(), "crawl")
			out, errOut, code := run(t, "run", "--config", chaosSite(t, addr, folder, strconv.Quote(c.point), ""), "--dir", dir, "--seeds", "http://h0.test/", "--json")
			if code != 0 {
				t.Fatalf("exit code %d\n%s\n%.5000s", code, out, errOut)
			}
			noneLeft(t, folder)
			rep := reported(t, out)
			comparePoisonous(t, []string{web.extraURL(0), web.extraURL(1)}, rep.Poisonous)
			want := web.urls()
			poisonous := func(u string) bool { return strings.Contains(u, "chaos") }
			if !c.known {
				want = slices.DeleteFunc(want, poisonous)
			}
			if rep.Fetched != int64(len(want)) {
				t.Errorf("%d pages fetched, want %d", rep.Fetched, len(want))
			}
			if !c.indexed {
				want = slices.DeleteFunc(want, poisonous)
			}
			failed, indexed := marks(t, dir, addr)
			if len(failed) > 0 {
				t.Errorf("marked as not parsed: %q", failed)
			}
			if d := cmp.Diff(want, indexed); d != "" {
				t.Errorf("index (-want +got):\n%s", d)
			}
		})
	}
}

// TestChaosAtStart: a plugin that starts slowly is waited for; one that can't be
// started ends the command with a message, and the crawl goes on without it.
func TestChaosAtStart(t *testing.T) {
	web := &pages{hosts: 1, perHost: 5}
	addr, folder := serve(t, web), chaosFolder(t)
	dir := filepath.Join(t.TempDir(), "crawl")
	crawl := func(settings string) (string, string, int) {
		config := chaosSite(t, addr, folder, `"parsefilter"`, settings)
		defer noneLeft(t, folder)
		return run(t, "run", "--config", config, "--dir", dir, "--seeds", "http://h0.test/", "--json", "-D", "plugin.start_timeout=4s", "-D", "plugin.restart_max=2")
	}
	for configure, words := range map[string][]string{
		"error": {"plugin chaos", "asked not to start"}, "exit": {"plugin chaos", "exit status 7"}, "hang": {"plugin chaos", "4s"},
	} {
		_, errOut, code := crawl(`configure = "` + configure + `"`)
		if want := map[bool]int{true: 2, false: 1}[configure == "error"]; code != want { // settings refused, or trouble
			t.Errorf("configure = %s: exit code %d, want %d", configure, code, want)
		}
		for _, w := range words {
			if !strings.Contains(errOut, w) {
				t.Errorf("configure = %s: the message does not say %q:\n%s", configure, w, errOut)
			}
		}
		t.Logf("configure = %s:\n%s", configure, errOut)
	}
	out, errOut, code := crawl("configure = \"slow\"\n  slow = \"2s\"\n  children = 2\n  shutdown = \"hang\"")
	if code != 0 {
		t.Fatalf("exit code %d\n%s", code, errOut)
	}
	if n := reported(t, out).Fetched; n != 6 {
		t.Errorf("%d pages fetched, want 6", n)
	}
}
