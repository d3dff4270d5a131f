package protocolftp

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"goftp.io/server/v2"
	"goftp.io/server/v2/driver/file"

	"github.com/gonutch/crawler/plugins/internal/libtest"
	"github.com/gonutch/crawler/sdk/extension/protocol"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/model"
	"github.com/gonutch/crawler/sdk/plugintest"
	"github.com/gonutch/crawler/sdk/setting"
	"github.com/gonutch/crawler/sdk/testsite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// ftpServer is a real FTP server over a folder. Its connections are counted and can be cut.
type ftpServer struct {
	dir string
	l   net.Listener

	mu    sync.Mutex
	conns []net.Conn
	total int
	front string // "host:port" before Addr, for clients
}

// Accept implements net.Listener.
func (s *ftpServer) Accept() (net.Conn, error) {
	c, err := s.l.Accept()
	if err == nil {
		s.mu.Lock()
		s.conns = append(s.conns, c)
		s.total++
		s.mu.Unlock()
	}
	return c, err
}

// Close implements net.Listener.
func (s *ftpServer) Close() error {
	err := s.l.Close()
	s.cut()
	return err
}

// Addr implements net.Listener.
func (s *ftpServer) Addr() net.Addr { return s.l.Addr() }

// cut closes all connections, as a server does that found them idle for too long.
func (s *ftpServer) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.conns {
		_ = c.Close()
	}
	s.conns = nil
}

func (s *ftpServer) accepted() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.total
}

func (s *ftpServer) url(scheme, path string) string {
	if s.front != "" {
		return scheme + "://" + s.front + path
	}
	return scheme + "://" + s.Addr().String() + path
}

