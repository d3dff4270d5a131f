package protocolbrowser

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/gonutch/crawler/plugins/internal/libtest"
	"github.com/gonutch/crawler/sdk/extension/protocol"
	"github.com/gonutch/crawler/sdk/model"
	"github.com/gonutch/crawler/sdk/testsite"
)

// names resolves the given names to the given addresses, the second time to the second
// and so on, nothing else.
func names(m map[string][]string) func(*Config) {
	asked := map[string]*atomic.Int32{}
	for name := range m {
		asked[name] = new(atomic.Int32)
	}
	return func(c *Config) {
		c.HTTP.DNSCacheTTL = 0
		c.Lookup = func(_ context.Context, _, host string) ([]netip.Addr, error) {
			list, ok := m[host]
			if !ok {
				return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
			}
			n := int(asked[host].Add(1)) - 1
			return []netip.Addr{netip.MustParseAddr(list[min(n, len(list)-1)])}, nil
		}
	}
}

// TestSubRequests: whatever a page tries, nothing of the browser reaches an address that
// the page's request may not, and the page is a success all the same.
func TestSubRequests(t *testing.T) {
	inside := testsite.Start(t, testsite.Options{Addrs: []string{"127.0.0.2"}})
	port := inside.Port()
	udp, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
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
	t.Cleanup(func() {
		_ = udp.Close()
		<-done
	})
	stun := udp.LocalAddr().(*net.UDPAddr).Port
	s := testsite.Start(t, testsite.Options{})
	target := "127.0.0.2:" + strconv.Itoa(port)
	site := s.Host("shop.example")
	const inFrame = `const p = new RTCPeerConnection({iceServers: [{urls: "stun:127.0.0.1:%d"}]}); p.createDataChannel("x"); p.createOffer().then(o => p.setLocalDescription(o))`
	http := func(hostport string) string {
		return `fetch("http://` + hostport + `/x", {mode: "no-cors"}).catch(done)`
	}
	p := ":" + strconv.Itoa(port)
	// Each page calls done when its attempt has failed; those that are not told wait a while.
	for name, page := range map[string]string{
		"script":       `<script src="http://` + target + `/x" onerror=done()></script>`,
		"image":        `<img src="http://` + target + `/x" onerror=done()>`,
		"style":        `<link rel=stylesheet href="http://` + target + `/x" onerror=done()>`,
		"frame":        `<iframe src="http://` + target + `/x" onload=done()></iframe>`,
		"fetch":        `<script>` + http(target) + `</script>`,
		"decimal":      `<script>` + http("2130706434"+p) + `</script>`,
		"octal":        `<script>` + http("0177.0.0.2"+p) + `</script>`,
		"mapped":       `<script>` + http("[::ffff:127.0.0.2]"+p) + `</script>`,
		"name":         `<script>` + http("inside.example"+p) + `</script>`,
		"metadata":     `<script>` + http("169.254.169.254") + `</script>`,
		"redirect":     `<script src="/to-inside" onerror=done()></script>`,
		"websocket":    `<script>new WebSocket("ws://` + target + `/x").onerror = done</script>`,
		"eventsource":  `<script>new EventSource("http://` + target + `/x").onerror = done</script>`,
		"beacon":       `<script>navigator.sendBeacon("http://` + target + `/x", "y"); later()</script>`,
		"worker":       `<script>new Worker(URL.createObjectURL(new Blob(['const done = () => postMessage(1); ` + http(target) + `']))).onmessage = done</script>`,
		"prefetch":     `<link rel=prefetch href="http://` + target + `/x" onerror=done()><link rel=preconnect href="http://` + target + `/">`,
		"form":         `<form target=f method=post action="http://` + target + `/x"></form><iframe name=f></iframe><script>document.forms[0].submit(); later()</script>`,
		"file":         `<iframe src="file:///etc/passwd"></iframe><script>fetch("file:///etc/passwd").catch(later)</script>`,
		"webrtc":       `<script>later(); ` + fmt.Sprintf(inFrame, stun) + `</script>`,
		"webrtc-frame": `<script>later()</script><iframe srcdoc='<script>` + fmt.Sprintf(inFrame, stun) + `</script>'></iframe>`,
		"webtransport": fmt.Sprintf(`<script>later(); new WebTransport("https://127.0.0.1:%d/x")</script>`, stun),
		"rebinding":    `<script>` + http("rebind.example"+p) + `</script>`,
		"service":      `<script>later(); navigator.serviceWorker.register("/sw.js")</script>`,
	} {
		site.Page("/"+name, `<p>page<script>const done = () => document.body.append(Object.assign(document.createElement("i"), {id: "done"})), later = () => setTimeout(done, 3000)</script>`+page)
	}
	site.Redirect("/to-inside", 302, "http://"+target+"/x")
	site.File("/sw.js", "text/javascript", []byte(`fetch("http://`+target+`/x", {mode: "no-cors"})`))
	f := fetcher(t, func(c *Config) {
		c.HTTP.AllowPrivate = nil
		c.Own.Block = nil
		c.Own.Wait = []string{"load", "selector #done", "idle"}
	}, names(map[string][]string{"shop.example": {"127.0.0.1"}, "inside.example": {"127.0.0.2"}, "rebind.example": {"192.0.2.1", "127.0.0.2"}}))
	for name := range map[string]bool{
		"script": true, "image": true, "style": true, "frame": true, "fetch": true, "decimal": true, "octal": true, "mapped": true, "name": true,
		"metadata": true, "redirect": true, "websocket": true, "eventsource": true, "beacon": true, "worker": true, "prefetch": true, "form": true,
		"file": true, "webrtc": true, "webrtc-frame": true, "webtransport": true, "rebinding": true, "service": true,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := f.Fetch(t.Context(), &protocol.Request{URL: site.URL("/" + name), AllowPrivate: []string{fmt.Sprintf("shop.example:%d", s.Port())}})
			if err != nil || r.Status.Code != model.ProtocolSuccess || !strings.Contains(string(r.Body), "<p>page") {
				t.Errorf("%v %v", err, r)
				return
			}
			switch name {
			case "file", "webrtc", "webrtc-frame", "webtransport", "service":
			default: // the reason is reported
				if !strings.Contains(r.Headers.First(headerRefused), "connection to ") {
					t.Errorf("refused: %q", r.Headers.First(headerRefused))
				}
			}
			if notes := r.Headers.First(headerNotes); notes != "" {
				t.Errorf("notes: %s", notes)
			}
			if strings.Contains(string(r.Body), "root:") {
				t.Errorf("a file was read: %s", r.Body)
			}
		})
	}
	t.Cleanup(func() {
		for _, q := range inside.Requests() {
			t.Errorf("%s %s reached the inside", q.Method, q.Path)
		}
		if total, _ := inside.Connections("127.0.0.2"); total > 0 {
			t.Errorf("%d connections to the inside", total)
		}
		if n := packets.Load(); n > 0 {
			t.Errorf("%d packets left by UDP", n)
		}
	})
}

