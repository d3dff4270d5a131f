package e2e

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gonutch/crawler/sdk/testsite"
)

// way is one by which a page may try to lead the crawler to an address or a file
// that is not for it. A new protocol adds its own ways here.
type way struct {
	name string
	// lead serves what leads there below path and returns what the front page has.
	lead func(out *testsite.Site, path, inner string) string
	// url is the record that must tell the reason; "" when there is to be none, and
	// front for that of the front page.
	url func(inner string) string
	// reason is in that record; without one, in the report of the run. "" when it is
	// enough that nothing goes inside.
	reason string
	// config is added to site.hcl; ways of one config share a crawl.
	config string
}

func linkTo(target string) func(*testsite.Site, string, string) string {
	return func(_ *testsite.Site, _, inner string) string {
		return `<a href="` + strings.ReplaceAll(target, "INNER", inner) + `">x</a>`
	}
}

func at(target string) func(string) string {
	return func(inner string) string { return strings.ReplaceAll(target, "INNER", inner) }
}

// withPort is a link to another spelling of an inner address.
func withPort(host, path string) func(string) string {
	return func(inner string) string { return "http://" + host + inner[strings.LastIndexByte(inner, ':'):] + path }
}

func spelled(name, host string) way {
	url := withPort(host, "/"+name)
	return way{
		name: name, url: url, reason: "is loopback: refused",
		lead: func(_ *testsite.Site, _, inner string) string { return `<a href="` + url(inner) + `">x</a>` },
	}
}

// front stands for the URL of the front page.
const front = "front"

const followAtOnce = "http { redirect_max = 5 }\n"

func ways() []way {
	redirect := func(code int) func(*testsite.Site, string, string) string {
		return func(out *testsite.Site, path, inner string) string {
			out.Redirect(path, code, "http://"+inner+path)
			return `<a href="` + path + `">x</a>`
		}
	}
	refresh := func(out *testsite.Site, path, inner string) string {
		out.Page(path, `<meta http-equiv="refresh" content="0;url=http://`+inner+path+`">x`)
		return `<a href="` + path + `">x</a>`
	}
	out := []way{
		{name: "link", lead: linkTo("http://INNER/link"), url: at("http://INNER/link"), reason: "is loopback: refused"},
		{name: "frame", lead: func(_ *testsite.Site, _, inner string) string {
			return `<iframe src="http://` + inner + `/frame"></iframe>`
		}, url: at("http://INNER/frame"), reason: "is loopback: refused"},
		{name: "https", lead: linkTo("https://INNER/https"), url: at("https://INNER/https"), reason: "is loopback: refused"},
		{name: "redirect", lead: redirect(302), url: at("http://INNER/redirect"), reason: "is loopback: refused"},
		{name: "redirect followed at once", lead: redirect(301), url: at("http://INNER/redirect%20followed%20at%20once"), reason: "is loopback: refused", config: followAtOnce},
		{name: "refresh", lead: refresh, url: at("http://INNER/refresh"), reason: "is loopback: refused"},
		{name: "refresh-at-once", lead: refresh, url: at("http://INNER/refresh-at-once"), reason: "is loopback: refused", config: followAtOnce},
		{name: "robots", lead: func(out *testsite.Site, _, inner string) string {
			out.Redirect("/robots.txt", 302, "http://"+inner+"/robots.txt")
			return ""
		}, url: at(front), reason: "is loopback: refused", config: "# robots.txt leads inside\n"},
		{name: "sitemap", lead: func(out *testsite.Site, _, inner string) string {
			out.Robots("User-agent: *\nAllow: /\nSitemap: http://" + inner + "/sitemap.xml\n")
			return ""
		}, url: at(""), config: "# a sitemap leads inside\n"},
		{name: "private", lead: linkTo("http://10.0.0.1/"), url: at("http://10.0.0.1/"), reason: "is private: refused"},
		{name: "metadata", lead: linkTo("http://169.254.169.254/latest/"), url: at("http://169.254.169.254/latest/"), reason: "is cloud metadata: refused"},
		{name: "unspecified", lead: linkTo("http://0.0.0.0/"), url: at("http://0.0.0.0/"), reason: "is unspecified: refused"},
		{name: "nat64", lead: linkTo("http://[64:ff9b::7f00:1]/"), url: at("http://[64:ff9b::7f00:1]/"), reason: "is loopback: refused"},
		{name: "file", lead: linkTo("file:///etc/passwd"), url: at(""), reason: "file_link"},
		{name: "file-redirect", lead: func(out *testsite.Site, path, _ string) string {
			out.Redirect(path, 302, "file:///etc/passwd")
			return `<a href="` + path + `">x</a>`
		}, url: at(""), reason: "redirect_file_link"},
		{name: "file-seed", lead: linkTo("FILE:/etc/passwd"), url: at(""), reason: "file_link", config: "file { roots = [\"/etc\"] }\n"},
		{name: "gopher", lead: linkTo("gopher://INNER/x"), url: at("gopher://INNER/x"), reason: "no protocol plugin"},
	}
	for name, host := range map[string]string{
		"mapped": "[::ffff:127.0.0.1]", "decimal": "2130706433", "octal": "0177.0.0.1", "hexadecimal": "0x7f.1", "short": "127.1", "localhost": "localhost",
	} {
		out = append(out, spelled(name, host))
	}
	return out
}

