package e2e

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// nutchCrawl unpacks a crawl that Apache Nutch made.
func nutchCrawl(t *testing.T, name string) string {
	t.Helper()
	f, err := os.Open(filepath.Join("..", "internal", "importnutch", "testdata", "crawls", name+".tgz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return filepath.Join(dir, name)
		}
		if err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(dir, filepath.FromSlash(h.Name))
		if h.Typeflag == tar.TypeDir {
			err = os.MkdirAll(to, 0o755)
		} else {
			var b []byte
			if b, err = io.ReadAll(r); err == nil {
				err = os.WriteFile(to, b, 0o644)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// askedSite is a web that answers every URL with a page and notes what it was asked for.
type askedSite struct {
	mu    sync.Mutex
	asked map[string]int
}

func (s *askedSite) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasSuffix(r.URL.Path, "/robots.txt") {
		http.NotFound(w, r)
		return
	}
	s.mu.Lock()
	s.asked["http://"+r.Host+r.URL.RequestURI()]++
	s.mu.Unlock()
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	fmt.Fprintf(w, "<html><head><title>Anew</title></head><body>kingfisher at %s</body></html>", r.URL.Path)
}

// TestImportNutch brings a crawl over and goes on with it. Nutch made it on 1 December 2026; its pages are due in 2056,
// but for the home page (every second), one that failed (the next day) and one of an interval of a thousand days.
func TestImportNutch(t *testing.T) {
	web := &askedSite{asked: map[string]int{}}
	srv := httptest.NewServer(web)
	defer srv.Close()
	from, dir := nutchCrawl(t, "plain"), filepath.Join(t.TempDir(), "crawl")
	config := site(t, srv.Listener.Addr().String(), "fetcher {\n  server_delay = \"0s\"\n}\ndb {\n  fetch_interval_max = \"30000d\"\n}\nlinkdb {\n  ignore_internal_links = false\n}\n")
	call := func(args ...string) string {
		return mustRun(t, append(args, "--config", config, "--dir", dir)...)
	}
	const home = "http://www.nutch.test/"

	call("import", "nutch", from, "--dry-run")
	if _, err := os.Stat(dir); err == nil {
		t.Fatal("a dry run made the crawl directory")
	}
	var rep struct {
		Records  int64
		ByStatus map[string]int64
		Segments []struct {
			ID, State string
			Open      int64
		}
		Inlinks int64
	}
	if out := call("import", "nutch", from, "--json"); json.Unmarshal([]byte(out), &rep) != nil || rep.Records != 16 || rep.Inlinks != 18 || len(rep.Segments) != 4 || rep.Segments[2].Open != 4 {
		t.Fatalf("%s", out)
	}
	if _, errOut, code := run(t, "import", "nutch", from, "--config", config, "--dir", dir); code != 2 || !strings.Contains(errOut, "has content, which is not overwritten") {
		t.Errorf("into a crawl that is there: exit code %d\n%s", code, errOut)
	}
	for _, c := range []struct{ args, want string }{
		{"readdb --stats", "status 7 (db_duplicate):     1"},
		{"readdb --url " + home + "news.html", "3448b57ef8ace0e1b75b097b300545aa"},
		{"readdb --url " + home, "m.double=-2.5E-7"},
		{"readseg --list", "parsed, 4 to do"},
		{"readseg --get " + rep.Segments[1].ID + " " + home + "news.html", "Today's bittern news to about.html"},
		{"readlinkdb --url " + home + "about.html", "fromUrl: " + home + "news.html anchor: to about.html"},
		{"explain " + home + "gone.html", "notfound(14)"},
		{"explain " + home + "new.html", "its outcome is applied by"},
		{"warc export " + filepath.Join(t.TempDir(), "warc"), "14 answers"},
		{"reindex", "indexed      5 pages"},
		{"search bittern", home + "news.html"},
		{"db check", "0 problems"},
	} {
		if out := call(strings.Fields(c.args)...); !strings.Contains(out, c.want) {
			t.Errorf("%s: no %q in\n%s", c.args, c.want, out)
		}
	}
	if len(web.asked) > 0 {
		t.Errorf("asked for %v before the run", web.asked)
	}

	// As if it were the third of December, or now when that is later.
	days := max(0, int(time.Until(time.Date(2026, 12, 3, 0, 0, 0, 0, time.UTC))/(24*time.Hour))+1)
	call("run", "--rounds", "2", "--adddays", fmt.Sprint(days))
	delete(web.asked, home+"deep/two.html") // of a thousand days: due in 2029
	want := []string{home, home + "broken", home + "notes.txt"}
	if got := slices.Sorted(maps.Keys(web.asked)); !slices.Equal(got, want) {
		t.Errorf("asked for %v, want %v: what is due, and what a page brought that was fetched before the import", got, want)
	}
	for words, url := range map[string]string{"kingfisher": home + "broken", "egrets": home + "new.html", "spoonbill": home + "deep/one.html"} {
		if out := call("search", words); !strings.Contains(out, url) {
			t.Errorf("search %s: no %s in\n%s", words, url, out)
		}
	}
	if out := call("readdb", "--url", home+"notes.txt"); !strings.Contains(out, "db_fetched") || !strings.Contains(out, "from "+home+"new.html") {
		t.Errorf("%s", out)
	}
	if out := call("readdb", "--stats"); !strings.Contains(out, "in fetch lists:              0") {
		t.Errorf("%s", out)
	}
	if out := call("db", "check"); !strings.Contains(out, "0 problems") {
		t.Errorf("%s", out)
	}
}

// TestImportNutchDamaged leaves nothing behind.
func TestImportNutchDamaged(t *testing.T) {
	from, into := nutchCrawl(t, "block-zstd"), t.TempDir()
	segs, err := filepath.Glob(filepath.Join(from, "segments", "*", "content", "part-r-00000", "data"))
	if err != nil || len(segs) != 1 {
		t.Fatal(segs, err)
	}
	b, err := os.ReadFile(segs[0])
	if err == nil {
		err = os.WriteFile(segs[0], b[:len(b)/2], 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	_, errOut, code := run(t, "import", "nutch", from, "--dir", filepath.Join(into, "crawl"))
	if code != 1 || !strings.Contains(errOut, segs[0]+": ") || !strings.Contains(errOut, "at byte ") {
		t.Errorf("exit code %d\n%s", code, errOut)
	}
	if left, err := os.ReadDir(into); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	for args, want := range map[string]string{
		"import":               "want import nutch DIR",
		"import nutch " + into: "has no crawldb, linkdb or segments",
		"import nutch " + from + " --max-record 1x": "--max-record",
	} {
		if _, errOut, code := run(t, strings.Fields(args)...); code != 2 || !strings.Contains(errOut, want) {
			t.Errorf("%s: exit code %d, want 2\n%s", args, code, errOut)
		}
	}
}
