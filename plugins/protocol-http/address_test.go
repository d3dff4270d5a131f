package protocolhttp

import (
	"context"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"testing"

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
		r := fetch(t, f, &protocol.Request{URL: "http://" + tc.host + ":" + port + "/", AllowPrivate: tc.request})
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
		if r := get(t, f, "http://A.example:"+strconv.Itoa(s.Port())+"/"); r.Status.Code != model.ProtocolSuccess {
			t.Fatal(r.Status)
		}
	}
	if total, _ := s.Connections("127.0.0.1"); asked != 1 || total != 5 {
		t.Errorf("%d lookups for %d connections", asked, total)
	}
}
