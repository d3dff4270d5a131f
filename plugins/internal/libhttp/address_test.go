package libhttp

import (
	"context"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/gonutch/crawler/plugins/internal/libtest"
	"github.com/gonutch/crawler/sdk/extension/protocol"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/model"
	"github.com/gonutch/crawler/sdk/testsite"
)

// names resolves the given names to the given addresses, nothing else.
func names(m map[string]string) func(*Config) {
	return func(c *Config) {
		c.Lookup = func(_ context.Context, _, host string) ([]netip.Addr, error) {
			if a, ok := m[host]; ok {
				return []netip.Addr{netip.MustParseAddr(a)}, nil
			}
			return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
		}
	}
}

func allow(entries ...string) func(*Config) {
	return func(c *Config) { c.HTTP.AllowPrivate = entries }
}

func TestAddressCheck(t *testing.T) {
	s := testsite.Start(t, testsite.Options{})
	port := strconv.Itoa(s.Port())
	for _, h := range []string{"127.0.0.1", "localhost", "in.example"} {
		s.Host(h).Page("/", "inside")
	}
	resolve := names(map[string]string{"in.example": "127.0.0.1", "localhost": "127.0.0.1", "meta.example": "169.254.169.254"})
	for _, tc := range []struct {
		host    string
		setting []string
		request []string
		want    model.ProtocolCode
	}{
		{"127.0.0.1", nil, nil, model.ProtocolAccessDenied},
		{"localhost", nil, nil, model.ProtocolAccessDenied},
		{"in.example", nil, nil, model.ProtocolAccessDenied},
		{"2130706433", nil, nil, model.ProtocolAccessDenied},
		{"0x7f000001", nil, nil, model.ProtocolAccessDenied},
		{"0177.1", nil, nil, model.ProtocolAccessDenied},
		{"[::ffff:127.0.0.1]", nil, nil, model.ProtocolAccessDenied},
		{"0.0.0.0", nil, nil, model.ProtocolAccessDenied},
		{"169.254.169.254", nil, []string{"0.0.0.0/0"}, model.ProtocolAccessDenied},
		{"meta.example", nil, []string{"meta.example"}, model.ProtocolAccessDenied},
		{"127.0.0.1", []string{"127.0.0.1:" + port}, nil, model.ProtocolSuccess},
		{"127.0.0.1", nil, []string{"127.0.0.1:" + port}, model.ProtocolSuccess},
		{"127.0.0.1", nil, []string{"127.0.0.1:1"}, model.ProtocolAccessDenied},
		{"2130706433", nil, []string{"127.0.0.1:" + port}, model.ProtocolSuccess},
		{"localhost", nil, []string{"localhost:" + port}, model.ProtocolSuccess},
		{"in.example", nil, []string{"in.example:" + port}, model.ProtocolSuccess},
		{"in.example", nil, []string{"127.0.0.0/8"}, model.ProtocolSuccess},
		{"in.example", nil, []string{"other.example:" + port}, model.ProtocolAccessDenied},
		{"none.example", nil, nil, model.ProtocolException},
	} {
		f := fetcher(t, allow(tc.setting...), resolve)
		r := libtest.Fetch(t, f, &protocol.Request{URL: "http://" + tc.host + ":" + port + "/", AllowPrivate: tc.request})
		if r.Status.Code != tc.want {
			t.Errorf("%s, setting %q, request %q: %v, want %s", tc.host, tc.setting, tc.request, r.Status, tc.want)
		}
		if tc.want == model.ProtocolAccessDenied && (!strings.Contains(r.Status.Message, "allow_private") || r.Status.HTTP != 0) {
			t.Errorf("%s: %v does not name the setting", tc.host, r.Status)
		}
	}
	for _, r := range s.Requests() {
		if strings.Contains(r.Host, "allow-") {
			t.Errorf("the pool's name of a host was sent: %s", r.Host)
		}
	}
}

