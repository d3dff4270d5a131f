package e2e

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
)

// needsBrowser skips a test where there is no Chromium.
func needsBrowser(tb testing.TB) {
	tb.Helper()
	if _, err := exec.LookPath("chromium"); err != nil {
		tb.Skip("no Chromium: apt-get install chromium")
	}
}

// inBrowser is the configuration that shows all pages of a crawl in the browser.
func inBrowser(*world) string {
	return fmt.Sprintf(`plugin { add = ["protocol-browser"] }
protocol { rules = ["protocol-browser ^https?:"] }
fetcher { threads_per_queue = 4 }
plugin "protocol-browser" {
  sandbox   = %t
  block     = []
  wait      = ["load", "idle"]
  idle_time = "200ms"
}
`, os.Getuid() != 0)
}

// browserGroup are the ways of what a page loads or does in the browser, which is a success
// all the same: what it was not given stands in the explanation of the page.
func browserGroup() group {
	g := group{name: "browser", config: inBrowser, needs: needsBrowser}
	sub := func(name, html, reason string) {
		g.ways = append(g.ways, way{name: "browser " + name, lead: onPage(html), url: page, told: []string{"explain"}, reason: reason})
	}
	fetch := func(host string) string {
		return `<script>fetch("http://` + host + `/x", {mode: "no-cors"}).catch(() => 0)</script>`
	}
	const inner, refused = "http://INNERPATH", "connection to INNER (loopback)"
	sub("script", `<script src="`+inner+`"></script>`, refused)
	sub("image", `<img src="`+inner+`">`, refused)
	sub("style", `<link rel=stylesheet href="`+inner+`">`, refused)
	sub("style import", `<style>@import url("`+inner+`")</style>`, refused)
	sub("frame", `<iframe src="`+inner+`"></iframe>`, refused)
	sub("frame of a frame", `<iframe srcdoc='<iframe src="`+inner+`"></iframe>'></iframe>`, refused)
	sub("fetch", fetch("INNER"), refused)
	sub("secure fetch", strings.Replace(fetch("INNER"), "http:", "https:", 1), refused)
	sub("decimal", fetch("2130706434:PORT"), refused)
	sub("octal", fetch("0177.0.0.2:PORT"), refused)
	sub("mapped", fetch("[::ffff:127.0.0.2]:PORT"), "(loopback)")
	sub("localhost", fetch("localhost:PORT"), "connection to localhost:PORT (loopback)")
	sub("metadata", fetch("169.254.169.254"), "connection to 169.254.169.254:80 (cloud metadata)")
	sub("private", fetch("10.1.2.3"), "connection to 10.1.2.3:80 (private)")
	sub("redirect of a script", `<script src="/to-inside"></script>`, refused)
	sub("websocket", `<script>new WebSocket("ws://INNERPATH")</script>`, refused)
	sub("eventsource", `<script>new EventSource("`+inner+`")</script>`, refused)
	sub("beacon", `<script>navigator.sendBeacon("`+inner+`", "y")</script>`, refused)
	sub("worker", `<script>new Worker(URL.createObjectURL(new Blob(['fetch("`+inner+`", {mode: "no-cors"})'])))</script>`, refused)
	sub("prefetch", `<link rel=prefetch href="`+inner+`"><link rel=preconnect href="http://INNER/">`, refused)
	sub("form", `<form target=f method=post action="`+inner+`"></form><iframe name=f></iframe><script>document.forms[0].submit()</script>`, refused)
	sub("object", `<object data="`+inner+`"></object>`, refused)
	sub("file", `<iframe src="file:///etc/passwd"></iframe><script>fetch("file:///etc/passwd").catch(() => 0)</script>`, "")
	sub("service worker", `<script>navigator.serviceWorker.register("/sw.js")</script>`, "")
	g.ways = append(g.ways,
		way{name: "browser webrtc", lead: webrtc, url: page, told: []string{"explain"}},
		// A page that leads elsewhere is a redirect; its target is a record of its own.
		way{name: "browser navigation", lead: onPage(`<script>location = "` + inner + `"</script>`), url: at(inner), reason: isLoopback},
		way{name: "browser refresh", lead: onPage(`<meta http-equiv="refresh" content="0;url=` + inner + `">`), url: at(inner), reason: isLoopback},
		way{name: "browser link", lead: linkTo(inner), url: at(inner), reason: isLoopback},
		way{name: "browser file navigation", lead: onPage(`<script>location = "file:///etc/passwd"</script>`), url: page, told: []string{"explain"}},
	)
	g.ways[0].lead = func(w *world) string {
		w.out.Site().Redirect("/to-inside", 302, w.fill("http://INNER/redirected"))
		w.out.Site().File("/sw.js", "text/javascript", []byte(w.fill(`fetch("http://INNER/sw", {mode: "no-cors"})`)))
		return onPage(`<script src="` + inner + `"></script>`)(w)
	}
	return g
}

// webrtc leads by the packets that a page's peer connection would send.
func webrtc(w *world) string {
	udp, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		w.t.Fatal(err)
	}
	var packets atomic.Int32
	done := make(chan struct{})
	go func() {
		defer close(done)
		b := make([]byte, 2000)
		for {
			if _, _, err := udp.ReadFrom(b); err != nil {
				return
			}
			packets.Add(1)
		}
	}()
	w.t.Cleanup(func() { // also when the crawl fails
		_ = udp.Close()
		<-done
	})
	w.after = append(w.after, func() {
		if n := packets.Load(); n > 0 {
			w.t.Errorf("%d packets left by UDP", n)
		}
	})
	port := udp.LocalAddr().(*net.UDPAddr).Port
	script := fmt.Sprintf(`<script>const p = new RTCPeerConnection({iceServers: [{urls: "stun:127.0.0.1:%d"}]}); p.createDataChannel("x"); p.createOffer().then(o => p.setLocalDescription(o))</script>`, port)
	return onPage(script + `<iframe srcdoc='` + script + `'></iframe>` + fmt.Sprintf(`<script>new WebTransport("https://127.0.0.1:%d/x")</script>`, port))(w)
}