// TestPageAddress: the page's own address is checked as protocol-http does.
func TestPageAddress(t *testing.T) {
	s := testsite.Start(t, testsite.Options{})
	for _, h := range []string{"127.0.0.1", "in.example"} {
		s.Host(h).Page("/", "inside")
	}
	f := fetcher(t, func(c *Config) { c.HTTP.AllowPrivate = nil }, names(map[string][]string{"in.example": {"127.0.0.1"}}))
	for _, host := range []string{"127.0.0.1", "in.example", "2130706433", "0x7f000001", "0177.1", "[::ffff:127.0.0.1]", "169.254.169.254", "localhost"} {
		r := libtest.Get(t, f, fmt.Sprintf("http://%s:%d/", host, s.Port()))
		want := model.ProtocolAccessDenied
		if host == "localhost" { // which the resolver does not know here
			want = model.ProtocolException
		}
		if r.Status.Code != want {
			t.Errorf("%s: %v", host, r.Status)
		}
	}
	if n := len(s.Requests()); n != 0 {
		t.Errorf("%d requests", n)
	}
	for url, want := range map[string]model.ProtocolCode{"file:///etc/passwd": model.ProtocolGone, "ftp://h/x": model.ProtocolNotFoundProto, "data:text/html,x": model.ProtocolGone, "chrome://version": model.ProtocolNotFoundProto, "http://": model.ProtocolGone} {
		if r := libtest.Get(t, f, url); r.Status.Code != want {
			t.Errorf("%s: %v", url, r.Status)
		}
	}
}
