package protocolftp

import (
	"context"
	"encoding/json"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/gonutch/crawler/plugins/internal/libtest"
	"github.com/gonutch/crawler/sdk/extension/protocol"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/model"
	"github.com/gonutch/crawler/sdk/plugintest"
	"github.com/gonutch/crawler/sdk/setting"
	"github.com/gonutch/crawler/sdk/testsite"
	"github.com/gonutch/crawler/sdk/testsite/ftpsite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// startFTP serves a folder of files for these tests.
func startFTP(t testing.TB, mode ftpsite.Mode) *ftpsite.Server {
	return ftpsite.Start(t, mode, map[string]string{
		"robots.txt": "User-agent: *\nDisallow: /private/\n", "a.txt": "content of a", "sub/b c.html": "<p>b", "sub/é.txt": "accent",
		"private/x": "secret", "big.bin": strings.Repeat("x", 100_000), "sub/deeper/z": "",
	})
}

func fetcher(t testing.TB, change ...func(*Config)) *Fetcher {
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

func TestOutcomes(t *testing.T) {
	const (
		ok, moved, denied = model.ProtocolSuccess, model.ProtocolMoved, model.ProtocolAccessDenied
		notFound, gone    = model.ProtocolNotFound, model.ProtocolGone
	)
	for _, mode := range []ftpsite.Mode{ftpsite.Plain, ftpsite.Explicit, ftpsite.Implicit} {
		s := startFTP(t, mode)
		scheme := map[ftpsite.Mode]string{ftpsite.Plain: "ftp", ftpsite.Explicit: "ftp", ftpsite.Implicit: "ftps"}[mode]
		for _, epsv := range []bool{true, false} {
			f := fetcher(t, func(c *Config) {
				c.Own.EPSV = epsv
				if mode == ftpsite.Explicit {
					c.Own.TLS = "always"
				}
			})
			u := s.URL(scheme, "")
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
				r := libtest.Get(t, f, tc.url)
				got := string(r.Body)
				if tc.code == moved {
					got = r.Location
				}
				if r.Status.Code != tc.code || !strings.Contains(got, tc.want) {
					t.Errorf("%s, EPSV %t, %s: %v, %q", mode, epsv, tc.url, r.Status, got)
				}
				if r.Status.Code == ok && (r.IP != "127.0.0.1" || r.Protocol != map[bool]string{true: "ftp", false: "ftps"}[mode == ftpsite.Plain]) {
					t.Errorf("%s: IP %q, protocol %q", tc.url, r.IP, r.Protocol)
				}
			}
		}
	}
}

func TestLimits(t *testing.T) {
	s := startFTP(t, ftpsite.Plain)
	f := fetcher(t)
	r := libtest.Fetch(t, f, &protocol.Request{URL: s.URL("ftp", "/big.bin"), MaxBytes: 1000})
	if len(r.Body) != 1000 || r.Truncated != "length" {
		t.Errorf("%d bytes, truncated %q", len(r.Body), r.Truncated)
	}
	r = libtest.Fetch(t, f, &protocol.Request{URL: s.URL("ftp", "/big.bin"), MaxBytes: 100_000})
	if len(r.Body) != 100_000 || r.Truncated != "" {
		t.Errorf("%d bytes, truncated %q", len(r.Body), r.Truncated)
	}
	f = fetcher(t, func(c *Config) { c.Own.MaxEntries = 2 })
	if r = libtest.Get(t, f, s.URL("ftp", "/")); r.Truncated != "length" || strings.Count(string(r.Body), "<li>") != 2 {
		t.Errorf("max_entries: truncated %q, %s", r.Truncated, r.Body)
	}
}

func TestNotModified(t *testing.T) {
	s := startFTP(t, ftpsite.Plain)
	at := time.Date(2020, 2, 3, 4, 5, 6, 0, time.Local) // which this server takes for UTC
	if err := os.Chtimes(filepath.Join(s.Dir, "a.txt"), at, at); err != nil {
		t.Fatal(err)
	}
	f := fetcher(t)
	r := libtest.Get(t, f, s.URL("ftp", "/a.txt"))
	stamp := r.Headers.First("Last-Modified")
	if stamp != "Mon, 03 Feb 2020 04:05:06 GMT" {
		t.Errorf("Last-Modified %q", stamp)
	}
	for since, want := range map[string]model.ProtocolCode{
		stamp: model.ProtocolNotModified, "Mon, 03 Feb 2020 04:05:05 GMT": model.ProtocolSuccess, "nonsense": model.ProtocolSuccess,
	} {
		if r := libtest.Fetch(t, f, &protocol.Request{URL: s.URL("ftp", "/a.txt"), LastModified: since}); r.Status.Code != want {
			t.Errorf("since %q: %v", since, r.Status)
		}
	}
}

// TestKeptConnections: one control connection serves a host; one that the server has
// closed is replaced; other users and permissions have others.
func TestKeptConnections(t *testing.T) {
	s := startFTP(t, ftpsite.Plain)
	f := fetcher(t)
	paths := []string{"/a.txt", "/sub/", "/none", "/sub", "/robots.txt", "/"}
	for _, p := range paths {
		libtest.Get(t, f, s.URL("ftp", p))
	}
	if n := s.Accepted(); n != 1 {
		t.Errorf("%d control connections for %d documents", n, len(paths))
	}
	s.Cut()
	if r := libtest.Get(t, f, s.URL("ftp", "/a.txt")); r.Status.Code != model.ProtocolSuccess || s.Accepted() != 2 {
		t.Errorf("after the server closed it: %v, %d connections", r.Status, s.Accepted())
	}
	libtest.Fetch(t, f, &protocol.Request{URL: s.URL("ftp", "/a.txt"), AllowPrivate: []string{"127.0.0.1"}})
	libtest.Get(t, f, strings.Replace(s.URL("ftp", "/a.txt"), "//", "//me:pw@", 1))
	if n := s.Accepted(); n != 4 {
		t.Errorf("%d connections; another permission and another user want their own", n)
	}
	f = fetcher(t, func(c *Config) { c.Own.KeepConnection = false })
	before := s.Accepted()
	for _, p := range paths {
		libtest.Get(t, f, s.URL("ftp", p))
	}
	if n := s.Accepted() - before; n != len(paths) {
		t.Errorf("keep_connection = false: %d connections for %d documents", n, len(paths))
	}
}

func TestAddresses(t *testing.T) {
	s := startFTP(t, ftpsite.Plain)
	_, port, _ := net.SplitHostPort(s.Addr())
	f := fetcher(t, func(c *Config) {
		c.HTTP.AllowPrivate = nil
		c.Lookup = func(context.Context, string, string) ([]netip.Addr, error) {
			return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
		}
	})
	for _, host := range []string{"127.0.0.1", "in.example", "2130706433", "0x7f000001", "0177.1", "[::ffff:127.0.0.1]", "169.254.169.254"} {
		if r := libtest.Get(t, f, "ftp://"+host+":"+port+"/a.txt"); r.Status.Code != model.ProtocolAccessDenied || !strings.Contains(r.Status.Message, "refused") {
			t.Errorf("%s: %v", host, r.Status)
		}
	}
	if n := s.Accepted(); n != 0 {
		t.Errorf("%d connections", n)
	}
	r := libtest.Fetch(t, f, &protocol.Request{URL: "ftp://in.example:" + port + "/a.txt", AllowPrivate: []string{"in.example:" + port}})
	if r.Status.Code != model.ProtocolSuccess {
		t.Errorf("with permission: %v", r.Status)
	}
}

func script(t testing.TB, replies map[string]string, data string) string {
	return "ftp://" + ftpsite.StartScript(t, replies, data).Addr()
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
	for name, reply := range map[string]string{
		"another machine": ftpsite.Passive("127.0.0.2", port), "another service": ftpsite.Passive("127.0.0.1", 25), "no address": ftpsite.Passive("300.1.2.3", port), "port 0": ftpsite.Passive("127.0.0.1", 0),
	} {
		u := script(t, map[string]string{"EPSV": "500 no", "PASV": reply, "MDTM": "500 no"}, "")
		for _, path := range []string{"/x", "/"} {
			r := libtest.Get(t, fetcher(t), u+path)
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
		r := libtest.Get(t, fetcher(t), script(t, replies, "")+"/x")
		if r.Status.Code == model.ProtocolSuccess || r.Status.Message == "" {
			t.Errorf("%s: %v", name, r.Status)
		}
	}
	silent := testsite.StartRaw(t, func(c net.Conn) { _, _ = c.Read(make([]byte, 1)) })
	start := time.Now()
	r := libtest.Fetch(t, fetcher(t), &protocol.Request{URL: "ftp://" + silent.Addr() + "/x", Timeout: 200 * time.Millisecond})
	if r.Status.Code != model.ProtocolException || !strings.Contains(r.Status.Message, "timeout") || time.Since(start) > 10*time.Second {
		t.Errorf("silent: %v after %s", r.Status, time.Since(start))
	}
	for data, want := range map[string]model.ProtocolCode{"half a file": model.ProtocolSuccess, "": model.ProtocolException} {
		r = libtest.Fetch(t, fetcher(t), &protocol.Request{URL: script(t, map[string]string{"FEAT": "211 none"}, data+ftpsite.Hang) + "/x", Timeout: time.Second})
		if r.Status.Code != want || string(r.Body) != data || r.Truncated != map[bool]string{true: "time"}[data != ""] || r.Status.Code != model.ProtocolSuccess && !strings.Contains(r.Status.Message, "timeout") {
			t.Errorf("hangs after %q: %v, %q, truncated %q", data, r.Status, r.Body, r.Truncated)
		}
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
		"user": func(c *Config) { c.Own.Username = "" }, "login for all": func(c *Config) { c.Own.Username = "me" },
		"login hosts": func(c *Config) { c.Own.LoginHosts = []string{"*"} }, "line end": func(c *Config) { c.Own.Password = "a\nb" },
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

// TestLogins: the configured login is for the hosts that are named; others see anonymous.
func TestLogins(t *testing.T) {
	for name, tc := range map[string]struct {
		own            OwnConfig
		host           string
		user, password string
	}{
		"nothing set":    {OwnConfig{Username: "anonymous"}, "a.org", "anonymous", "me@example.org"},
		"named":          {OwnConfig{Username: "me", Password: "pw", LoginHosts: []string{"A.org"}}, "a.org", "me", "pw"},
		"below":          {OwnConfig{Username: "me", Password: "pw", LoginHosts: []string{"*.a.org"}}, "ftp.a.org", "me", "pw"},
		"stranger":       {OwnConfig{Username: "me", Password: "pw", LoginHosts: []string{"a.org"}}, "evil.org", "anonymous", "me@example.org"},
		"no password":    {OwnConfig{Username: "me", LoginHosts: []string{"a.org"}}, "a.org", "me", "me@example.org"},
		"an address":     {OwnConfig{Username: "anonymous", Password: "x@y.org"}, "a.org", "anonymous", "x@y.org"},
		"address, named": {OwnConfig{Username: "anonymous", Password: "x@y.org", LoginHosts: []string{"a.org"}}, "b.org", "anonymous", "me@example.org"},
	} {
		cfg := DefaultConfig()
		cfg.HTTP.AgentEmail = "me@example.org"
		cfg.Own.Username, cfg.Own.Password, cfg.Own.LoginHosts = tc.own.Username, tc.own.Password, tc.own.LoginHosts
		f, err := NewFetcher(cfg)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got, _, err := f.parse(&protocol.Request{URL: "ftp://" + tc.host + "/x"})
		if err != nil || got.user != tc.user || got.password != tc.password {
			t.Errorf("%s: %q with %q, %v; want %q with %q", name, got.user, got.password, err, tc.user, tc.password)
		}
	}
}

func TestConformance(t *testing.T) {
	s := startFTP(t, ftpsite.Plain)
	var requests []protocol.Request
	for _, p := range []string{"/a.txt", "/", "/sub", "/none", "/robots.txt"} {
		requests = append(requests, protocol.Request{URL: s.URL("ftp", p), AllowPrivate: []string{s.Addr()}})
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

// TestCertificates: a server that can't show who it is is not talked to.
func TestCertificates(t *testing.T) {
	for mode, scheme := range map[ftpsite.Mode]string{ftpsite.Explicit: "ftp", ftpsite.Implicit: "ftps"} {
		s := startFTP(t, mode)
		f := fetcher(t, func(c *Config) { c.HTTP.TLSCertificatesCheck, c.Own.TLS = true, "always" })
		if r := libtest.Get(t, f, s.URL(scheme, "/a.txt")); r.Status.Code != model.ProtocolException || !strings.Contains(r.Status.Message, "certificate") {
			t.Errorf("%s: %v", mode, r.Status)
		}
	}
}
