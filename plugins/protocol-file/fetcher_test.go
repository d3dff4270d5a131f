package protocolfile

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2/hclparse"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	ctyjson "github.com/zclconf/go-cty/cty/json"
	"go.uber.org/goleak"
	"golang.org/x/net/html"

	"github.com/gonutch/crawler/plugins/internal/libtest"
	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/extension/protocol"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/manifest"
	"github.com/gonutch/crawler/sdk/model"
	"github.com/gonutch/crawler/sdk/setting"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// tree makes files (name ends in no slash), folders and links ("name -> target")
// below a new folder, and returns it.
func tree(t *testing.T, entries ...string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		name, target, link := strings.Cut(e, " -> ")
		p := filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(p), 0o755)
		switch {
		case err != nil:
		case link:
			err = os.Symlink(strings.ReplaceAll(target, "$DIR", dir), p)
		case strings.HasSuffix(name, "/"):
			err = os.MkdirAll(p, 0o755)
		default:
			err = os.WriteFile(p, []byte("content of "+name), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func fetcher(t *testing.T, root string, change ...func(*Config)) *Fetcher {
	t.Helper()
	cfg := DefaultConfig()
	cfg.Roots = []string{root}
	for _, c := range change {
		c(&cfg)
	}
	f, err := NewFetcher(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestOutcomes(t *testing.T) {
	dir := tree(t,
		"secret", "secrets/x", "root/a.html", "root/sub/b.txt", "root/a b&c.txt", "root/100%.txt", "root/q?x#y.txt", "root/.hidden",
		"root/link -> a.html", "root/abs -> $DIR/root/a.html", "root/out -> ../secret", "root/outdir -> $DIR/secrets",
		"root/dangling -> nowhere", "root/loop -> loop", "root/up -> .", "root/chain -> link")
	root := dir + "/root"
	u := "file://" + root
	if err := syscall.Mkfifo(root+"/fifo", 0o644); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", root+"/socket")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	f := fetcher(t, root)
	const (
		ok, moved, denied = model.ProtocolSuccess, model.ProtocolMoved, model.ProtocolAccessDenied
		notFound, gone    = model.ProtocolNotFound, model.ProtocolGone
	)
	for _, tc := range []struct {
		url  string
		code model.ProtocolCode
		want string // body or Location
	}{
		{u + "/a.html", ok, "content of root/a.html"},
		{"file:" + root + "/a.html", ok, "content of root/a.html"},
		{"file://localhost" + root + "/a.html", ok, "content of root/a.html"},
		{u + "/a.html#frag", ok, "content of root/a.html"},
		{u + "/a%20b&c.txt", ok, "content of root/a b&c.txt"},
		{u + "/a b&c.txt", ok, "content of root/a b&c.txt"},
		{u + "/100%.txt", ok, "content of root/100%.txt"},
		{u + "/100%25.txt", ok, "content of root/100%.txt"},
		{u + "/q%3Fx%23y.txt", ok, "content of root/q?x#y.txt"},
		{u + "/%61.html", ok, "content of root/a.html"},
		{u + "/.hidden", ok, "content of root/.hidden"},
		{u + "/a.html?x", moved, u + "/a.html"},
		{u + "/sub", moved, u + "/sub/"},
		{u, moved, u + "/"},
		{u + "//sub/./b.txt", moved, u + "/sub/b.txt"},
		{u + "/sub/../a.html", moved, u + "/a.html"},
		{u + "/link", moved, u + "/a.html"},
		{u + "/abs", moved, u + "/a.html"},
		{u + "/chain", moved, u + "/a.html"},
		{u + "/up/", moved, u + "/"},
		{u + "/up/up/a.html", moved, u + "/a.html"},
		{u + "/none", notFound, ""},
		{u + "/a.html/", notFound, ""},
		{u + "/a.html/x", notFound, ""},
		{u + "/dangling", notFound, ""},
		{u + "/" + strings.Repeat("x", 5000), notFound, ""},
		{u + "/loop", gone, ""},
		{u + "/a.html%00", gone, ""},
		{"file://other.example" + root + "/a.html", gone, ""},
		{"file:relative", gone, ""},
		{"http://a.example/", model.ProtocolNotFoundProto, ""},
		{u + "/out", denied, ""},
		{u + "/outdir/", denied, ""},
		{u + "/outdir/x", denied, ""},
		{u + "/../secret", denied, ""},
		{u + "/%2e%2e/secret", denied, ""},
		{u + "/..%2fsecret", denied, ""},
		{"file://" + dir + "/secret", denied, ""},
		{"file://" + dir + "/rootlike", denied, ""},
		{"file:///etc/passwd", denied, ""},
		{"file:///", denied, ""},
		{u + "/fifo", denied, ""},
		{u + "/socket", denied, ""},
	} {
		r := libtest.Get(t, f, tc.url)
		got := string(r.Body) + r.Location
		if r.Status.Code != tc.code || got != tc.want {
			t.Errorf("%s: %v %q; want %s %q", tc.url, r.Status, got, tc.code, tc.want)
		}
		if tc.code != ok && r.Status.Message == "" {
			t.Errorf("%s: no message", tc.url)
		}
		if r.Protocol != "file" || r.URL != tc.url || r.IP != "" || r.RawRequest != nil {
			t.Errorf("%s: %+v", tc.url, r)
		}
	}
	nothing := fetcher(t, root, func(c *Config) { c.Roots = nil })
	if r := libtest.Get(t, nothing, u+"/a.html"); r.Status.Code != denied || !strings.Contains(r.Status.Message, "file.roots") {
		t.Errorf("without roots: %v", r.Status)
	}
	if r := libtest.Get(t, fetcher(t, "/dev"), "file:///dev/zero"); r.Status.Code != denied {
		t.Errorf("device: %v", r.Status)
	}
	whole := fetcher(t, "/")
	if r := libtest.Get(t, whole, "file:///proc/self/stat"); r.Status.Code != ok && r.Status.Code != moved {
		t.Errorf("root /: %v", r.Status)
	}
}

func TestLinksLeftAlone(t *testing.T) {
	dir := tree(t, "a.html", "link -> a.html", "up -> .", "d/b.html", "dlink -> d", "d/back -> ../d2", "d2/back -> ../d", "out -> /etc")
	f := fetcher(t, dir, func(c *Config) { c.CrawlRedirectNoncanonial = false })
	for p, want := range map[string]model.ProtocolCode{
		"/link": model.ProtocolSuccess, "/dlink/b.html": model.ProtocolSuccess, "/dlink/": model.ProtocolSuccess,
		"/dlink": model.ProtocolMoved, "/up/": model.ProtocolGone, "/up/d/": model.ProtocolSuccess,
		"/d/back/": model.ProtocolSuccess, "/d/back/back/": model.ProtocolGone, "/dlink/back/back/": model.ProtocolGone,
		"/dlink/back/back/back/": model.ProtocolGone, "/out/passwd": model.ProtocolAccessDenied,
	} {
		if r := libtest.Get(t, f, "file://"+dir+p); r.Status.Code != want {
			t.Errorf("%s: %v, want %s", p, r.Status, want)
		}
	}
}

func TestNotModified(t *testing.T) {
	dir := tree(t, "a.html")
	stamp := time.Date(2020, 1, 2, 3, 4, 5, 600e6, time.UTC)
	for _, p := range []string{dir + "/a.html", dir} {
		if err := os.Chtimes(p, stamp, stamp); err != nil {
			t.Fatal(err)
		}
	}
	f := fetcher(t, dir)
	for _, p := range []string{"/a.html", "/"} {
		first := libtest.Get(t, f, "file://"+dir+p)
		if got, want := first.Headers.First("Last-Modified"), "Thu, 02 Jan 2020 03:04:05 GMT"; got != want {
			t.Errorf("%s: Last-Modified %q", p, got)
		}
		for since, want := range map[string]model.ProtocolCode{
			first.Headers.First("Last-Modified"):            model.ProtocolNotModified,
			stamp.Add(time.Hour).Format(http.TimeFormat):    model.ProtocolNotModified,
			stamp.Add(-time.Second).Format(http.TimeFormat): model.ProtocolSuccess,
			"nonsense": model.ProtocolSuccess,
		} {
			r := libtest.Fetch(t, f, &protocol.Request{URL: "file://" + dir + p, LastModified: since})
			if r.Status.Code != want || (want == model.ProtocolNotModified) != (r.Status.HTTP == 304) {
				t.Errorf("%s since %s: %v, want %s", p, since, r.Status, want)
			}
		}
	}
}

func TestContentLimit(t *testing.T) {
	dir := tree(t, "empty")
	content := strings.Repeat("0123456789", 500_000)
	if err := os.WriteFile(dir+"/big", []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(dir+"/empty", 0); err != nil {
		t.Fatal(err)
	}
	n := int64(len(content))
	for _, tc := range []struct {
		limit, max int64
		want       int64
		truncated  string
	}{{n, 0, n, ""}, {n - 1, 0, n - 1, "length"}, {1, 0, 1, "length"}, {0, 0, 0, "length"}, {-1, 0, n, ""}, {1, n, n, ""}, {n, 7, 7, "length"}, {1, -1, n, ""}} {
		f := fetcher(t, dir, func(c *Config) { c.ContentLimit = setting.Size(tc.limit) })
		r := libtest.Fetch(t, f, &protocol.Request{URL: "file://" + dir + "/big", MaxBytes: tc.max})
		if int64(len(r.Body)) != tc.want || r.Truncated != tc.truncated || string(r.Body) != content[:len(r.Body)] {
			t.Errorf("limit %d, request %d: %d bytes, truncated %q; want %d, %q", tc.limit, tc.max, len(r.Body), r.Truncated, tc.want, tc.truncated)
		}
	}
	r := libtest.Get(t, fetcher(t, dir), "file://"+dir+"/empty")
	if r.Status.Code != model.ProtocolSuccess || len(r.Body) != 0 || r.Truncated != "" {
		t.Errorf("empty file: %v %q", r.Status, r.Body)
	}
	r = libtest.Fetch(t, fetcher(t, dir), &protocol.Request{URL: "file://" + dir + "/big", Timeout: 1})
	if r.Truncated != "time" || r.Status.Code != model.ProtocolSuccess {
		t.Errorf("no time: %v, truncated %q", r.Status, r.Truncated)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, p := range []string{"/big", "/"} {
		if _, err := fetcher(t, dir).Fetch(ctx, &protocol.Request{URL: "file://" + dir + p}); !fault.Is(err, fault.Transient) {
			t.Errorf("%s, called off: %v", p, err)
		}
	}
}

// links parses a listing as a browser would and returns targets and texts.
func links(t *testing.T, page []byte) (hrefs, texts []string) {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(string(page)))
	if err != nil {
		t.Fatal(err)
	}
	for n := range doc.Descendants() {
		switch {
		case n.Type == html.ElementNode && n.Data == "a":
			hrefs = append(hrefs, n.Attr[0].Val)
			texts = append(texts, n.FirstChild.Data)
		case n.Type == html.ElementNode && n.Data == "script":
			t.Errorf("a name became a script: %s", page)
		}
	}
	return hrefs, texts
}

func TestListing(t *testing.T) {
	hostile := []string{`"><script>alert(1)<`, "javascript:alert(1)", "a&amp;b", "q?x=1", "h#f", "100%", "new\nline", "caf\u00e9", "bad\xff", "a:b", "..x", "'quote'", " space "}
	var entries []string
	for _, n := range hostile {
		entries = append(entries, "d/"+n)
	}
	dir := tree(t, append(entries, "d/sub/x", "d/zlink -> sub", "d/.git/x")...)
	if err := syscall.Mkfifo(dir+"/d/fifo", 0o644); err != nil {
		t.Fatal(err)
	}
	f := fetcher(t, dir)
	r := libtest.Get(t, f, "file://"+dir+"/d/")
	if r.Status.Code != model.ProtocolSuccess || r.ContentType != "text/html; charset=utf-8" {
		t.Fatalf("%v %q", r.Status, r.ContentType)
	}
	hrefs, texts := links(t, r.Body)
	base, err := parseURL(r.URL)
	if err != nil {
		t.Fatal(err)
	}
	reached := map[string]bool{}
	for i, h := range hrefs {
		target, err := base.Parse(h)
		if err != nil {
			t.Errorf("link %q: %v", h, err)
			continue
		}
		got := libtest.Get(t, f, target.String())
		if got.Status.Code == model.ProtocolSuccess && got.ContentType == "" {
			reached[strings.TrimPrefix(string(got.Body), "content of d/")] = true
		} else if got.Status.Code != model.ProtocolSuccess && texts[i] != "zlink" {
			t.Errorf("link %q: %v", h, got.Status)
		}
	}
	for _, n := range hostile {
		if n != "..x" && !reached[n] {
			t.Errorf("no link leads to %q", n)
		}
	}
	if diff := cmp.Diff([]string{"sub/", "zlink"}, texts[len(texts)-2:]); diff != "" || len(texts) != len(hostile)+1 {
		t.Errorf("%d texts, the last ones %s", len(texts), diff)
	}
	hidden := fetcher(t, dir, func(c *Config) { c.CrawlHidden = true })
	if _, texts := links(t, libtest.Get(t, hidden, "file://"+dir+"/d/").Body); len(texts) != len(hostile)+3 {
		t.Errorf("with hidden files: %q", texts)
	}
}

func TestListingLimits(t *testing.T) {
	dir := tree(t, "d/a", "d/b", "d/c", "d/e/")
	list := func(change ...func(*Config)) ([]string, *protocol.Response) {
		r := libtest.Get(t, fetcher(t, dir, change...), "file://"+dir+"/d/")
		_, texts := links(t, r.Body)
		return texts, r
	}
	if texts, r := list(); len(texts) != 4 || r.Truncated != "" {
		t.Errorf("%q, truncated %q", texts, r.Truncated)
	}
	if texts, r := list(func(c *Config) { c.MaxEntries = 3 }); len(texts) != 3 || r.Truncated != "length" {
		t.Errorf("max_entries: %q, truncated %q", texts, r.Truncated)
	}
	_, full := list()
	if texts, r := list(func(c *Config) { c.ContentLimit = setting.Size(len(full.Body)) }); len(texts) != 4 || r.Truncated != "" {
		t.Errorf("limit that is just enough: %q, truncated %q", texts, r.Truncated)
	}
	if texts, r := list(func(c *Config) { c.ContentLimit = setting.Size(len(full.Body) - 1) }); len(texts) != 3 || r.Truncated != "length" || !strings.HasSuffix(string(r.Body), "</html>\n") {
		t.Errorf("limit: %q, truncated %q", texts, r.Truncated)
	}
	if _, r := list(func(c *Config) { c.ContentLimit = 10 }); len(r.Body) != 10 || r.Truncated != "length" {
		t.Errorf("tiny limit: %q", r.Body)
	}
	up := func(c *Config) { c.CrawlParent = true }
	if texts, _ := list(up); texts[0] != "../" {
		t.Errorf("crawl_parent: %q", texts)
	}
	if _, texts := links(t, libtest.Get(t, fetcher(t, dir, up), "file://"+dir+"/").Body); cmp.Diff([]string{"d/"}, texts) != "" {
		t.Errorf("the root links out: %q", texts)
	}
}

func TestNew(t *testing.T) {
	dir := tree(t, "file", "l -> d", "d/x")
	env := func(js string) sdk.Env {
		return sdk.Env{Settings: sdk.Settings{Sections: map[string]json.RawMessage{"file": json.RawMessage(js)}}}
	}
	for _, r := range []string{dir, "file://" + dir, dir + "/", dir + "/l"} {
		ext, err := Plugin().New(env(`{"roots":["` + r + `"]}`))
		if err != nil {
			t.Fatalf("%s: %v", r, err)
		}
		if got, err := ext.Protocol.Fetch(t.Context(), &protocol.Request{URL: "file://" + dir + "/d/x"}); err != nil || got.Status.Code != model.ProtocolSuccess && r != dir+"/l" {
			t.Errorf("%s: %v %v", r, got, err)
		}
	}
	// A root that is a link is reached under both names.
	f := fetcher(t, dir+"/l")
	if r := libtest.Get(t, f, "file://"+dir+"/l/x"); r.Location != "file://"+dir+"/d/x" {
		t.Errorf("%v", r.Status)
	}
	if r := libtest.Get(t, f, "file://"+dir+"/d/x"); r.Status.Code != model.ProtocolSuccess {
		t.Errorf("%v", r.Status)
	}
	for _, js := range []string{`{"roots":["` + dir + `/none"]}`, `{"roots":["` + dir + `/file"]}`, `{"roots":[""]}`, `{"roots":["file://h/x"]}`, `{"max_entries":0}`, `{"content_limit":"10"}`} {
		if _, err := New(env(js)); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: error %v, want Invalid", js, err)
		}
	}
}

func TestManifest(t *testing.T) {
	m, err := manifest.Read("plugin.hcl", Plugin().Manifest)
	if err != nil {
		t.Fatal(err)
	}
	if m.ID != "protocol-file" || cmp.Diff([]string{"file"}, m.Provides[0].Schemes) != "" || cmp.Diff([]string{"file"}, m.Sections) != "" {
		t.Errorf("%+v", m)
	}
}

// The names and defaults here are those of the core's nutch-default.hcl.
func TestAgreesWithCore(t *testing.T) {
	file, diags := hclparse.NewParser().ParseHCLFile("../../nutch-default.hcl")
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	core := map[string]json.RawMessage{}
	for _, b := range file.Body.(*hclsyntax.Body).Blocks {
		if b.Type != "file" {
			continue
		}
		for name, a := range b.Body.Attributes {
			v, diags := a.Expr.Value(nil)
			js, err := ctyjson.Marshal(v, v.Type())
			if diags.HasErrors() || err != nil {
				t.Fatal(diags, err)
			}
			core[name] = js
		}
	}
	js, err := json.Marshal(core)
	if err != nil {
		t.Fatal(err)
	}
	var got Config
	d := json.NewDecoder(strings.NewReader(string(js)))
	d.DisallowUnknownFields()
	if err := d.Decode(&got); err != nil {
		t.Fatal(err)
	}
	want := DefaultConfig()
	want.Roots = []string{}
	if !reflect.DeepEqual(got, want) || len(core) != reflect.TypeFor[Config]().NumField() {
		t.Errorf("the core's section is %+v, the plugin's %+v", got, want)
	}
}

func FuzzFetchStaysBelowRoot(f *testing.F) {
	for _, s := range []string{"/a", "/../x", "/%2e%2e/x", "//", "/l/x", "/\x00", "?/../..", "/a/..", "%2f..%2f.."} {
		f.Add(s)
	}
	dir := f.TempDir()
	for p, c := range map[string]string{"root/a": "fine", "x": "SECRET"} {
		if err := os.MkdirAll(filepath.Dir(dir+"/"+p), 0o755); err != nil {
			f.Fatal(err)
		}
		if err := os.WriteFile(dir+"/"+p, []byte(c), 0o644); err != nil {
			f.Fatal(err)
		}
	}
	if err := os.Symlink("..", dir+"/root/l"); err != nil {
		f.Fatal(err)
	}
	cfg := DefaultConfig()
	cfg.Roots = []string{dir + "/root"}
	cfg.CrawlRedirectNoncanonial = false
	fetcher, err := NewFetcher(cfg)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, u := range []string{"file://" + dir + "/root" + s, "file:" + s, s} {
			r, err := fetcher.Fetch(t.Context(), &protocol.Request{URL: u, MaxBytes: 1 << 16})
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(r.Body), "SECRET") {
				t.Fatalf("%q reaches outside", u)
			}
		}
	})
}
