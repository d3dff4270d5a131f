package e2e

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gonutch/crawler/sdk/testsite"
	"github.com/gonutch/crawler/sdk/testsite/ftpsite"
)

// deadAddr returns an address of this machine where no server listens.
func deadAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// TestOutages: what a crawl needs besides the site itself and does not get costs the pages
// that need it; each says why and what to do, and the rest of the crawl goes on.
func TestOutages(t *testing.T) {
	s := testsite.Start(t, testsite.Options{})
	site, login := s.Site(), testsite.Login{User: "me", Password: "right", Realm: "wiki"}
	site.Page("/", "<title>Fine</title><p>fine")
	site.Basic("/basic/", login, "<p>inside")
	form := &testsite.FormLogin{Page: "/login", User: "me", Password: "right"}
	site.Form(form).Protected("/form/", form, "<p>inside")
	for _, p := range []string{"/x.ext", "/y.ext"} {
		site.File(p, "text/x-ext", []byte("some words"))
	}
	site.File("/x.tika", "application/x-tika", []byte("some words"))
	port := s.Port()
	hang := ftpsite.StartScript(t, map[string]string{"FEAT": "211 none", "RETR /robots.txt": "550 none", "CWD /robots.txt": "550 none"}, "half a file"+ftpsite.Hang)
	files := ftpsite.Start(t, ftpsite.Plain, map[string]string{"a.txt": "words"})
	s3 := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/xml")
		w.WriteHeader(http.StatusForbidden)
		_, _ = fmt.Fprint(w, `<?xml version="1.0"?><Error><Code>SignatureDoesNotMatch</Code><Message>The request signature we calculated does not match the signature you provided.</Message></Error>`)
	}))
	t.Cleanup(s3.Close)
	proxy := deadAddr(t)
	proxyHost, proxyPort, _ := strings.Cut(proxy, ":")
	jar := writeFile(t, t.TempDir(), "tika.jar", "this is no jar")
	siteBlock := func(more string) string {
		return fmt.Sprintf("plugin \"protocol-http\" {\n  site \"wiki\" {\n    hosts = [\"127.0.0.1:%d\"]\n    username = \"me\"\n    password = \"wrong\"\n%s  }\n}\n", port, more)
	}
	program := func(name, format string, command ...string) string {
		return fmt.Sprintf("plugin { add = [\"parse-ext\"] }\nplugin \"parse-ext\" {\n  program %q {\n    types = [\"text/x-ext\"]\n    command = [%s]\n    time_limit = \"1s\"\n    format = %q\n  }\n}\n", name, quoted(command), format)
	}
	for name, c := range map[string]struct {
		config string
		args   []string
		url    string
		status string   // in crawl.log
		words  []string // of the explanation
		lost   bool     // the other page is lost, too
	}{
		"password wrong": {config: siteBlock(""), url: site.URL("/basic/"), status: "access_denied", words: []string{"401", `site "wiki"`}},
		"form's password wrong": {
			config: siteBlock("    login_url = \"" + site.URL("/login") + "\"\n"), url: site.URL("/form/"), status: "exception",
			words: []string{`login at site "wiki"`, "wrong user name or password"}, lost: true,
		},
		"proxy down": {
			args: []string{"-D", "http.proxy_host=" + proxyHost, "-D", "http.proxy_port=" + proxyPort}, url: site.URL("/x.ext"), // its host waits, as its robots.txt can't be had
			words: []string{"proxy", proxy, "connection refused"}, lost: true,
		},
		"FTP hangs": {
			config: "plugin { add = [\"protocol-ftp\"] }\nplugin \"protocol-ftp\" { timeout = \"2s\" }\n", url: "ftp://" + hang.Addr() + "/a.txt", status: "success",
			words: []string{"truncated", "time"},
		},
		"FTP password wrong": {
			config: "plugin { add = [\"protocol-ftp\"] }\nplugin \"protocol-ftp\" {\n  username = \"me\"\n  password = \"wrong\"\n  login_hosts = [\"127.0.0.1\"]\n}\n",
			url:    files.URL("ftp", "/a.txt"), status: "access_denied", words: []string{"log in", "530"},
		},
		"S3 keys wrong": {
			config: fmt.Sprintf("plugin { add = [\"protocol-s3\"] }\nplugin \"protocol-s3\" {\n  endpoint = %q\n  region = \"us-east-1\"\n  access_key = \"KEY\"\n  secret_key = \"wrong\"\n}\n", s3.URL),
			url:    "s3://docs/a.txt", status: "access_denied", words: []string{"SignatureDoesNotMatch", "secret_key"},
		},
		"S3 down": {
			config: fmt.Sprintf("plugin { add = [\"protocol-s3\"] }\nplugin \"protocol-s3\" {\n  endpoint = %q\n  region = \"us-east-1\"\n}\n", "http://"+deadAddr(t)),
			url:    "s3://docs/a.txt", status: "exception", words: []string{"connection refused"},
		},
		"program fails":        {config: program("conv", "text", "/bin/sh", "-c", "echo out of paper >&2; exit 3"), url: site.URL("/x.ext"), status: "success", words: []string{`program "conv": exit status 3: out of paper`}},
		"program runs forever": {config: program("conv", "text", "/bin/sh", "-c", "sleep 600"), url: site.URL("/x.ext"), status: "success", words: []string{`program "conv": took longer than 1s`}},
		"program writes noise": {config: program("conv", "json", "/bin/sh", "-c", "head -c 100000 /dev/urandom"), url: site.URL("/x.ext"), status: "success", words: []string{`program "conv": `}},
		"Tika down":            {config: fmt.Sprintf("plugin { add = [\"parse-tika\"] }\nplugin \"parse-tika\" { url = %q }\n", "http://"+deadAddr(t)), url: site.URL("/x.tika"), status: "success", words: []string{"Tika server", "connection refused"}},
		"jar is none":          {config: fmt.Sprintf("plugin { add = [\"parse-tika\"] }\nplugin \"parse-tika\" { jar = %q }\n", jar), url: site.URL("/x.tika"), status: "success", words: []string{"Tika server", "jar"}},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMirror(t, c.config)
			m.args = append(m.args, c.args...)
			m.crawler("run", "--seeds", site.URL("/"), "--seeds", c.url, "--rounds", "1", "-D", `plugin.urlfilter-regex.rules=["+."]`)
			want := map[string]string{c.url: c.status, site.URL("/"): "success"}
			if c.lost {
				delete(want, site.URL("/"))
			}
			m.wants(name, want)
			m.explains(c.url, c.words...)
			if !c.lost {
				m.explains(site.URL("/"), "its document is in main")
			}
		})
	}
}
