// Package testsite serves scripted web sites on loopback addresses for tests:
// pages, redirects, statuses, whole folders, virtual hosts, and answers
// written straight to the socket for servers that break the rules. It records
// every request with its time, so that tests can judge what a crawler asked
// for, how often, and how politely.
//
// It owns the servers and the log; it must not know the crawler. Everything
// listens on 127.0.0.0/8 only. See testsite_test.go for every feature in use.
package testsite

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Options say what a Server listens on.
type Options struct {
	// Addrs are the loopback addresses to listen on, all with one port;
	// 127.0.0.1 when empty.
	Addrs []string
	// Port is the port; 0 picks a free one.
	Port int
	// TLS serves HTTPS with a certificate for Addrs, localhost and Names.
	TLS bool
	// HTTP2 offers HTTP/2 over TLS.
	HTTP2 bool
	// ClientCert demands a certificate of the client, such as ClientPair's.
	ClientCert bool
	// Names are further names of the certificate.
	Names []string
}

// Server serves sites on one port of one or several loopback addresses. It is
// safe for concurrent use.
type Server struct {
	opt   Options
	port  int
	http  *http.Server
	wg    sync.WaitGroup
	roots *x509.CertPool
	caPEM []byte

	mu    sync.Mutex
	gone  *sync.Cond // a connection has left conns
	sites map[string]*Site
	log   []Request
	// fallback answers for hosts that are no site.
	fallback http.HandlerFunc
	conns    map[net.Conn]string // open connections and the local address each came in on
	taken    map[net.Conn]bool   // of these, the ones that a handler took from the HTTP server
	peak     map[string]int      // most connections open at once, by local address
	total    int                 // connections ever
}

// Request is one request as a Server got it.
type Request struct {
	Time   time.Time
	Host   string // Host header without the port
	Method string
	Path   string // path and query as sent
	Proto  string
	Header http.Header
	Local  string // address the connection came in on
	Remote string // address and port of the client; one per connection
}

// Start starts a server that is closed when the test ends.
func Start(tb testing.TB, opt Options) *Server {
	tb.Helper()
	s, err := New(opt)
	if err != nil {
		tb.Fatalf("start test site: %v", err)
	}
	tb.Cleanup(s.Close)
	return s
}

// New starts a server; the caller closes it.
func New(opt Options) (*Server, error) {
	if len(opt.Addrs) == 0 {
		opt.Addrs = []string{"127.0.0.1"}
	}
	s := &Server{
		opt: opt, sites: map[string]*Site{},
		conns: map[net.Conn]string{}, taken: map[net.Conn]bool{}, peak: map[string]int{},
	}
	s.gone = sync.NewCond(&s.mu)
	listeners, err := listen(opt.Addrs, opt.Port)
	if err != nil {
		return nil, err
	}
	s.port = listeners[0].Addr().(*net.TCPAddr).Port
	s.http = &http.Server{
		Handler: http.HandlerFunc(s.serve), ConnState: s.connState,
		ConnContext: func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, connKey{}, c) },
		ErrorLog:    log.New(io.Discard, "", 0), Protocols: protocols(opt),
	}
	if opt.TLS {
		cert, ca, err := certificate(append(append([]string{"localhost"}, opt.Addrs...), opt.Names...))
		if err != nil {
			for _, l := range listeners {
				_ = l.Close()
			}
			return nil, err
		}
		s.http.TLSConfig = &tls.Config{Certificates: []tls.Certificate{cert}}
		s.roots = x509.NewCertPool()
		s.roots.AddCert(ca)
		if opt.ClientCert {
			s.http.TLSConfig.ClientAuth, s.http.TLSConfig.ClientCAs = tls.RequireAndVerifyClientCert, s.roots
		}
		s.caPEM = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ca.Raw})
	}
	for _, l := range listeners {
		s.wg.Go(func() {
			if opt.TLS {
				_ = s.http.ServeTLS(l, "", "")
			} else {
				_ = s.http.Serve(l)
			}
		})
	}
	return s, nil
}

func protocols(opt Options) *http.Protocols {
	var p http.Protocols
	p.SetHTTP1(true)
	p.SetHTTP2(opt.TLS && opt.HTTP2)
	return &p
}

// listen opens the same port on every address.
func listen(addrs []string, port int) ([]net.Listener, error) {
	const tries = 20 // a port that is free on the first address may be taken on another
	var last error
	for range tries {
		var ls []net.Listener
		p := port
		for _, a := range addrs {
			ip := net.ParseIP(a)
			if ip == nil || !ip.IsLoopback() {
				return nil, fmt.Errorf("listen on %q: not a loopback address", a)
			}
			l, err := net.Listen("tcp", net.JoinHostPort(a, strconv.Itoa(p)))
			if err != nil {
				last = err
				break
			}
			ls = append(ls, l)
			p = l.Addr().(*net.TCPAddr).Port
		}
		if len(ls) == len(addrs) {
			return ls, nil
		}
		for _, l := range ls {
			_ = l.Close()
		}
		if port != 0 {
			break
		}
	}
	return nil, last
}

