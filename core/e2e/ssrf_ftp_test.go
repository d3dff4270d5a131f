package e2e

import (
	"slices"
	"strings"

	"github.com/gonutch/crawler/sdk/testsite/ftpsite"
)

// ftpGroup are the ways of FTP servers, and those to them.
func ftpGroup() group {
	g := group{name: "ftp", config: lines(`plugin { add = ["protocol-ftp"] }`)}
	// A server that is crawled and names another address for its data.
	passive := func(name, reply, reason string) {
		for _, what := range []string{"file", "folder/"} {
			var url string
			g.ways = append(g.ways, way{
				name: "ftp " + name + " " + strings.Trim(what, "/"), url: func(*world) string { return url }, reason: reason,
				lead: func(w *world) string {
					s := ftpsite.StartScript(w.t, map[string]string{"EPSV": "500 no", "MDTM": "500 no", "PASV": w.fill(reply)}, "")
					w.allow = append(w.allow, s.Addr())
					url = "ftp://" + s.Addr() + "/" + what
					return anchor(url)
				},
			})
		}
	}
	passive("passive address", "227 Entering Passive Mode (127,0,0,2,PASV)", "is not the server's own, 127.0.0.1: refused")
	passive("passive metadata", ftpsite.Passive("169.254.169.254", 80), ": refused")
	passive("passive service", ftpsite.Passive("127.0.0.1", 25), "ports below 1024 are other services'")
	for name, host := range map[string]string{"link": "INNER", "decimal": "2130706434:PORT", "octal": "0177.0.0.2:PORT", "mapped": "[::ffff:127.0.0.2]:PORT", "localhost": "localhost:PORT"} {
		for _, scheme := range []string{"ftp", "ftps"} {
			url := scheme + "://" + host + "/x"
			g.ways = append(g.ways, way{name: scheme + " " + name, lead: linkTo(url), url: at(url), reason: isLoopback})
		}
	}
	g.ways = append(g.ways,
		way{name: "ftp redirect", lead: redirect(302, "ftp://INNER/redirected"), url: at("ftp://INNER/redirected"), reason: isLoopback},
		way{name: "ftp metadata", lead: linkTo("ftp://169.254.169.254/"), url: at("ftp://169.254.169.254/"), reason: "is cloud metadata: refused"},
		way{name: "ftp listing", lead: listing, url: at("http://INNER/linked"), reason: isLoopback},
		way{name: "ftp file link", lead: func(*world) string { return "" }, reason: "file_link"}, // of the same server
	)
	return g
}

// listing leads by a real server that has files with names that look like addresses, and a
// page with links.
func listing(w *world) string {
	odd := []string{w.fill(`http:\\INNER\odd`), w.fill(`\\INNER\odd`), w.fill(`ftp:INNER`), "javascript:alert(1)", "%2F%2F127.0.0.2"}
	files := map[string]string{"links.html": w.fill(`<a href="http://INNER/linked">a</a><a href="file:///etc/passwd">b</a>`)}
	for _, name := range odd {
		files[name] = "odd"
	}
	s := ftpsite.Start(w.t, ftpsite.Plain, files)
	w.allow = append(w.allow, s.Addr())
	w.after = append(w.after, func() {
		for _, name := range odd { // they are what they are: files of this server
			if !slices.Contains(s.Commands(), "RETR /"+name) {
				w.t.Errorf("file %q was not read; the server was asked %q", name, s.Commands())
			}
		}
	})
	return anchor(s.URL("ftp", "/"))
}
