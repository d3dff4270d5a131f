package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gonutch/crawler/sdk/testsite/ftpsite"
	"github.com/gonutch/crawler/sdk/testsite/s3site"
)

// fetches returns protocol status and URL of each line of a crawl's crawl.log.
func fetches(t *testing.T, dir string) map[string]string {
	t.Helper()
	log, err := os.ReadFile(filepath.Join(dir, "crawl.log"))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for line := range strings.Lines(string(log)) {
		if f := strings.Split(line, "\t"); len(f) > 7 {
			out[f[7]] = f[2]
		}
	}
	return out
}

// mirror crawls and judges what came of each URL.
type mirror struct {
	t    *testing.T
	args []string
	dir  string
}

func newMirror(t *testing.T, config string) *mirror {
	tmp := t.TempDir()
	m := &mirror{t: t, dir: filepath.Join(tmp, "crawl")}
	m.args = []string{"--dir", m.dir, "--config", writeFile(t, tmp, "site.hcl", `
http {
  agent_name = "testbot"
  agent_url  = "http://example.org/bot"
  tls_certificates_check = false
}
fetcher { server_delay = "0s" }
store { low_water = "0" }
log { level = "error" }
plugin "urlfilter-regex" { rules = ["+^(ftps?|s3)://"] } # the built-in rules take http, https and file only
`+config)}
	return m
}

func (m *mirror) crawler(args ...string) string {
	m.t.Helper()
	return mustRun(m.t, append(args, m.args...)...)
}

// wants fails for URLs that did not end as told.
func (m *mirror) wants(when string, want map[string]string) {
	m.t.Helper()
	got := fetches(m.t, m.dir)
	for url, status := range want {
		if got[url] != status {
			m.t.Errorf("%s: %s ended as %q, want %q", when, url, got[url], status)
		}
	}
	if err := os.Truncate(filepath.Join(m.dir, "crawl.log"), 0); err != nil {
		m.t.Fatal(err)
	}
}

// explains fails when the explanation of a URL lacks one of the texts.
func (m *mirror) explains(url string, texts ...string) {
	m.t.Helper()
	out := m.crawler("explain", url)
	for _, text := range texts {
		if !strings.Contains(out, text) {
			m.t.Errorf("explain %s lacks %q:\n%s", url, text, out)
		}
	}
}