// Close closes all connections, at once, and waits for every handler; those
// that wait must watch their request's context or their connection.
func (s *Server) Close() {
	_ = s.http.Close()
	s.wg.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns { // hijacked ones are not closed by http.Server
		_ = c.Close()
	}
	for len(s.conns) > 0 {
		s.gone.Wait()
	}
}

// Port returns the port of all addresses.
func (s *Server) Port() int { return s.port }

// Addr returns address and port of the first address.
func (s *Server) Addr() string {
	return net.JoinHostPort(s.opt.Addrs[0], strconv.Itoa(s.port))
}

// RootCAs returns the pool that verifies the server's certificate; nil without TLS.
func (s *Server) RootCAs() *x509.CertPool { return s.roots }

// CAFile writes the certificate of the server's authority as PEM below the
// test's temporary folder and returns the path.
func (s *Server) CAFile(tb testing.TB) string {
	tb.Helper()
	if s.caPEM == nil {
		tb.Fatal("test site has no TLS")
	}
	file := filepath.Join(tb.TempDir(), "ca.pem")
	if err := os.WriteFile(file, s.caPEM, 0o600); err != nil {
		tb.Fatalf("write certificate: %v", err)
	}
	return file
}

// ClientPair writes a certificate and key that the server takes of clients as
// PEM below the test's temporary folder.
func (s *Server) ClientPair(tb testing.TB) (cert, key string) {
	tb.Helper()
	if s.caPEM == nil {
		tb.Fatal("test site has no TLS")
	}
	pair := s.http.TLSConfig.Certificates[0]
	der, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		tb.Fatalf("encode key: %v", err)
	}
	dir := tb.TempDir()
	cert, key = filepath.Join(dir, "client.pem"), filepath.Join(dir, "client.key")
	for file, block := range map[string]*pem.Block{
		cert: {Type: "CERTIFICATE", Bytes: pair.Certificate[0]}, key: {Type: "PRIVATE KEY", Bytes: der},
	} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			tb.Fatalf("write client certificate: %v", err)
		}
	}
	return cert, key
}

// Host returns the site served for name, a Host header without the port,
// which is created when there is none. A name can be an address.
func (s *Server) Host(name string) *Site {
	name = strings.ToLower(name)
	s.mu.Lock()
	defer s.mu.Unlock()
	site, ok := s.sites[name]
	if !ok {
		site = &Site{server: s, name: name, routes: map[string]http.Handler{}}
		s.sites[name] = site
	}
	return site
}

// Site returns the site of the first address.
func (s *Server) Site() *Site { return s.Host(s.opt.Addrs[0]) }

// Requests returns what was asked for so far, in order of arrival.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.log...)
}

// ResetLog forgets the requests so far.
func (s *Server) ResetLog() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = nil
}

// Connections returns how many connections were ever accepted, and the most
// that were open at one time on the local address.
func (s *Server) Connections(local string) (total, peak int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.total, s.peak[local]
}

func (s *Server) connState(c net.Conn, state http.ConnState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch state {
	case http.StateNew:
		local := c.LocalAddr().(*net.TCPAddr).IP.String()
		s.conns[c] = local
		s.total++
		open := 0
		for _, l := range s.conns {
			if l == local {
				open++
			}
		}
		s.peak[local] = max(s.peak[local], open)
	case http.StateHijacked:
		s.taken[c] = true
	case http.StateClosed:
		s.forget(c)
	}
}

// forget drops a connection that has ended; the caller holds mu.
func (s *Server) forget(c net.Conn) {
	delete(s.conns, c)
	delete(s.taken, c)
	s.gone.Broadcast()
}

// connKey finds the connection in a request's context.
type connKey struct{}

// release closes the connection of r if its handler took it from the server.
func (s *Server) release(r *http.Request) {
	c, ok := r.Context().Value(connKey{}).(net.Conn)
	if !ok {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.taken[c] {
		_ = c.Close()
		s.forget(c)
	}
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	host := strings.ToLower(r.Host)
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	local := ""
	if a, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
		local, _, _ = net.SplitHostPort(a.String())
	}
	path := r.RequestURI
	s.mu.Lock()
	s.log = append(s.log, Request{
		Time: time.Now(), Host: host, Method: r.Method, Path: path, Proto: r.Proto,
		Header: r.Header.Clone(), Local: local, Remote: r.RemoteAddr,
	})
	site, fallback := s.sites[host], s.fallback
	s.mu.Unlock()
	if site == nil && fallback != nil {
		defer s.release(r)
		fallback(w, r)
		return
	}
	if site == nil {
		http.Error(w, "no such site: "+host, http.StatusMisdirectedRequest)
		return
	}
	defer s.release(r)
	site.serve(w, r)
}
