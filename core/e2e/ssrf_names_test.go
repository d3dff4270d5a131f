package e2e

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/gonutch/crawler"
	"github.com/gonutch/crawler/core/internal/config"
	"github.com/gonutch/crawler/sdk/testsite"
	"github.com/gonutch/crawler/sdk/testsite/ftpsite"
)

// zone is a DNS server whose names change their address from one look-up to the next. A
// crawl with it runs inside this process, as nothing else can be told another server.
type zone struct {
	t *testing.T

	mu    sync.Mutex
	names map[string][]netip.Addr // what is left to answer, the last for ever
	asked map[string]int
}

// startZone starts the server and makes it this process's until the test ends.
func startZone(t *testing.T) *zone {
	z := &zone{t: t, names: map[string][]netip.Addr{}, asked: map[string]int{}}
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		z.serve(conn)
	}()
	was := net.DefaultResolver
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
	t.Cleanup(func() {
		net.DefaultResolver = was
		_ = conn.Close()
		<-done
	})
	return z
}

// set gives a name its addresses, one a look-up.
func (z *zone) set(name string, addrs ...string) {
	z.mu.Lock()
	defer z.mu.Unlock()
	for _, a := range addrs {
		z.names[name] = append(z.names[name], netip.MustParseAddr(a))
	}
}

func (z *zone) lookups(name string) int {
	z.mu.Lock()
	defer z.mu.Unlock()
	return z.asked[name]
}

func (z *zone) serve(conn net.PacketConn) {
	buf := make([]byte, 1500)
	for {
		n, from, err := conn.ReadFrom(buf)
		if err != nil {
			return
		}
		if answer := z.answer(buf[:n]); answer != nil {
			_, _ = conn.WriteTo(answer, from)
		}
	}
}

// answer is that to a question; only addresses of IPv4 are there.
func (z *zone) answer(packet []byte) []byte {
	var m dnsmessage.Message
	if m.Unpack(packet) != nil || len(m.Questions) != 1 {
		return nil
	}
	q := m.Questions[0]
	name := strings.TrimSuffix(strings.ToLower(q.Name.String()), ".")
	reply := dnsmessage.Message{Header: dnsmessage.Header{ID: m.ID, Response: true, RecursionAvailable: true}, Questions: m.Questions}
	z.mu.Lock()
	defer z.mu.Unlock()
	switch left := z.names[name]; {
	case len(left) == 0:
		reply.RCode = dnsmessage.RCodeNameError
	case q.Type == dnsmessage.TypeA:
		z.asked[name]++
		reply.Answers = []dnsmessage.Resource{{
			Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class}, Body: &dnsmessage.AResource{A: left[0].As4()},
		}}
		if len(left) > 1 {
			z.names[name] = left[1:]
		}
	}
	out, err := reply.Pack()
	if err != nil {
		return nil
	}
	return out
}

// crawl runs a crawl of seeds in this process.
func (z *zone) crawl(dir string, files, seeds []string) {
	z.t.Helper()
	l := openWith(z.t, config.Options{Defaults: crawler.Defaults(), Files: files, Sets: []string{"crawl.dir=" + dir, "cycle.rounds=4"}})
	l.inject(z.t, seeds...)
	if _, err := l.cycle.NewRunner().Run(z.t.Context()); err != nil {
		z.t.Fatal(err)
	}
	l.close(z.t)
}

