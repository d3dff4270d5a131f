// Package ftpsite serves folders by FTP on loopback addresses for tests, with and
// without TLS, and FTP servers that answer as they are told. It owns the servers and
// their logs; it must not know the crawler.
package ftpsite

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"goftp.io/server/v2"
	"goftp.io/server/v2/driver/file"

	"github.com/gonutch/crawler/sdk/testsite"
)

// Mode says how a Server encrypts.
type Mode string

// The modes.
const (
	Plain    Mode = "plain"    // not at all
	Explicit Mode = "explicit" // when asked for by AUTH TLS, and only then are logins taken
	Implicit Mode = "implicit" // from the start (ftps:)
)

// User and Password are the one login besides that of anonymous users, whose password is
// an e-mail address.
const (
	User     = "me"
	Password = "pw"
)

// Server is a real FTP server over a folder. Its connections are counted and can be cut. It
// is safe for concurrent use.
type Server struct {
	Dir string // what it serves; files may be changed at any time

	l     net.Listener
	front string // "host:port" before that of l, for clients

	mu    sync.Mutex
	conns []net.Conn
	total int
	log   []string
}

// Start serves files, by path and content, until the test ends.
func Start(tb testing.TB, mode Mode, files map[string]string) *Server {
	tb.Helper()
	dir := tb.TempDir()
	for name, text := range files {
		p := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil { //nolint:gosec // what the server serves
			tb.Fatalf("make test files: %v", err)
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil { //nolint:gosec // what the server serves
			tb.Fatalf("make test files: %v", err)
		}
	}
	driver, err := file.NewDriver(dir)
	if err != nil {
		tb.Fatalf("start FTP server: %v", err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatalf("start FTP server: %v", err)
	}
	s := &Server{Dir: dir, l: l}
	o := &server.Options{
		Driver: driver, Auth: logins{}, Perm: server.NewSimplePerm("u", "g"), Hostname: "127.0.0.1", PublicIP: "127.0.0.1", Logger: (*commands)(s),
	}
	if mode != Plain {
		o.TLS, o.TLSConfig, o.ExplicitFTPS = true, certificate(), true
		_ = l.Close()
		o.Port = l.Addr().(*net.TCPAddr).Port // the library sets up TLS only when it listens itself
	}
	srv, err := server.NewServer(o)
	if err != nil {
		tb.Fatalf("start FTP server: %v", err)
	}
	var wg sync.WaitGroup
	if mode == Plain {
		wg.Go(func() { _ = srv.Serve((*counting)(s)) })
	} else {
		wg.Go(func() { _ = srv.ListenAndServe() })
		s.await(tb)
	}
	if mode == Implicit {
		s.front = testsite.StartRaw(tb, func(c net.Conn) { implicit(c, l.Addr().String(), o.TLSConfig) }).Addr()
	}
	tb.Cleanup(func() {
		_ = srv.Shutdown()
		_ = l.Close()
		s.Cut()
		wg.Wait()
	})
	return s
}

// await waits until the library listens.
func (s *Server) await(tb testing.TB) {
	for {
		c, err := net.Dial("tcp", s.l.Addr().String())
		if err == nil {
			_ = c.Close()
			return
		}
		if tb.Context().Err() != nil {
			tb.Fatal(err)
		}
	}
}

// Addr returns address and port for clients.
func (s *Server) Addr() string {
	if s.front != "" {
		return s.front
	}
	return s.l.Addr().String()
}

// URL returns that of an absolute path.
func (s *Server) URL(scheme, path string) string { return scheme + "://" + s.Addr() + path }

// Cut closes all connections, as a server does that found them idle for too long. It works
// for Plain servers.
func (s *Server) Cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.conns {
		_ = c.Close()
	}
	s.conns = nil
}

// Accepted returns how many control connections a Plain server has got so far.
func (s *Server) Accepted() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.total
}

// Commands returns the commands so far, in order of arrival, such as "RETR /a.txt".
func (s *Server) Commands() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.log...)
}

// ResetLog forgets the commands so far.
func (s *Server) ResetLog() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = nil
}

// counting is the listener that the library gets.
type counting Server

// Accept implements net.Listener.
func (c *counting) Accept() (net.Conn, error) {
	conn, err := c.l.Accept()
	if err == nil {
		c.mu.Lock()
		c.conns = append(c.conns, conn)
		c.total++
		c.mu.Unlock()
	}
	return conn, err
}

// Close implements net.Listener.
func (c *counting) Close() error { return c.l.Close() }

// Addr implements net.Listener.
func (c *counting) Addr() net.Addr { return c.l.Addr() }

// commands is the library's logger, which notes the commands.
type commands Server

// Print implements server.Logger.
func (*commands) Print(string, any) {}

// Printf implements server.Logger.
func (*commands) Printf(string, string, ...any) {}