// TestNothingInside tries every way into the network and the files of the machine
// that a page, a redirect, robots.txt or a sitemap has. Nothing inside is ever
// connected to, and the reason stands in the record or in the report. Names whose
// addresses change are tested where they are resolved, in protocol-http.
func TestNothingInside(t *testing.T) {
	groups := map[string][]way{}
	for _, w := range ways() {
		groups[w.config] = append(groups[w.config], w)
	}
	for config, group := range groups {
		t.Run(strings.TrimSpace(config), func(t *testing.T) {
			inner := testsite.Start(t, testsite.Options{Addrs: []string{"127.0.0.2", "127.0.0.1"}})
			outer := testsite.Start(t, testsite.Options{})
			page := "<title>front</title>"
			for _, w := range group {
				page += w.lead(outer.Site(), "/"+strings.ReplaceAll(w.name, " ", "%20"), inner.Addr())
			}
			outer.Site().Page("/", page)
			file := filepath.Join(t.TempDir(), "site.hcl")
			text := config + `plugin { remove = ["urlfilter-validator", "urlfilter-regex", "urlnormalizer-basic", "urlnormalizer-regex"] }
fetcher {
  server_delay  = "0s"
  release_after = "0s"
}
store { low_water = "0" }
log { level = "error" }
`
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			dir := filepath.Join(t.TempDir(), "crawl")
			common := []string{"--config", file, "--dir", dir}
			report := mustRun(t, append([]string{
				"run", "--seeds", outer.Site().URL("/"), "--rounds", "4",
				"-D", "http.agent_name=testbot", "-D", "http.agent_url=http://example.org/bot",
			}, common...)...)
			if outer.Site().Count("/") != 1 {
				t.Fatalf("the front page was asked for %d times\n%s", outer.Site().Count("/"), report)
			}
			for _, w := range group {
				url := w.url(inner.Addr())
				if url == front {
					url = outer.Site().URL("/")
				}
				if url == "" {
					if !strings.Contains(report, w.reason) {
						t.Errorf("%s: the report does not tell %q:\n%s", w.name, w.reason, report)
					}
					continue
				}
				if rec := mustRun(t, append([]string{"readdb", "--url", url}, common...)...); !strings.Contains(rec, w.reason) {
					t.Errorf("%s: the record of %s does not tell %q:\n%s", w.name, url, w.reason, rec)
				}
			}
			if total, _ := inner.Connections("127.0.0.1"); total != 0 {
				t.Errorf("%d connections went inside: %v", total, inner.Requests())
			}
		})
	}
}

// TestNothingInsideByProxy: the proxy would connect to anything; the crawler
// doesn't ask it to.
func TestNothingInsideByProxy(t *testing.T) {
	proxy := testsite.Start(t, testsite.Options{})
	proxy.Host("site.example").Page("/", `<a href="http://10.1.2.3/">a</a><a href="http://2130706433/x">b</a><a href="http://localhost/y">c</a><a href="http://[::1]/z">d</a><a href="/r">e</a>`).
		Redirect("/r", 302, "http://169.254.169.254/").Handle("/robots.txt", http.NotFound)
	file := site(t, proxy.Addr(), "plugin { remove = [\"urlfilter-validator\", \"urlfilter-regex\"] }\nfetcher { server_delay = \"0s\" }\n")
	dir := filepath.Join(t.TempDir(), "crawl")
	mustRun(t, "run", "--config", file, "--dir", dir, "--seeds", "http://site.example/", "--rounds", "3")
	for url, reason := range map[string]string{
		"http://10.1.2.3/": "is private: refused", "http://localhost/y": "is loopback: refused", "http://[::1]/z": "is loopback: refused",
		"http://169.254.169.254/": "is cloud metadata: refused", "http://2130706433/x": "is loopback: refused",
	} {
		if rec := mustRun(t, "readdb", "--config", file, "--dir", dir, "--url", url); !strings.Contains(rec, reason) {
			t.Errorf("the record of %s does not tell %q:\n%s", url, reason, rec)
		}
	}
	for _, r := range proxy.Requests() {
		if r.Host != "site.example" {
			t.Errorf("the proxy was asked for %s", fmt.Sprint(r.Host, r.Path))
		}
	}
}
