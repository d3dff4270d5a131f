package testsite

import (
	"encoding/base64"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// ProxyOptions say what a Proxy speaks and to whom it leads.
type ProxyOptions struct {
	Kind           string // "http", "https" or "socks5"
	User, Password string // demanded when not ""
	// Target is where everything is sent, whatever is asked for: host:port.
	Target string
}

// Proxy is a proxy for tests. It is safe for concurrent use.
type Proxy struct {
	opt  ProxyOptions
	addr string

	mu    sync.Mutex
	asked []string
}

// StartProxy starts a proxy that is closed when the test ends.
func StartProxy(tb testing.TB, opt ProxyOptions) *Proxy {
	tb.Helper()
	p := &Proxy{opt: opt}
	if opt.Kind == "socks5" {
		p.addr = StartRaw(tb, p.socks5).Addr()
		return p
	}
	s := Start(tb, Options{TLS: opt.Kind == "https"})
	s.mu.Lock()
	s.fallback = p.serve
	s.mu.Unlock()
	p.addr = s.Addr()
	return p
}

// Addr returns the proxy's address and port.
func (p *Proxy) Addr() string { return p.addr }

// Asked returns the host:port or URL of every request, in order.
func (p *Proxy) Asked() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.asked...)
}

func (p *Proxy) note(what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = append(p.asked, what)
}

func (p *Proxy) serve(w http.ResponseWriter, r *http.Request) {
	want := "Basic " + base64.StdEncoding.EncodeToString([]byte(p.opt.User+":"+p.opt.Password))
	if p.opt.User != "" && r.Header.Get("Proxy-Authorization") != want {
		w.Header().Set("Proxy-Authenticate", "Basic realm=\"proxy\"")
		w.WriteHeader(http.StatusProxyAuthRequired)
		return
	}
	p.note(r.RequestURI)
	if r.Method == http.MethodConnect {
		p.tunnel(w)
		return
	}
	out := r.Clone(r.Context())
	out.RequestURI, out.URL.Host, out.URL.Scheme = "", p.opt.Target, "http"
	out.Header.Del("Proxy-Authorization")
	t := &http.Transport{DisableCompression: true, DisableKeepAlives: true}
	resp, err := t.RoundTrip(out)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer resp.Body.Close()
	for k, v := range resp.Header {
		w.Header()[k] = v
	}
	w.WriteHeader(resp.StatusCode)
	_, _ = io.Copy(w, resp.Body)
}

func (p *Proxy) tunnel(w http.ResponseWriter) {
	up, err := net.Dial("tcp", p.opt.Target)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	c, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		_ = up.Close()
		panic(http.ErrAbortHandler)
	}
	_, _ = io.WriteString(c, "HTTP/1.1 200 Connected\r\n\r\n")
	relay(c, up)
}

// relay copies both ways until one side ends.
func relay(a, b net.Conn) {
	var wg sync.WaitGroup
	wg.Go(func() { _, _ = io.Copy(a, b); _ = a.Close() })
	_, _ = io.Copy(b, a)
	_ = b.Close()
	wg.Wait()
}

// socks5 serves one connection (RFC 1928, RFC 1929).
func (p *Proxy) socks5(c net.Conn) {
	read := func(n int) []byte {
		b := make([]byte, n)
		if _, err := io.ReadFull(c, b); err != nil {
			return make([]byte, n)
		}
		return b
	}
	methods := read(int(read(2)[1]))
	switch {
	case p.opt.User == "":
		_, _ = c.Write([]byte{5, 0})
	case !strings.Contains(string(methods), "\x02"):
		_, _ = c.Write([]byte{5, 0xff})
		return
	default:
		_, _ = c.Write([]byte{5, 2})
		user := string(read(int(read(2)[1])))
		password := string(read(int(read(1)[0])))
		if user != p.opt.User || password != p.opt.Password {
			_, _ = c.Write([]byte{1, 1})
			return
		}
		_, _ = c.Write([]byte{1, 0})
	}
	name := ""
	switch read(4)[3] {
	case 1:
		name = net.IP(read(4)).String()
	case 3:
		name = string(read(int(read(1)[0])))
	case 4:
		name = net.IP(read(16)).String()
	}
	read(2)
	p.note(name)
	up, err := net.Dial("tcp", p.opt.Target)
	if err != nil {
		_, _ = c.Write([]byte{5, 5, 0, 1, 0, 0, 0, 0, 0, 0})
		return
	}
	_, _ = c.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0})
	relay(c, up)
}