// A connection that one request was allowed to make serves no request that is
// not, however many come together.
func TestPermissionAndPool(t *testing.T) {
	s := testsite.Start(t, testsite.Options{})
	s.Host("in.example").Page("/", "inside")
	url := "http://in.example:" + strconv.Itoa(s.Port()) + "/"
	f := fetcher(t, allow(), names(map[string]string{"in.example": "127.0.0.1"}))
	var wg sync.WaitGroup
	for i := range 60 {
		wg.Go(func() {
			req := &protocol.Request{URL: url}
			want := model.ProtocolAccessDenied
			switch i % 3 {
			case 1:
				req.AllowPrivate, want = []string{"127.0.0.0/8"}, model.ProtocolSuccess
			case 2:
				req.AllowPrivate = []string{"10.0.0.0/8", "x.example"}
			}
			r, err := f.Fetch(t.Context(), req)
			if err != nil || r.Status.Code != want {
				t.Errorf("AllowPrivate %q: %v %v, want %s", req.AllowPrivate, r.Status, err, want)
			}
		})
	}
	wg.Wait()
	if n := len(s.Requests()); n != 20 {
		t.Errorf("the server got %d requests, want 20", n)
	}
}

func TestBadPermission(t *testing.T) {
	_, err := fetcher(t).Fetch(t.Context(), &protocol.Request{URL: "http://a.example/", AllowPrivate: []string{"10.0.0.0/99"}})
	if !fault.Is(err, fault.Invalid) {
		t.Errorf("error %v, want Invalid", err)
	}
}

func TestPermissionsBounded(t *testing.T) {
	f := fetcher(t)
	for i := range 3 * maxPermissions {
		if _, err := f.permission([]string{"h" + strconv.Itoa(i) + ".example"}); err != nil {
			t.Fatal(err)
		}
	}
	if len(f.policies) > maxPermissions {
		t.Errorf("%d lists kept", len(f.policies))
	}
}

// The address is looked up once per connection and kept for dns_cache_ttl.
func TestDNSCache(t *testing.T) {
	s := testsite.Start(t, testsite.Options{})
	s.Host("a.example").Handle("/", closing)
	asked := 0
	f := fetcher(t, func(c *Config) {
		c.Lookup = func(context.Context, string, string) ([]netip.Addr, error) {
			asked++
			return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
		}
	})
	for range 5 {
		if r := libtest.Get(t, f, "http://A.example:"+strconv.Itoa(s.Port())+"/"); r.Status.Code != model.ProtocolSuccess {
			t.Fatal(r.Status)
		}
	}
	if total, _ := s.Connections("127.0.0.1"); asked != 1 || total != 5 {
		t.Errorf("%d lookups for %d connections", asked, total)
	}
}

// A host that is allowed first and leads inside later, or does both at once: what is
// checked is what is dialled, each time. 127.0.0.2 stands for the public net.
func TestRebinding(t *testing.T) {
	s := testsite.Start(t, testsite.Options{Addrs: []string{"127.0.0.1", "127.0.0.2"}})
	s.Host("turn.example").Handle("/", closing)
	s.Host("both.example").Handle("/", closing)
	public, inside := netip.MustParseAddr("127.0.0.2"), netip.MustParseAddr("127.0.0.1")
	asked := map[string]int{}
	f := fetcher(t, allow("127.0.0.2"), func(c *Config) {
		c.HTTP.DNSCacheTTL = 0
		c.Lookup = func(_ context.Context, _, host string) ([]netip.Addr, error) {
			asked[host]++
			switch {
			case host == "both.example":
				return []netip.Addr{inside, netip.MustParseAddr("::ffff:10.0.0.1"), public}, nil
			case asked[host] == 1:
				return []netip.Addr{public}, nil
			}
			return []netip.Addr{inside}, nil
		}
	})
	port := ":" + strconv.Itoa(s.Port()) + "/"
	if r := libtest.Get(t, f, "http://turn.example"+port); r.Status.Code != model.ProtocolSuccess || r.IP != "127.0.0.2" {
		t.Errorf("first: %v from %s", r.Status, r.IP)
	}
	const reason = "address of turn.example (127.0.0.1) is loopback: refused"
	if r := libtest.Get(t, f, "http://turn.example"+port); r.Status.Code != model.ProtocolAccessDenied || !strings.Contains(r.Status.Message, reason) {
		t.Errorf("then: %v", r.Status)
	}
	for range 5 {
		if r := libtest.Get(t, f, "http://both.example"+port); r.Status.Code != model.ProtocolSuccess || r.IP != "127.0.0.2" {
			t.Errorf("both at once: %v from %s", r.Status, r.IP)
		}
	}
	for _, r := range s.Requests() {
		if r.Local == "127.0.0.1" {
			t.Errorf("%s was asked for inside", r.Host)
		}
	}
}