// startFTP serves a folder; mode is "plain", "explicit" or "implicit". Only me:pw and
// anonymous users are let in.
func startFTP(t *testing.T, mode string) *ftpServer {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"robots.txt": "User-agent: *\nDisallow: /private/\n", "a.txt": "content of a", "sub/b c.html": "<p>b", "sub/é.txt": "accent",
		"private/x": "secret", "big.bin": strings.Repeat("x", 100_000), "sub/deeper/z": "",
	} {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	driver, err := file.NewDriver(dir)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &ftpServer{dir: dir, l: l}
	o := &server.Options{
		Driver: driver, Auth: logins{}, Perm: server.NewSimplePerm("u", "g"), Hostname: "127.0.0.1", PublicIP: "127.0.0.1", Logger: &server.DiscardLogger{},
	}
	if mode != "plain" {
		o.TLS, o.TLSConfig, o.ExplicitFTPS = true, certificate(t), true
		_ = l.Close()
		o.Port = l.Addr().(*net.TCPAddr).Port // the library sets up TLS only when it listens itself
	}
	srv, err := server.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	if mode == "plain" {
		wg.Go(func() { _ = srv.Serve(s) })
	} else {
		wg.Go(func() { _ = srv.ListenAndServe() })
		for {
			c, err := net.Dial("tcp", l.Addr().String())
			if err == nil {
				_ = c.Close()
				break
			}
			if t.Context().Err() != nil {
				t.Fatal(err)
			}
		}
	}
	if mode == "implicit" {
		front := testsite.StartRaw(t, func(c net.Conn) { implicit(c, l.Addr().String(), o.TLSConfig) })
		s.front = front.Addr()
	}
	t.Cleanup(func() {
		_ = srv.Shutdown()
		_ = s.Close()
		wg.Wait()
	})
	return s
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
	out := tls.Client(up, &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // the other half of the test
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

type logins struct{}

// CheckPasswd implements server.Auth.
func (logins) CheckPasswd(_ *server.Context, user, password string) (bool, error) {
	return user == "anonymous" && strings.Contains(password, "@") || user == "me" && password == "pw", nil
}

func fetcher(t *testing.T, change ...func(*Config)) *Fetcher {
	t.Helper()
	cfg := DefaultConfig()
	cfg.HTTP.AllowPrivate = []string{"127.0.0.1"}
	cfg.HTTP.TLSCertificatesCheck = false
	for _, c := range change {
		c(&cfg)
	}
	f, err := NewFetcher(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func fetch(t *testing.T, f *Fetcher, req *protocol.Request) *protocol.Response {
	t.Helper()
	r, err := f.Fetch(t.Context(), req)
	if err != nil {
		t.Fatalf("fetch %s: %v", req.URL, err)
	}
	return r
}

func get(t *testing.T, f *Fetcher, url string) *protocol.Response {
	t.Helper()
	return fetch(t, f, &protocol.Request{URL: url})
}

func TestOutcomes(t *testing.T) {
	const (
		ok, moved, denied = model.ProtocolSuccess, model.ProtocolMoved, model.ProtocolAccessDenied
		notFound, gone    = model.ProtocolNotFound, model.ProtocolGone
	)
	for _, mode := range []string{"plain", "explicit", "implicit"} {
		s := startFTP(t, mode)
		scheme := map[string]string{"plain": "ftp", "explicit": "ftp", "implicit": "ftps"}[mode]
		for _, epsv := range []bool{true, false} {
			f := fetcher(t, func(c *Config) {
				c.Own.EPSV = epsv
				if mode == "explicit" {
					c.Own.TLS = "always"
				}
			})
			u := s.url(scheme, "")
			for _, tc := range []struct {
				url  string
				code model.ProtocolCode
				want string // contained in body, or Location
			}{
				{u + "/a.txt", ok, "content of a"},
				{u + "/a.txt;type=i", ok, "content of a"},
				{u + "/a.txt#frag", ok, "content of a"},
				{u + "/sub/b%20c.html", ok, "<p>b"},
				{u + "/sub/%C3%A9.txt", ok, "accent"},
				{u + "/sub/deeper/z", ok, ""},
				{u + "/robots.txt", ok, "Disallow: /private/"},
				{u + "/", ok, `<a href="./sub/">sub/</a>`},
				{u, ok, `<a href="./a.txt">a.txt</a>`},
				{u + "/sub/", ok, `<a href="./b%20c.html">b c.html</a>`},
				{u + "/sub", moved, u + "/sub/"},
				{u + "/sub//deeper/../b%20c.html", moved, u + "/sub/b%20c.html"},
				{u + "/none", notFound, ""},
				{u + "/none/", notFound, ""},
				{strings.Replace(u, "//", "//me:pw@", 1) + "/a.txt", ok, "content of a"},
				{strings.Replace(u, "//", "//me:wrong@", 1) + "/a.txt", denied, ""},
				{u + "/a%0d%0aDELE%20b", gone, ""},
				{"http://127.0.0.1/", model.ProtocolNotFoundProto, ""},
				{"ftp:///x", gone, ""},
			} {
				r := get(t, f, tc.url)
				got := string(r.Body)
				if tc.code == moved {
					got = r.Location
				}
				if r.Status.Code != tc.code || !strings.Contains(got, tc.want) {
					t.Errorf("%s, EPSV %t, %s: %v, %q", mode, epsv, tc.url, r.Status, got)
				}
				if r.Status.Code == ok && (r.IP != "127.0.0.1" || r.Protocol != map[bool]string{true: "ftp", false: "ftps"}[mode == "plain"]) {
					t.Errorf("%s: IP %q, protocol %q", tc.url, r.IP, r.Protocol)
				}
			}
		}
	}
}

func TestLimits(t *testing.T) {
	s := startFTP(t, "plain")
	f := fetcher(t)
	r := fetch(t, f, &protocol.Request{URL: s.url("ftp", "/big.bin"), MaxBytes: 1000})
	if len(r.Body) != 1000 || r.Truncated != "length" {
		t.Errorf("%d bytes, truncated %q", len(r.Body), r.Truncated)
	}
	r = fetch(t, f, &protocol.Request{URL: s.url("ftp", "/big.bin"), MaxBytes: 100_000})
	if len(r.Body) != 100_000 || r.Truncated != "" {
		t.Errorf("%d bytes, truncated %q", len(r.Body), r.Truncated)
	}
	f = fetcher(t, func(c *Config) { c.Own.MaxEntries = 2 })
	if r = get(t, f, s.url("ftp", "/")); r.Truncated != "length" || strings.Count(string(r.Body), "<li>") != 2 {
		t.Errorf("max_entries: truncated %q, %s", r.Truncated, r.Body)
	}
}

func TestNotModified(t *testing.T) {
	s := startFTP(t, "plain")
	at := time.Date(2020, 2, 3, 4, 5, 6, 0, time.Local) // which this server takes for UTC
	if err := os.Chtimes(filepath.Join(s.dir, "a.txt"), at, at); err != nil {
		t.Fatal(err)
	}
	f := fetcher(t)
	r := get(t, f, s.url("ftp", "/a.txt"))
	stamp := r.Headers.First("Last-Modified")
	if stamp != "Mon, 03 Feb 2020 04:05:06 GMT" {
		t.Errorf("Last-Modified %q", stamp)
	}
	for since, want := range map[string]model.ProtocolCode{
		stamp: model.ProtocolNotModified, "Mon, 03 Feb 2020 04:05:05 GMT": model.ProtocolSuccess, "nonsense": model.ProtocolSuccess,
	} {
		if r := fetch(t, f, &protocol.Request{URL: s.url("ftp", "/a.txt"), LastModified: since}); r.Status.Code != want {
			t.Errorf("since %q: %v", since, r.Status)
		}
	}
}

// TestKeptConnections: one control connection serves a host; one that the server has
// closed is replaced; other users and permissions have others.
func TestKeptConnections(t *testing.T) {
	s := startFTP(t, "plain")
	f := fetcher(t)
	paths := []string{"/a.txt", "/sub/", "/none", "/sub", "/robots.txt", "/"}
	for _, p := range paths {
		get(t, f, s.url("ftp", p))
	}
	if n := s.accepted(); n != 1 {
		t.Errorf("%d control connections for %d documents", n, len(paths))
	}
	s.cut()
	if r := get(t, f, s.url("ftp", "/a.txt")); r.Status.Code != model.ProtocolSuccess || s.accepted() != 2 {
		t.Errorf("after the server closed it: %v, %d connections", r.Status, s.accepted())
	}
	fetch(t, f, &protocol.Request{URL: s.url("ftp", "/a.txt"), AllowPrivate: []string{"127.0.0.1"}})
	get(t, f, strings.Replace(s.url("ftp", "/a.txt"), "//", "//me:pw@", 1))
	if n := s.accepted(); n != 4 {
		t.Errorf("%d connections; another permission and another user want their own", n)
	}
	f = fetcher(t, func(c *Config) { c.Own.KeepConnection = false })
	before := s.accepted()
	for _, p := range paths {
		get(t, f, s.url("ftp", p))
	}
	if n := s.accepted() - before; n != len(paths) {
		t.Errorf("keep_connection = false: %d connections for %d documents", n, len(paths))
	}
}

func TestAddresses(t *testing.T) {
	s := startFTP(t, "plain")
	_, port, _ := net.SplitHostPort(s.Addr().String())
	f := fetcher(t, func(c *Config) {
		c.HTTP.AllowPrivate = nil
		c.Lookup = func(context.Context, string, string) ([]netip.Addr, error) {
			return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
		}
	})
	for _, host := range []string{"127.0.0.1", "in.example", "2130706433", "0x7f000001", "0177.1", "[::ffff:127.0.0.1]", "169.254.169.254"} {
		if r := get(t, f, "ftp://"+host+":"+port+"/a.txt"); r.Status.Code != model.ProtocolAccessDenied || !strings.Contains(r.Status.Message, "refused") {
			t.Errorf("%s: %v", host, r.Status)
		}
	}
	if n := s.accepted(); n != 0 {
		t.Errorf("%d connections", n)
	}
	r := fetch(t, f, &protocol.Request{URL: "ftp://in.example:" + port + "/a.txt", AllowPrivate: []string{"in.example:" + port}})
	if r.Status.Code != model.ProtocolSuccess {
		t.Errorf("with permission: %v", r.Status)
	}
}

// script is an FTP server that answers commands as told; what is not told is "200 ok".
func script(t *testing.T, replies map[string]string) string {
	t.Helper()
	s := testsite.StartRaw(t, func(c net.Conn) {
		say := func(text string) { _, _ = fmt.Fprint(c, text+"\r\n") }
		say("220 ready")
		in := bufio.NewScanner(c)
		for in.Scan() {
			verb, _, _ := strings.Cut(in.Text(), " ")
			if text, ok := replies[verb]; ok {
				say(text)
			} else if verb == "USER" {
				say("331 password")
			} else if verb == "PASS" {
				say("230 in")
			} else if verb == "CWD" {
				say("250 there")
			} else if verb == "QUIT" {
				return
			} else {
				say("200 ok")
			}
		}
	})
	return "ftp://" + s.Addr()
}

// TestPassiveAddress: a server can't send the data connection to another machine or to
// another kind of service.
func TestPassiveAddress(t *testing.T) {
	var reached atomic.Int32
	inside, err := net.Listen("tcp", "127.0.0.2:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := inside.Accept()
			if err != nil {
				return
			}
			reached.Add(1)
			_ = c.Close()
		}
	}()
	port := inside.Addr().(*net.TCPAddr).Port
	pasv := func(ip string, port int) string {
		return fmt.Sprintf("227 Entering Passive Mode (%s,%d,%d)", strings.ReplaceAll(ip, ".", ","), port/256, port%256)
	}
	for name, reply := range map[string]string{
		"another machine": pasv("127.0.0.2", port), "another service": pasv("127.0.0.1", 25), "no address": pasv("300.1.2.3", port), "port 0": pasv("127.0.0.1", 0),
	} {
		u := script(t, map[string]string{"EPSV": "500 no", "PASV": reply, "MDTM": "500 no"})
		for _, path := range []string{"/x", "/"} {
			r := get(t, fetcher(t), u+path)
			if r.Status.Code != model.ProtocolAccessDenied || !strings.Contains(r.Status.Message, "refused") {
				t.Errorf("%s, %s: %v", name, path, r.Status)
			}
		}
	}
	_ = inside.Close()
	<-done
	if n := reached.Load(); n != 0 {
		t.Errorf("%d connections to another machine", n)
	}
}

// TestHostileServers: each answer ends in a status, within limits.
func TestHostileServers(t *testing.T) {
	for name, replies := range map[string]map[string]string{
		"endless reply":    {"USER": "331-" + strings.Repeat("x\r\n331-", 100_000)},
		"long line":        {"USER": "331 " + strings.Repeat("x", 1<<20)},
		"nonsense":         {"USER": "\x00\xff\xfe"},
		"no login":         {"USER": "530 no"},
		"busy":             {"USER": "421 too many"},
		"passive nonsense": {"EPSV": "229 (|||99999999999|)", "PASV": "227 (1,2,3)"},
		"negative port":    {"EPSV": "229 (|||-5|)", "PASV": "227 (127,0,0,1,-9,7)"},
		"times nonsense":   {"FEAT": "211-x\r\n MDTM\r\n211 end", "MDTM": "213 yesterday", "EPSV": "500 no", "PASV": "500 no", "RETR": "550 none", "CWD": "550 none"},
	} {
		r := get(t, fetcher(t), script(t, replies)+"/x")
		if r.Status.Code == model.ProtocolSuccess || r.Status.Message == "" {
			t.Errorf("%s: %v", name, r.Status)
		}
	}
	silent := testsite.StartRaw(t, func(c net.Conn) { _, _ = c.Read(make([]byte, 1)) })
	start := time.Now()
	r := fetch(t, fetcher(t), &protocol.Request{URL: "ftp://" + silent.Addr() + "/x", Timeout: 200 * time.Millisecond})
	if r.Status.Code != model.ProtocolException || !strings.Contains(r.Status.Message, "timeout") || time.Since(start) > 10*time.Second {
		t.Errorf("silent: %v after %s", r.Status, time.Since(start))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := fetcher(t).Fetch(ctx, &protocol.Request{URL: "ftp://" + silent.Addr() + "/x"}); !fault.Is(err, fault.Transient) {
		t.Errorf("called off: %v", err)
	}
}

func TestSettings(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"timeout": func(c *Config) { c.Own.Timeout = 0 }, "tls": func(c *Config) { c.Own.TLS = "maybe" }, "entries": func(c *Config) { c.Own.MaxEntries = 0 },
		"user": func(c *Config) { c.Own.Username = "" }, "line end": func(c *Config) { c.Own.Password = "a\nb" },
		"allow": func(c *Config) { c.HTTP.AllowPrivate = []string{"/"} }, "server_timeout": func(c *Config) { c.Own.ServerTimeout = setting.Duration(-1) },
	} {
		cfg := DefaultConfig()
		change(&cfg)
		if _, err := NewFetcher(cfg); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: error %v, want Invalid", name, err)
		}
	}
	m := libtest.Manifest(t, Plugin())
	var got OwnConfig
	if err := json.Unmarshal(libtest.Settings(t, m, "").Own, &got); err != nil {
		t.Fatal(err)
	}
	if want := DefaultConfig().Own; !reflect.DeepEqual(got, want) || len(m.Settings) != reflect.TypeFor[OwnConfig]().NumField() {
		t.Errorf("manifest %+v, code %+v", got, want)
	}
}

func TestConformance(t *testing.T) {
	s := startFTP(t, "plain")
	var requests []protocol.Request
	for _, p := range []string{"/a.txt", "/", "/sub", "/none", "/robots.txt"} {
		requests = append(requests, protocol.Request{URL: s.url("ftp", p), AllowPrivate: []string{s.Addr().String()}})
	}
	plugintest.Run(t, Plugin(), plugintest.Options{Requests: requests})
}

func FuzzReplies(f *testing.F) {
	for _, s := range []string{"220 x\r\n331 p\r\n230 in\r\n", "220-a\r\n220 b\r\n230 x\r\n211-F\r\n MLST\r\n211 e\r\n200\r\n200\r\n250 ok\r\n229 (|||21|)\r\n150 x\r\n", "\xff", "227 (1,2,3,4,5,6)\r\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, replies string) {
		s := testsite.StartRaw(t, func(c net.Conn) {
			_, _ = c.Write([]byte(replies))
		})
		cfg := DefaultConfig()
		cfg.HTTP.AllowPrivate = []string{"127.0.0.1"}
		ft, err := NewFetcher(cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = ft.Close() }()
		for _, p := range []string{"/x", "/"} {
			if _, err := ft.Fetch(t.Context(), &protocol.Request{URL: "ftp://" + s.Addr() + p, Timeout: 2 * time.Second, MaxBytes: 1 << 16}); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// certificate is that of a test server for 127.0.0.1, which nobody trusts.
func certificate(t *testing.T) *tls.Config {
	t.Helper()
	s := httptest.NewTLSServer(nil)
	defer s.Close()
	return &tls.Config{Certificates: s.TLS.Certificates, MinVersion: tls.VersionTLS12}
}

// TestCertificates: a server that can't show who it is is not talked to.
func TestCertificates(t *testing.T) {
	for mode, scheme := range map[string]string{"explicit": "ftp", "implicit": "ftps"} {
		s := startFTP(t, mode)
		f := fetcher(t, func(c *Config) { c.HTTP.TLSCertificatesCheck, c.Own.TLS = true, "always" })
		if r := get(t, f, s.url(scheme, "/a.txt")); r.Status.Code != model.ProtocolException || !strings.Contains(r.Status.Message, "certificate") {
			t.Errorf("%s: %v", mode, r.Status)
		}
	}
}