// PrintCommand implements server.Logger.
func (c *commands) PrintCommand(_, command, params string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.log = append(c.log, strings.TrimSpace(strings.ToUpper(command)+" "+params))
}

// PrintResponse implements server.Logger.
func (*commands) PrintResponse(string, int, string) {}

type logins struct{}

// CheckPasswd implements server.Auth.
func (logins) CheckPasswd(_ *server.Context, user, password string) (bool, error) {
	return user == "anonymous" && strings.Contains(password, "@") || user == User && password == Password, nil
}

// certificate is that of a test server for 127.0.0.1, which nobody trusts.
func certificate() *tls.Config {
	s := httptest.NewTLSServer(nil)
	defer s.Close()
	return &tls.Config{Certificates: s.TLS.Certificates, MinVersion: tls.VersionTLS12}
}

// implicit serves a control connection that is encrypted from the start with a server that
// wants to be asked for TLS.
func implicit(c net.Conn, server string, cfg *tls.Config) {
	up, err := net.Dial("tcp", server)
	if err != nil {
		return
	}
	defer func() { _ = up.Close() }()
	in := tls.Server(c, cfg)
	defer func() { _ = in.Close() }()
	r := bufio.NewReader(up)
	greeting, _ := r.ReadString('\n')
	_, _ = fmt.Fprint(up, "AUTH TLS\r\n")
	_, _ = r.ReadString('\n')
	out := tls.Client(up, &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // the other half of the test server
	_, _ = fmt.Fprint(in, greeting)
	var wg sync.WaitGroup
	wg.Go(func() {
		_, _ = io.Copy(out, in)
		_ = up.Close()
	})
	_, _ = io.Copy(in, out)
	_ = c.Close()
	wg.Wait()
}

// Hang at the end of a scripted server's data says that nothing comes after it, and no end.
const Hang = "\x00hang"

// StartScript starts a server that answers commands as told, by line or by verb. What is not told is
// answered as by a server that agrees to everything: whatever is asked for by LIST, MLSD,
// NLST or RETR is data.
func StartScript(tb testing.TB, replies map[string]string, data string) *testsite.RawServer {
	tb.Helper()
	return testsite.StartRaw(tb, func(c net.Conn) {
		s := script{c: c, replies: replies, data: data}
		defer s.end()
		s.say("220 ready")
		in := bufio.NewScanner(c)
		for in.Scan() {
			verb, _, _ := strings.Cut(in.Text(), " ")
			if verb = strings.ToUpper(verb); verb == "QUIT" {
				return
			}
			if text, ok := s.replies[in.Text()]; ok {
				s.say(text)
				continue
			}
			s.answer(verb)
		}
	})
}

// script is one control connection of a scripted server.
type script struct {
	c       net.Conn
	replies map[string]string
	data    string
	passive net.Listener // of the next transfer, nil without
}

func (s *script) say(text string) { _, _ = fmt.Fprint(s.c, text+"\r\n") }

func (s *script) end() {
	if s.passive != nil {
		_ = s.passive.Close()
	}
}

func (s *script) answer(verb string) {
	if text, ok := s.replies[verb]; ok {
		s.say(text)
		return
	}
	switch verb {
	case "USER":
		s.say("331 password")
	case "PASS":
		s.say("230 in")
	case "CWD":
		s.say("250 there")
	case "EPSV", "PASV":
		s.listen(verb)
	case "LIST", "MLSD", "NLST", "RETR":
		s.send()
	default:
		s.say("200 ok")
	}
}

// listen opens the way for the next transfer.
func (s *script) listen(verb string) {
	s.end()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if s.passive = l; err != nil {
		s.passive = nil
		s.say("425 " + err.Error())
		return
	}
	port := l.Addr().(*net.TCPAddr).Port
	if verb == "PASV" {
		s.say(Passive("127.0.0.1", port))
		return
	}
	s.say(fmt.Sprintf("229 Entering Extended Passive Mode (|||%d|)", port))
}

// send makes the transfer.
func (s *script) send() {
	if s.passive == nil {
		s.say("425 no way for data")
		return
	}
	s.say("150 here it comes")
	_ = s.passive.(*net.TCPListener).SetDeadline(time.Now().Add(10 * time.Second))
	c, err := s.passive.Accept()
	s.end()
	s.passive = nil
	if err != nil {
		s.say("425 " + err.Error())
		return
	}
	data, hangs := strings.CutSuffix(s.data, Hang)
	_, _ = io.WriteString(c, data)
	if hangs {
		_, _ = io.Copy(io.Discard, s.c) // until the client has had enough
	}
	_ = c.Close()
	s.say("226 done")
}

// Passive is the reply to PASV that names an address and port.
func Passive(ip string, port int) string {
	return fmt.Sprintf("227 Entering Passive Mode (%s,%d,%d)", strings.ReplaceAll(ip, ".", ","), port/256, port%256)
}