func TestAddressLists(t *testing.T) {
	s := testsite.Start(t, testsite.Options{Addrs: []string{"127.0.0.1", "127.0.0.2"}})
	for _, h := range []string{"127.0.0.1", "127.0.0.2"} {
		s.Host(h).Page("/", "page")
	}
	for _, tc := range []struct {
		include, exclude []string
		one, two         bool
		reason           string
	}{
		{nil, nil, true, true, ""},
		{[]string{"127.0.0.1"}, nil, true, false, "not in http.filter_ipaddress_include"},
		{[]string{"127.0.0.0/8"}, []string{"127.0.0.2/32"}, true, false, `http.filter_ipaddress_exclude has "127.0.0.2/32"`},
		{[]string{"localhost"}, nil, true, true, ""},
		{[]string{"sitelocal"}, nil, false, false, "not in http.filter_ipaddress_include"},
		{nil, []string{"loopback"}, false, false, `exclude has "loopback"`},
	} {
		f := fetcher(t, func(c *Config) { c.HTTP.IPInclude, c.HTTP.IPExclude = tc.include, tc.exclude })
		for host, want := range map[string]bool{"127.0.0.1": tc.one, "127.0.0.2": tc.two} {
			r := libtest.Get(t, f, s.Host(host).URL("/"))
			if (r.Status.Code == model.ProtocolSuccess) != want || !want && (r.Status.Code != model.ProtocolAccessDenied || !strings.Contains(r.Status.Message, tc.reason)) {
				t.Errorf("include %q, exclude %q, %s: %v", tc.include, tc.exclude, host, r.Status)
			}
		}
	}
	cfg := DefaultConfig()
	cfg.HTTP.AgentName, cfg.HTTP.AgentURL, cfg.HTTP.IPExclude = "b", "https://b.example/", []string{"10.0.0.0/99"}
	if _, err := NewFetcher(cfg); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), `"10.0.0.0/99"`) {
		t.Errorf("%v", err)
	}
}

// IPv6 and names in other scripts.
func TestIPv6AndIDN(t *testing.T) {
	l, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		t.Skipf("no IPv6 on this machine: %v", err)
	}
	_ = l.Close()
	s := testsite.Start(t, testsite.Options{Addrs: []string{"::1", "127.0.0.1"}})
	s.Host("::1").Page("/", "six")
	s.Host("xn--bcher-kva.example").Page("/", "idn")
	port := ":" + strconv.Itoa(s.Port()) + "/"
	f := fetcher(t, names(map[string]string{"xn--bcher-kva.example": "::1"}))
	for url, want := range map[string]string{
		"http://[::1]" + port: "six", "http://[0:0::1]" + port: "six",
		"http://b\u00fccher.example" + port: "idn", "http://B%C3%9CCHER.example" + port: "idn", "http://xn--bcher-kva.example" + port: "idn",
	} {
		if r := libtest.Get(t, f, url); string(r.Body) != want || r.IP != "::1" {
			t.Errorf("%s: %v %q from %s", url, r.Status, r.Body, r.IP)
		}
	}
}