// TestFTPMirror crawls a server by FTP, FTP that becomes TLS, and FTPS, twice: listings are
// followed, robots.txt is kept to, and what has not changed is not read again.
func TestFTPMirror(t *testing.T) {
	for mode, scheme := range map[ftpsite.Mode]string{ftpsite.Plain: "ftp", ftpsite.Explicit: "ftp", ftpsite.Implicit: "ftps"} {
		t.Run(string(mode), func(t *testing.T) {
			s := ftpsite.Start(t, mode, map[string]string{
				"robots.txt": "User-agent: *\nDisallow: /private/\n", "private/x.txt": "secret", "readme.txt": "a distinctive mirror",
				"pub/a.html": `<title>A</title><a href="b%20c.txt">b</a> <a href="../none.txt">none</a>`, "pub/b c.txt": "text of b", "pub/deep/é.txt": "accent",
			})
			tls := "never"
			if mode == ftpsite.Explicit {
				tls = "always"
			}
			m := newMirror(t, fmt.Sprintf("plugin { add = [\"protocol-ftp\"] }\nplugin \"protocol-ftp\" { tls = %q }\n", tls))
			u := func(path string) string { return s.URL(scheme, path) }
			m.crawler("run", "--seeds", u("/"), "--rounds", "4")
			m.wants("first round", map[string]string{
				u("/"): "success", u("/readme.txt"): "success", u("/pub/"): "success", u("/pub/a.html"): "success", u("/pub/b%20c.txt"): "success",
				u("/pub/deep/"): "success", u("/pub/deep/%C3%A9.txt"): "success", u("/none.txt"): "notfound", u("/private/"): "robots_denied",
			})
			for _, c := range s.Commands() {
				if strings.Contains(c, "private") {
					t.Errorf("the server was asked %q", c)
				}
			}
			if out := m.crawler("search", "distinctive mirror"); !strings.Contains(out, u("/readme.txt")) {
				t.Errorf("search: %s", out)
			}
			m.explains(u("/readme.txt"), "success(1), HTTP 200", "no rule of "+u("/robots.txt")+" matches", "its document is in main")
			m.explains(u("/private/"), "robots.txt:2", "Disallow: /private/", "robots_denied")
			m.explains(u("/none.txt"), "notfound(14)", "it is gone")

			// A month later one file is another.
			s.ResetLog()
			later := time.Now().Add(48 * time.Hour)
			if err := os.WriteFile(filepath.Join(s.Dir, "readme.txt"), []byte("a changed mirror"), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(filepath.Join(s.Dir, "readme.txt"), later, later); err != nil {
				t.Fatal(err)
			}
			m.crawler("run", "--adddays", "31", "--rounds", "1")
			m.wants("second round", map[string]string{
				u("/"): "success", u("/readme.txt"): "success", u("/pub/a.html"): "notmodified", u("/pub/b%20c.txt"): "notmodified", u("/pub/deep/%C3%A9.txt"): "notmodified",
			})
			if c := s.Commands(); slices.Contains(c, "RETR /pub/a.html") || !slices.Contains(c, "RETR /readme.txt") {
				t.Errorf("in the second round the server was asked %q", c)
			}
			m.explains(u("/pub/a.html"), "notmodified", "db_notmodified")
			if out := m.crawler("search", "changed mirror"); !strings.Contains(out, u("/readme.txt")) {
				t.Errorf("search after the change: %s", out)
			}
		})
	}
}

// TestS3Mirror crawls a bucket twice, and once more when an object is gone.
func TestS3Mirror(t *testing.T) {
	s := s3site.Start(t, map[string]string{
		"readme.txt": "a distinctive bucket", "pub/a.html": `<title>A</title><a href="b%20c.txt">b</a> <a href="../none.txt">none</a>`,
		"pub/b c.txt": "text of b", "pub/deep/é.txt": "accent", "other/x.txt": "not below the seed",
	})
	m := newMirror(t, fmt.Sprintf(`plugin { add = ["protocol-s3"] }
plugin "protocol-s3" {
  endpoint   = %q
  region     = "us-east-1"
  access_key = "KEY"
  secret_key = "secret"
}
`, s.URL))
	m.crawler("run", "--seeds", "s3://docs/readme.txt", "--seeds", "s3://docs/pub/", "--rounds", "4")
	m.wants("first round", map[string]string{
		"s3://docs/readme.txt": "success", "s3://docs/pub/": "success", "s3://docs/pub/a.html": "success", "s3://docs/pub/b%20c.txt": "success",
		"s3://docs/pub/deep/": "success", "s3://docs/pub/deep/%C3%A9.txt": "success", "s3://docs/none.txt": "notfound", "s3://docs/other/x.txt": "",
	})
	for _, r := range s.Requests() {
		if r.Method != "GET" && r.Method != "HEAD" || r.Key != "KEY" {
			t.Errorf("%s %s, signed by %q", r.Method, r.Path, r.Key)
		}
	}
	if out := m.crawler("search", "distinctive bucket"); !strings.Contains(out, "s3://docs/readme.txt") {
		t.Errorf("search: %s", out)
	}
	m.explains("s3://docs/readme.txt", "success(1), HTTP 200", "its document is in main")
	m.explains("s3://docs/none.txt", "notfound(14): NoSuchKey", "it is gone")

	s.Put(t, "readme.txt", "a changed bucket")
	s.ResetLog()
	m.crawler("run", "--adddays", "31", "--rounds", "1")
	m.wants("second round", map[string]string{"s3://docs/readme.txt": "success", "s3://docs/pub/": "success", "s3://docs/pub/a.html": "notmodified", "s3://docs/pub/b%20c.txt": "notmodified"})
	for _, r := range s.Requests() {
		if strings.HasPrefix(r.Path, "/docs/pub/a.html") && r.Status != 304 {
			t.Errorf("%s %s was answered %d", r.Method, r.Path, r.Status)
		}
	}
	m.explains("s3://docs/pub/a.html", "db_notmodified")
	if out := m.crawler("search", "changed bucket"); !strings.Contains(out, "s3://docs/readme.txt") {
		t.Errorf("search after the change: %s", out)
	}

	s.Remove(t, "readme.txt")
	m.crawler("run", "--adddays", "62", "--rounds", "1")
	m.wants("third round", map[string]string{"s3://docs/readme.txt": "notfound", "s3://docs/pub/": "success", "s3://docs/pub/a.html": "notmodified"})
	m.explains("s3://docs/readme.txt", "db_gone", "notfound(14): NoSuchKey", "it is gone")
	if out := m.crawler("search", "changed bucket"); !strings.Contains(out, "no results") {
		t.Errorf("search for what is gone: %s", out)
	}
}