// nameGroups are the ways of names: those that are public when they are looked at and
// inside when they are connected to, and those that are inside from the start.
func nameGroups() []group {
	const cache = "http { dns_cache_ttl = \"0s\" }\n"
	name := group{name: "names", names: true, config: func(*world) string {
		return cache + `plugin { add = ["protocol-ftp", "protocol-s3"] }
plugin "protocol-ftp" { keep_connection = false }
plugin "protocol-s3" { endpoint = "http://s3.test" }
`
	}, ways: []way{
		{name: "name inside", lead: func(w *world) string {
			w.zone.set("inside.test", "127.0.0.2")
			return linkTo("http://inside.test:PORT/link")(w)
		}, url: at("http://inside.test:PORT/link"), reason: "inside.test (127.0.0.2) is loopback: refused"},
		{name: "name of metadata", lead: func(w *world) string {
			w.zone.set("meta.test", "169.254.169.254")
			return linkTo("http://meta.test/")(w)
		}, url: at("http://meta.test/"), reason: "meta.test (169.254.169.254) is cloud metadata: refused"},
		{name: "name in a redirect", lead: func(w *world) string {
			w.zone.set("there.test", "127.0.0.2")
			return redirect(302, "http://there.test:PORT/x")(w)
		}, url: at("http://there.test:PORT/x"), reason: "there.test (127.0.0.2) is loopback: refused"},
		{name: "seed host that turns", lead: turningSite, url: func(w *world) string { return "http://turn.test:" + strconv.Itoa(w.out.Port()) + "/page" }, reason: "turn.test (127.0.0.2) is loopback: refused"},
		turningFTP(),
		{name: "endpoint of metadata", lead: func(w *world) string {
			w.zone.set("s3.test", "169.254.169.254")
			w.seeds = append(w.seeds, "s3://docs/x")
			return ""
		}, url: at("s3://docs/x"), reason: "s3.test (169.254.169.254) is cloud metadata: refused"},
	}}
	browser := group{name: "names in the browser", names: true, needs: needsBrowser, config: func(w *world) string { return cache + inBrowser(w) }}
	for n, addrs := range map[string][]string{"inside": {"127.0.0.2"}, "turning": {"192.0.2.1", "127.0.0.2"}, "metadata": {"169.254.169.254"}} {
		host := n + ".test"
		class := map[string]string{"inside": "loopback", "turning": "", "metadata": "cloud metadata"}[n]
		browser.ways = append(browser.ways, way{
			name: "browser name " + n, url: page, told: []string{"explain"}, reason: "connection to " + host + ":PORT (" + class,
			lead: func(w *world) string {
				w.zone.set(host, addrs...)
				return onPage(fmt.Sprintf(`<script>(async () => { for (const n of [1, 2, 3]) await fetch("http://%s:PORT/" + n, {mode: "no-cors"}).catch(() => 0) })()</script>`, host))(w)
			},
		})
	}
	return []group{name, browser}
}

// turningSite is a host whose robots.txt is asked for outside and whose page is inside.
func turningSite(w *world) string {
	w.inside()
	w.allow = append(w.allow, w.out.Addr()) // the address, not the name
	w.zone.set("turn.test", "127.0.0.1", "127.0.0.2")
	w.out.Host("turn.test").Handle("/robots.txt", func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Connection", "close") // the page needs a connection of its own
		rw.WriteHeader(http.StatusNotFound)
	})
	w.after = append(w.after, func() {
		if n := w.out.Host("turn.test").Count("/robots.txt"); n != 1 || w.zone.lookups("turn.test") < 2 {
			w.t.Errorf("robots.txt was asked for %d times, the name looked up %d times", n, w.zone.lookups("turn.test"))
		}
	})
	return anchor("http://turn.test:" + strconv.Itoa(w.out.Port()) + "/page")
}

// inside is a server on the inner address at the port of the one that is crawled.
func (w *world) inside() {
	s := testsite.Start(w.t, testsite.Options{Addrs: []string{"127.0.0.2"}, Port: w.out.Port()})
	w.after = append(w.after, func() {
		if total, _ := s.Connections("127.0.0.2"); total != 0 {
			w.t.Errorf("%d connections went inside", total)
		}
	})
}

// turningFTP is an FTP server whose name leads inside from the second connection on.
func turningFTP() way {
	var url string
	return way{
		name: "ftp host that turns", url: func(*world) string { return url }, reason: "ftp.test (127.0.0.2) is loopback: refused",
		lead: func(w *world) string {
			s := ftpsite.Start(w.t, ftpsite.Plain, map[string]string{"a.txt": "a"})
			_, port, _ := net.SplitHostPort(s.Addr())
			l, err := net.Listen("tcp", "127.0.0.2:"+port)
			if err != nil {
				w.t.Fatal(err)
			}
			w.after = append(w.after, func() {
				_ = l.(*net.TCPListener).SetDeadline(time.Now())
				if c, err := l.Accept(); err == nil {
					w.t.Errorf("a connection from %s went inside", c.RemoteAddr())
				}
				_ = l.Close()
				if s.Accepted() != 1 { // robots.txt
					w.t.Errorf("%d connections outside", s.Accepted())
				}
			})
			w.allow = append(w.allow, s.Addr())
			w.zone.set("ftp.test", "127.0.0.1", "127.0.0.2")
			url = "ftp://ftp.test:" + port + "/a.txt"
			return anchor(url)
		},
	}
}
