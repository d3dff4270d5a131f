package e2e

import (
	"bufio"
	"encoding/json"
	"io/fs"
	"maps"
	"mime"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/maxmind/mmdbwriter"
	"github.com/maxmind/mmdbwriter/mmdbtype"

	"github.com/gonutch/crawler/core/internal/query"
	"github.com/gonutch/crawler/plugins"
	"github.com/gonutch/crawler/sdk/manifest"
	"github.com/gonutch/crawler/sdk/testsite"
)

const everything = "testdata/everything"

// TestEverything crawls the pages of testdata/everything/www with every plugin between
// fetch and index turned on, and compares each document that was indexed with
// testdata/everything/documents. CRAWLER_GOLDEN=write writes those anew.
func TestEverything(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("needs python3 for index-arbitrary")
	}
	server := testsite.Start(t, testsite.Options{})
	serveFolder(t, server, os.DirFS(filepath.Join(everything, "www")))
	host, port, err := net.SplitHostPort(server.Addr())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(everything)); err != nil {
		t.Fatal(err)
	}
	writePlaces(t, filepath.Join(dir, "places.mmdb"))
	// words.py of index-arbitrary is named relative to the working directory.
	crawler := func(args ...string) string {
		t.Helper()
		args = append(args, "--config", "site.hcl", "-D", "http.proxy_host="+host, "-D", "http.proxy_port="+port)
		out, errOut, code := runIn(t, dir, args...)
		if code != 0 {
			t.Fatalf("crawler %s: exit code %d\n%s\n%s", strings.Join(args, " "), code, out, errOut)
		}
		return out
	}
	allChosen(t, crawler("plugin", "list", "--json"))
	t.Log(crawler("run", "--seeds", "seeds.txt", "--rounds", "2"))

	got := indexed(t, filepath.Join(dir, "crawl", "plugins", "indexer-jsonl", "log"))
	want := goldenDocuments(t, got)
	if d := cmp.Diff(slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got))); d != "" {
		t.Errorf("URLs of documents (-want +got):\n%s", d)
	}
	for url, w := range want {
		if d := cmp.Diff(w, got[url]); d != "" {
			t.Errorf("%s (-want +got):\n%s", url, d)
		}
	}
	// The searchable index has them too.
	if out := crawler("search", "--json", "Harvest"); !strings.Contains(out, "http://www.example.org/news.rss#g1") {
		t.Errorf("search says %s", out)
	}
	// Each filter rejected its link of the first page.
	var page query.PageAnswer
	segments, err := filepath.Glob(filepath.Join(dir, "crawl", "segments", "*"))
	if err != nil || len(segments) != 2 {
		t.Fatalf("segments %v, %v", segments, err)
	}
	slices.Sort(segments)
	raw := crawler("readseg", "--get", "--nocontent", "--json", filepath.Base(segments[0]), "http://www.example.org/")
	if err := json.Unmarshal([]byte(raw), &page); err != nil || page.ParseData == nil {
		t.Fatalf("%v in %s", err, raw)
	}
	dropped := map[string]int64{
		"urlfilter-automaton": 1, "urlfilter-domain": 1, "urlfilter-domaindenylist": 1, "urlfilter-fast": 1, "urlfilter-prefix": 1,
		"urlfilter-regex": 1, "urlfilter-suffix": 1, "urlfilter-validator": 1, "external": 1, // no exemption
	}
	if d := cmp.Diff(dropped, page.ParseData.Dropped); d != "" {
		t.Errorf("dropped links (-want +got):\n%s", d)
	}
}

