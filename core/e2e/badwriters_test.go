package e2e

import (
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestBadWriters: mistakes in the configuration of index writers and exchanges, as far as they or
// their servers can tell, are told with the line, and no secret with it. Nothing is lost by them.
func TestBadWriters(t *testing.T) {
	web := &pages{hosts: 1, perHost: 2}
	addr := serve(t, web)
	dir := filepath.Join(t.TempDir(), "crawl")
	mustRun(t, "run", "--config", site(t, addr, ""), "--dir", dir, "--seeds", "http://h0.test/", "-D", "indexer.enabled=false")

	servers := http.NewServeMux()
	servers.HandleFunc("/elastic/", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/elastic/" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		_, _ = fmt.Fprint(w, `{"version": {"number": "2.19.6", "distribution": "opensearch"}}`)
	})
	servers.HandleFunc("/denied/", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = fmt.Fprint(w, `{"error": {"type": "security_exception", "reason": "who are you?"}, "status": 401}`)
	})
	servers.HandleFunc("/", http.NotFound)
	plain, tls := httptest.NewServer(servers), httptest.NewTLSServer(servers)
	t.Cleanup(plain.Close)
	t.Cleanup(tls.Close)
	tmp := t.TempDir()
	ca := writeFile(t, tmp, "ca.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: tls.Certificate().Raw})))
	file := writeFile(t, tmp, "file", "x")
	// The parameters of a writer begin in line 11 of site.hcl.
	writer := func(plugin string, params ...string) string {
		return fmt.Sprintf("index_writer \"w\" { # 11\n  plugin = %q\n  %s\n}\n", plugin, strings.Join(params, "\n  "))
	}
	elastic := func(url string, more ...string) string {
		return writer("indexer-elastic", append([]string{fmt.Sprintf("url = [%q]", url), `index = "pages"`, "create = false", "retries = 0"}, more...)...)
	}
	jsonl := func(name string) string { return fmt.Sprintf("path = %q", filepath.Join(tmp, name)) }
	exchange := func(lines string) string {
		return writer("indexer-jsonl", jsonl("routed")) + "plugin { add = [\"exchange-jexl\"] }\nexchange \"x\" { # 16\n  plugin = \"exchange-jexl\"\n" + lines + "\n}\n"
	}
	for name, c := range map[string]struct {
		text  string
		code  int
		words []string
	}{
		"no scheme":         {elastic("localhost:9200"), 2, []string{"site.hcl:13:", `url "localhost:9200": want http://host:port`}},
		"no port":           {elastic("http://me:geheim@host:port"), 2, []string{"site.hcl:13:", "invalid port"}},
		"denied":            {elastic(plain.URL+"/denied", `username = "me"`, `password = "geheim"`), 2, []string{"site.hcl:12:", "HTTP 401", "who are you?"}},
		"two credentials":   {elastic(plain.URL, `username = "me"`, `token = "geheim"`), 2, []string{"site.hcl:18:", "token and username exclude each other"}},
		"no index":          {elastic(plain.URL + "/elastic"), 2, []string{"site.hcl:14:", `there is no index "pages"`, "create = true"}},
		"another server":    {elastic(plain.URL), 2, []string{"site.hcl:12:", "HTTP 404"}},
		"no such core":      {writer("indexer-solr", fmt.Sprintf("url = [%q]", plain.URL), `collection = "pages"`), 2, []string{"site.hcl:14:", `there is no core or collection "pages"`, "ends in /solr"}},
		"TLS missing":       {elastic(strings.Replace(tls.URL, "https:", "http:", 1) + "/elastic"), 2, []string{"site.hcl:12:", "HTTP request to an HTTPS server"}},
		"TLS too much":      {elastic(strings.Replace(plain.URL, "http:", "https:", 1)), 1, []string{"without TLS the address begins with http://", "waiting"}},
		"unknown authority": {elastic(tls.URL + "/elastic"), 1, []string{"certificate signed by unknown authority", "ca_file", "waiting"}},
		"no certificate":    {elastic(tls.URL, fmt.Sprintf("ca_file = %q", file)), 2, []string{"site.hcl:17:", "holds no PEM certificate"}},
		"key without":       {elastic(tls.URL, fmt.Sprintf("cert_file = %q", ca)), 2, []string{"site.hcl:17:", "cert_file and key_file go together"}},
		"broker's address":  {writer("indexer-rabbit", `server_uri = "amqp://me:geheim@host:port"`), 2, []string{"site.hcl:13:", "invalid port"}},
		"no folder":         {writer("indexer-jsonl", fmt.Sprintf("path = %q", filepath.Join(file, "x"))), 2, []string{"site.hcl:13:", "not a directory"}},
		"one folder":        {writer("indexer-jsonl", jsonl("one")) + strings.Replace(writer("indexer-csv", jsonl("one")), `"w"`, `"v"`, 1), 2, []string{"site.hcl:13:", "another index_writer writes into it"}},
		"no folder to make": {writer("indexer-bleve", fmt.Sprintf("path = %q", filepath.Join(file, "x"))), 2, []string{"site.hcl:13:", "not a directory"}},
		"mapping":           {writer("indexer-jsonl", jsonl("mapped"), "mapping {", "  rename = \"headline\"", "}"), 2, []string{"site.hcl:15:", "want a map of texts"}},
		"no expression":     {exchange("  writers = [\"w\"]\n  expr = \"doc.title =~ '['\""), 2, []string{"site.hcl:19:", "missing closing ]"}},
		"no such writer":    {exchange("  writers = [\"v\"]\n  expr = \"doc.title =~ 'x'\""), 2, []string{"site.hcl:18:", `there is no index_writer "v"`}},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "unknown authority" {
				c.text = strings.Replace(c.text, "create = false", "create = true", 1)
			}
			config := site(t, addr, c.text+"index_writer \"main\" { enabled = false }\nindexer {\n  retries = 0\n}\n")
			for _, command := range []string{"index", "search"} {
				args := []string{command, "--config", config, "--dir", dir}
				if command == "search" {
					if c.code != 2 || !strings.Contains(c.text, "indexer-elastic") {
						continue
					}
					args = append(args, "word")
				}
				badRun(t, c.code, c.words, args...)
				if out, errOut, _ := run(t, args...); strings.Contains(out+errOut, "geheim") {
					t.Errorf("the password is told:\n%s%s", out, errOut)
				}
			}
		})
	}
	good := filepath.Join(tmp, "good")
	config := site(t, addr, writer("indexer-jsonl", fmt.Sprintf("path = %q", good))+"index_writer \"main\" { enabled = false }\n")
	mustRun(t, "index", "--config", config, "--dir", dir)
	if d := cmp.Diff(len(web.urls()), len(replayed(t, good))); d != "" {
		t.Errorf("documents in the end (-want +got):\n%s", d)
	}
}

