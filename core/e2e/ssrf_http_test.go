package e2e

import (
	"fmt"
	"net"
	"strings"

	"github.com/gonutch/crawler/sdk/testsite"
)

// spellings of the loopback address, by what they are.
func spellings() map[string]string {
	return map[string]string{
		"mapped": "[::ffff:127.0.0.1]", "decimal": "2130706433", "octal": "0177.0.0.1", "hexadecimal": "0x7f.1", "short": "127.1", "localhost": "localhost",
	}
}

// httpGroups are the ways of pages, redirects, robots.txt and sitemaps.
func httpGroups() []group {
	const target = "http://INNERPATH"
	refresh := onPage(`<meta http-equiv="refresh" content="0;url=http://INNERPATH">x`)
	plain := []way{
		{name: "link", lead: linkTo(target), url: at(target), reason: isLoopback},
		{name: "frame", lead: func(w *world) string { return w.fill(`<iframe src="http://INNERPATH"></iframe>`) }, url: at(target), reason: isLoopback},
		{name: "https", lead: linkTo("https://INNERPATH"), url: at("https://INNERPATH"), reason: isLoopback},
		{name: "redirect", lead: redirect(302, target), url: at(target), reason: isLoopback},
		{name: "refresh", lead: refresh, url: at(target), reason: isLoopback},
		{name: "private", lead: linkTo("http://10.0.0.1/"), url: at("http://10.0.0.1/"), reason: "is private: refused"},
		{name: "metadata", lead: linkTo("http://169.254.169.254/latest/"), url: at("http://169.254.169.254/latest/"), reason: "is cloud metadata: refused"},
		{name: "unspecified", lead: linkTo("http://0.0.0.0/"), url: at("http://0.0.0.0/"), reason: "is unspecified: refused"},
		{name: "nat64", lead: linkTo("http://[64:ff9b::7f00:1]/"), url: at("http://[64:ff9b::7f00:1]/"), reason: isLoopback},
		{name: "file", lead: linkTo("file:///etc/passwd"), reason: "file_link"},
		{name: "file redirect", lead: redirect(302, "file:///etc/passwd"), reason: "redirect_file_link"},
		{name: "gopher", lead: linkTo("gopher://INNER/x"), url: at("gopher://INNER/x"), reason: "no protocol plugin"},
	}
	for name, host := range spellings() {
		url := "http://" + host + ":PORTPATH"
		plain = append(plain, way{name: name, lead: linkTo(url), url: at(url), reason: isLoopback})
	}
	return []group{
		{name: "pages", ways: plain},
		{name: "redirects at once", config: lines("http { redirect_max = 5 }"), ways: []way{
			{name: "redirect at once", lead: redirect(301, target), url: at(target), reason: isLoopback},
			{name: "refresh at once", lead: refresh, url: at(target), reason: isLoopback},
		}},
		{name: "robots", ways: []way{{name: "robots", lead: func(w *world) string {
			w.out.Site().Redirect("/robots.txt", 302, w.fill("http://INNER/robots.txt"))
			return ""
		}, url: front, reason: isLoopback}}},
		{name: "sitemap", ways: []way{{name: "sitemap", lead: func(w *world) string {
			w.out.Site().Robots(w.fill("User-agent: *\nAllow: /\nSitemap: http://INNER/sitemap.xml\n"))
			return ""
		}}}},
		{name: "file seeds", config: lines(`file { roots = ["/etc"] }`), ways: []way{
			{name: "file of a root", lead: linkTo("FILE:/etc/passwd"), reason: "file_link"},
		}},
	}
}

func lines(text string) func(*world) string { return func(*world) string { return text + "\n" } }

// proxyGroups are the ways through each kind of proxy, which would connect to anything: it
// is not asked to.
func proxyGroups() []group {
	var out []group
	for _, kind := range []string{"http", "https", "socks5"} {
		g := group{name: kind + " proxy", config: func(w *world) string {
			// The front page is asked for directly, so that it counts as that of any crawl.
			proxy := testsite.StartProxy(w.t, testsite.ProxyOptions{Kind: kind, Target: w.inner()})
			host, port, _ := net.SplitHostPort(proxy.Addr())
			w.after = append(w.after, func() {
				if asked := proxy.Asked(); len(asked) != 0 {
					w.t.Errorf("the proxy was asked for %q", asked)
				}
			})
			return fmt.Sprintf("http {\n  proxy_type = %q\n  proxy_host = %q\n  proxy_port = %s\n  proxy_exception_list = [\"127.0.0.1\"]\n  tls_certificates_check = false\n}\n", kind, host, port)
		}}
		for name, host := range map[string]string{
			"private": "10.1.2.3", "decimal": "2130706434", "localhost": "localhost", "six": "[::1]", "metadata": "169.254.169.254", "name below localhost": "x.localhost",
		} {
			reason := isLoopback
			switch name {
			case "private":
				reason = "is private: refused"
			case "metadata":
				reason = "is cloud metadata: refused"
			}
			for _, scheme := range []string{"http", "https"} {
				url := scheme + "://" + host + "/"
				g.ways = append(g.ways, way{name: scheme + " " + name, lead: linkTo(url), url: at(url), reason: reason})
			}
		}
		g.ways = append(g.ways, way{name: "redirect", lead: redirect(302, "http://169.254.169.254/r"), url: at("http://169.254.169.254/r"), reason: "is cloud metadata: refused"})
		out = append(out, g)
	}
	return out
}

// quoted is the inside of an HCL list of texts.
func quoted(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return `"` + strings.Join(list, `", "`) + `"`
}