// serveFolder serves files as <host>/<path>; pages without .html, as links name them.
func serveFolder(t *testing.T, server *testsite.Server, files fs.FS) {
	t.Helper()
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		body, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		host, file, _ := strings.Cut(name, "/")
		contentType := map[string]string{".rss": "application/rss+xml"}[path.Ext(file)]
		if contentType == "" {
			contentType = mime.TypeByExtension(path.Ext(file))
		}
		route := "/" + strings.TrimSuffix(file, ".html")
		switch {
		case route == "/index":
			route = "/"
		case host == "docs.example.org":
			route += "/" // by urlnormalizer-slash
		}
		server.Host(host).Handle(route, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", contentType)
			w.Header().Set("Last-Modified", "Wed, 04 Mar 2026 05:06:07 GMT")
			w.Header().Set("X-Department", "tea")
			_, _ = w.Write(body)
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// writePlaces writes a database in MaxMind's format that knows one network.
func writePlaces(t *testing.T, file string) {
	t.Helper()
	tree, err := mmdbwriter.New(mmdbwriter.Options{DatabaseType: "GeoLite2-City", RecordSize: 24, IncludeReservedNetworks: true})
	if err != nil {
		t.Fatal(err)
	}
	_, network, err := net.ParseCIDR("203.0.113.0/24")
	if err != nil {
		t.Fatal(err)
	}
	named := func(name string, more mmdbtype.Map) mmdbtype.Map {
		more["names"] = mmdbtype.Map{"en": mmdbtype.String(name)}
		return more
	}
	if err := tree.Insert(network, mmdbtype.Map{
		"city":     named("London", mmdbtype.Map{"geoname_id": mmdbtype.Uint32(2643743)}),
		"country":  named("United Kingdom", mmdbtype.Map{"iso_code": mmdbtype.String("GB")}),
		"location": mmdbtype.Map{"latitude": mmdbtype.Float64(51.5142), "longitude": mmdbtype.Float64(-0.0931), "time_zone": mmdbtype.String("Europe/London")},
	}); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tree.WriteTo(f); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// allChosen checks that every built-in plugin of the points between fetch and index is
// in the chains that list, the output of plugin list, shows.
func allChosen(t *testing.T, list string) {
	t.Helper()
	var answer query.PluginsAnswer
	if err := json.Unmarshal([]byte(list), &answer); err != nil {
		t.Fatalf("%v in %s", err, list)
	}
	chosen := map[string]bool{}
	for _, p := range answer.Plugins {
		chosen[p.ID] = p.Chosen
	}
	points := []string{"urlfilter", "urlexemption", "urlnormalizer", "scoring", "parsefilter", "indexingfilter"}
	n := 0
	for _, b := range plugins.Builtins() {
		m, err := manifest.Read("plugin.hcl", b.Manifest)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(m.Provides, func(p manifest.Provide) bool { return slices.Contains(points, p.Point) }) {
			continue
		}
		n++
		if !chosen[m.ID] {
			t.Errorf("%s is not turned on in %s/site.hcl", m.ID, everything)
		}
	}
	if n < 50 {
		t.Errorf("only %d plugins of %v are built in", n, points)
	}
}

// document is what indexer-jsonl writes of one.
type document struct {
	Op     string              `json:"op"`
	ID     string              `json:"id"`
	Boost  float64             `json:"boost"`
	Fields map[string][]string `json:"fields"`
}

// indexed returns the documents that the files of an indexer-jsonl leave, by id. What
// depends on the time of the crawl becomes a word.
func indexed(t *testing.T, dir string) map[string]document {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no documents in %s (%v)", dir, err)
	}
	slices.Sort(files)
	out := map[string]document{}
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(f)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			var d document
			if err := json.Unmarshal(lines.Bytes(), &d); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			delete(out, d.ID)
			if d.Op == "add" {
				for field, form := range map[string]string{"tstamp": `^20\d\d-\d\d-\d\dT[\d:.]+Z$`, "segment": `^\d{14}`, "digest": `^[0-9a-f]{32}$`} {
					if v := d.Fields[field]; len(v) == 1 && regexp.MustCompile(form).MatchString(v[0]) {
						d.Fields[field] = []string{strings.ToUpper(field)}
					}
				}
				if d.Fields["lastModified"] == nil {
					d.Fields["date"] = []string{"DATE"} // the time it was fetched
				}
				out[d.ID] = d
			}
		}
		if err := lines.Err(); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// goldenDocuments reads the wanted documents, by id; with CRAWLER_GOLDEN=write it writes
// those of got first.
func goldenDocuments(t *testing.T, got map[string]document) map[string]document {
	t.Helper()
	folder := filepath.Join(everything, "documents")
	if os.Getenv("CRAWLER_GOLDEN") == "write" {
		name := regexp.MustCompile(`[^A-Za-z0-9.]+`)
		for url, d := range got {
			b, err := json.MarshalIndent(d, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			file := strings.Trim(name.ReplaceAllString(strings.TrimPrefix(url, "http://"), "-"), "-") + ".json"
			writeFile(t, folder, file, string(b)+"\n")
		}
	}
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]document{}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var d document
		if err := json.Unmarshal(b, &d); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		out[d.ID] = d
	}
	return out
}