// TestFullTarget: a disk that is full leaves nothing partial behind in a writer's folder; when there
// is room again, what it lacks is sent.
func TestFullTarget(t *testing.T) {
	web := &pages{hosts: 4, perHost: 40}
	addr := serve(t, web)
	dir := filepath.Join(t.TempDir(), "crawl")
	mustRun(t, "run", "--config", site(t, addr, "fetcher {\n  server_delay = \"0s\"\n}\n"), "--dir", dir, "--seeds", "http://h0.test/", "-D", "indexer.enabled=false")
	disk := mount(t, "size=4k")
	resize := func(t *testing.T, size string) {
		t.Helper()
		if out, err := exec.Command("mount", "-o", "remount,size="+size, disk).CombinedOutput(); err != nil {
			t.Fatalf("remount: %s", out)
		}
	}
	for _, plugin := range []string{"jsonl", "csv", "parquet", "bleve"} {
		t.Run(plugin, func(t *testing.T) {
			resize(t, "4k")
			folder := filepath.Join(disk, plugin)
			config := site(t, addr, fmt.Sprintf("index_writer %q {\n  plugin = %q\n  path = %q\n}\nindex_writer \"main\" { enabled = false }\nindexer {\n  retries = 0\n}\n", plugin, "indexer-"+plugin, folder))
			common := []string{"--config", config, "--dir", dir}
			badRun(t, 1, []string{"no space left on device", "waiting", "crawler index --pending"}, append([]string{"reindex", "--writer", plugin}, common...)...)
			entries, _ := filepath.Glob(filepath.Join(folder, "*"))
			for _, e := range entries {
				if filepath.Base(e) != "store" {
					t.Errorf("%s is left behind", e)
				}
			}
			resize(t, "64m")
			mustRun(t, append([]string{"index", "--pending"}, common...)...)
			checked := mustRun(t, append([]string{"index", "--check"}, common...)...)
			if !strings.Contains(checked, fmt.Sprint("  ", len(web.urls()), " ")) {
				t.Errorf("not everything was sent:\n%s", checked)
			}
			if plugin == "jsonl" {
				if n := len(replayed(t, folder)); n != len(web.urls()) {
					t.Errorf("%d documents, want %d", n, len(web.urls()))
				}
			}
			if plugin == "bleve" {
				if n := len(searched(t, common...)); n != len(web.urls()) {
					t.Errorf("%d documents are found, want %d", n, len(web.urls()))
				}
			}
			if err := os.RemoveAll(folder); err != nil {
				t.Fatal(err)
			}
		})
	}
}
