package libaddr

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/gonutch/crawler/sdk/fault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestClassOf(t *testing.T) {
	for addr, want := range map[string]Class{
		"93.184.216.34":                Public,
		"2606:2800:220:1::1":           Public,
		"172.15.255.255":               Public,
		"172.32.0.0":                   Public,
		"100.63.255.255":               Public,
		"100.128.0.0":                  Public,
		"127.0.0.1":                    Loopback,
		"127.255.255.254":              Loopback,
		"::1":                          Loopback,
		"0.0.0.0":                      Unspecified,
		"0.1.2.3":                      Unspecified,
		"::":                           Unspecified,
		"10.1.2.3":                     Private,
		"172.16.0.1":                   Private,
		"172.31.255.255":               Private,
		"192.168.0.1":                  Private,
		"fc00::1":                      Private,
		"fdff::1":                      Private,
		"fec0::1":                      Private,
		"169.254.1.1":                  LinkLocal,
		"fe80::1":                      LinkLocal,
		"fe80::1%eth0":                 LinkLocal,
		"2001:4860:4860::1%eth0":       LinkLocal,
		"100.64.0.1":                   SharedNAT,
		"224.0.0.1":                    Multicast,
		"ff02::1":                      Multicast,
		"255.255.255.255":              Reserved,
		"240.0.0.1":                    Reserved,
		"192.0.2.1":                    Reserved,
		"198.18.0.1":                   Reserved,
		"198.51.100.1":                 Reserved,
		"203.0.113.1":                  Reserved,
		"2001:db8::1":                  Reserved,
		"3fff::1":                      Reserved,
		"4000::1":                      Reserved,
		"100::1":                       Reserved,
		"::ffff:127.0.0.1":             Loopback,
		"::ffff:93.184.216.34":         Public,
		"::127.0.0.1":                  Loopback,
		"64:ff9b::7f00:1":              Loopback,
		"64:ff9b::a00:1":               Private,
		"64:ff9b::5db8:d822":           Public,
		"64:ff9b:1::5db8:d822":         Private,
		"2002:7f00:1::1":               Loopback,
		"2002:c0a8:1::1":               Private,
		"2002:5db8:d822::1":            Public,
		"2001:0:5db8:d822::80ff:fffe":  Loopback, // Teredo client 127.0.0.1, inverted
		"2001:0:7f00:1::a247:27dd":     Public,   // Teredo client 93.184.216.34
		"2001:470:1::5efe:10.0.0.1":    Private,  // ISATAP
		"2001:470:1::200:5efe:8.8.8.8": Public,
		"169.254.169.254":              Metadata,
		"::ffff:169.254.169.254":       Metadata,
		"64:ff9b::a9fe:a9fe":           Metadata,
		"169.254.170.2":                Metadata,
		"100.100.100.200":              Metadata,
		"168.63.129.16":                Metadata,
		"fd00:ec2::254":                Metadata,
		"fd20:ce::254":                 Metadata,
	} {
		if got := ClassOf(netip.MustParseAddr(addr)); got != want {
			t.Errorf("ClassOf(%s) = %q, want %q", addr, got, want)
		}
	}
	if got := ClassOf(netip.Addr{}); got == Public {
		t.Error("the invalid address is public")
	}
}

func TestCanonicalHost(t *testing.T) {
	for host, want := range map[string]string{
		"Example.ORG":            "example.org",
		"example.org.":           "example.org",
		"bücher.example":         "xn--bcher-kva.example",
		"under_score.example":    "under_score.example",
		"UNDER_score.example":    "under_score.example",
		"127.0.0.1":              "127.0.0.1 address",
		"127.1":                  "127.0.0.1 address",
		"2130706433":             "127.0.0.1 address",
		"0x7f.1":                 "127.0.0.1 address",
		"0x7F000001":             "127.0.0.1 address",
		"0177.0.0.01":            "127.0.0.1 address",
		"127.0.0.1.":             "127.0.0.1 address",
		"１２７.0.0.1":              "127.0.0.1 address",
		"127。0。0。1":              "127.0.0.1 address",
		"0":                      "0.0.0.0 address",
		"[::1]":                  "::1 address",
		"[0:0:0:0:0:0:0:1]":      "::1 address",
		"::ffff:7f00:1":          "::ffff:127.0.0.1 address",
		"1.2.3.4.5":              "error",
		"256.1.1.1":              "error",
		"4294967296":             "error",
		"1.2.3.09":               "error",
		"example.1":              "error",
		"":                       "error",
		"[::1":                   "error",
		"ex ample.org":           "error",
		strings.Repeat("a", 300): "error",
	} {
		name, a, err := CanonicalHost(host)
		got := name
		if a.IsValid() {
			got += " address"
		}
		if err != nil {
			got = "error"
		}
		if got != want {
			t.Errorf("CanonicalHost(%q) = %q, %v; want %q", host, got, err, want)
		}
	}
}

func TestCheck(t *testing.T) {
	for _, tc := range []struct {
		allow   []string
		host    string
		addr    string
		allowed bool
	}{
		{nil, "example.org", "93.184.216.34:80", true},
		{nil, "example.org", "10.0.0.5:80", false},
		{[]string{"intranet.example:80"}, "intranet.example", "10.0.0.5:80", true},
		{[]string{"Intranet.Example.:80"}, "intranet.example", "10.0.0.5:80", true},
		{[]string{"intranet.example:80"}, "intranet.example", "10.0.0.5:8080", false},
		{[]string{"intranet.example:80"}, "other.example", "10.0.0.5:80", false},
		{[]string{"intranet.example"}, "intranet.example", "10.0.0.5:8080", true},
		{[]string{"10.0.0.0/8"}, "any.example", "10.0.0.5:8080", true},
		{[]string{"10.0.0.0/8"}, "any.example", "11.0.0.5:8080", true},
		{[]string{"10.0.0.0/8"}, "any.example", "192.168.0.1:80", false},
		{[]string{"10.0.0.5:80"}, "any.example", "10.0.0.5:80", true},
		{[]string{"10.0.0.5:80"}, "any.example", "10.0.0.5:81", false},
		{[]string{"127.1:80"}, "127.0.0.1", "127.0.0.1:80", true},
		{[]string{"127.0.0.1"}, "x.example", "[::ffff:127.0.0.1]:80", true},
		{[]string{"::ffff:127.0.0.0/104"}, "x.example", "127.0.0.1:80", true},
		{[]string{"[::1]:80"}, "::1", "[::1]:80", true},
		{[]string{"::1"}, "::1", "[::1]:81", true},
		{[]string{"169.254.0.0/16"}, "x.example", "169.254.169.254:80", false},
		{[]string{"0.0.0.0/0"}, "x.example", "169.254.169.254:80", false},
		{[]string{"x.example:80"}, "x.example", "169.254.169.254:80", false},
		{[]string{"169.254.169.254"}, "x.example", "169.254.169.254:80", true},
		{[]string{"169.254.169.254:80"}, "x.example", "169.254.169.254:80", true},
		{[]string{"169.254.169.254/32"}, "x.example", "169.254.169.254:80", true},
		{[]string{"fd00::/8"}, "x.example", "[fd00:ec2::254]:80", false},
		{[]string{"[fd00:ec2::254]:80"}, "x.example", "[fd00:ec2::254]:80", true},
		{[]string{"127.0.0.0/8"}, "x.example", "[64:ff9b::7f00:1]:80", false},
		{[]string{"64:ff9b::/96"}, "x.example", "[64:ff9b::7f00:1]:80", true},
	} {
		p, err := ParsePolicy(tc.allow)
		if err != nil {
			t.Fatal(err)
		}
		err = Check(tc.host, netip.MustParseAddrPort(tc.addr), nil, p)
		if (err == nil) != tc.allowed {
			t.Errorf("allow %q: %s at %s: %v, want allowed %t", tc.allow, tc.host, tc.addr, err, tc.allowed)
		}
	}
}

func TestParsePolicyErrors(t *testing.T) {
	for _, e := range []string{"", "host:port", "host:99999", "10.0.0.0/33", "a b:80", ":80", "10.0.0/8"} {
		_, err := ParsePolicy([]string{e})
		if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), fmt.Sprintf("%q", e)) {
			t.Errorf("ParsePolicy(%q): %v, want an Invalid error that quotes it", e, err)
		}
	}
}

// The setting that a refusal names must allow what was refused.
func TestRefusalNamesTheCure(t *testing.T) {
	for host, addr := range map[string]string{
		"a.example": "10.0.0.1:8080", "127.0.0.1": "127.0.0.1:80", "::1": "[::1]:80",
		"m.example": "169.254.169.254:80", "e.example": "[fd00:ec2::254]:80",
	} {
		ap := netip.MustParseAddrPort(addr)
		err := Check(host, ap)
		_, cure, _ := strings.Cut(err.Error(), `["`)
		cure, _, _ = strings.Cut(cure, `"]`)
		p, perr := ParsePolicy([]string{cure})
		if perr != nil || Check(host, ap, p) != nil {
			t.Errorf("%v: the entry %q does not allow it (%v)", err, cure, perr)
		}
	}
}

func staticLookup(m map[string][]string) LookupFunc {
	return func(_ context.Context, _, host string) ([]netip.Addr, error) {
		var out []netip.Addr
		for _, a := range m[host] {
			out = append(out, netip.MustParseAddr(a))
		}
		if out == nil {
			return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
		}
		return out, nil
	}
}

func TestResolverCache(t *testing.T) {
	now := time.Unix(0, 0)
	asked := map[string]int{}
	base := staticLookup(map[string][]string{"a.example": {"::ffff:1.2.3.4"}, "b.example": {"1.2.3.5"}})
	r := NewResolver(ResolverConfig{
		TTL: time.Minute, NegativeTTL: 10 * time.Second, Size: 2, Now: func() time.Time { return now },
		Lookup: func(ctx context.Context, n, host string) ([]netip.Addr, error) {
			asked[host]++
			if host == "temp.example" {
				return nil, &net.DNSError{Err: "server misbehaving", IsTemporary: true}
			}
			return base(ctx, n, host)
		},
	})
	step := func(after time.Duration, host string, wantAsked int, wantErr bool) {
		t.Helper()
		now = now.Add(after)
		_, err := r.Lookup(t.Context(), host)
		if asked[host] != wantAsked || (err != nil) != wantErr {
			t.Errorf("%s: asked %d times, error %v; want %d, %t", host, asked[host], err, wantAsked, wantErr)
		}
	}
	step(0, "a.example", 1, false)
	step(59*time.Second, "a.example", 1, false)
	step(time.Second, "a.example", 2, false)
	step(0, "none.example", 1, true)
	step(9*time.Second, "none.example", 1, true)
	step(time.Second, "none.example", 2, true)
	step(0, "a.example", 2, false) // used last, so stays
	step(0, "b.example", 1, false) // pushes none.example out
	step(0, "a.example", 2, false)
	step(0, "none.example", 3, true)
	step(0, "temp.example", 1, true)
	step(0, "temp.example", 2, true)
	if len(r.entries) != r.lru.Len() || r.lru.Len() > 2 {
		t.Errorf("%d entries, %d in order; want at most 2", len(r.entries), r.lru.Len())
	}
	addrs, err := r.Lookup(t.Context(), "a.example")
	if diff := cmp.Diff("[1.2.3.4]", fmt.Sprint(addrs)); err != nil || diff != "" {
		t.Errorf("addresses: %v %s", err, diff)
	}
}

func TestResolverSharesLookups(t *testing.T) {
	var asked atomic.Int32
	entered, release := make(chan struct{}, 8), make(chan struct{})
	r := NewResolver(ResolverConfig{
		TTL: time.Minute,
		Lookup: func(ctx context.Context, _, _ string) ([]netip.Addr, error) {
			asked.Add(1)
			entered <- struct{}{}
			select {
			case <-release:
				return []netip.Addr{netip.MustParseAddr("1.2.3.4")}, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		},
	})
	first, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := r.Lookup(first, "a.example"); !errors.Is(err, context.Canceled) {
			t.Errorf("called-off lookup: %v", err)
		}
	})
	<-entered
	for range 10 {
		wg.Go(func() {
			if _, err := r.Lookup(t.Context(), "a.example"); err != nil {
				t.Errorf("waiting lookup: %v", err)
			}
		})
	}
	cancel()  // one of the ten takes over
	<-entered // and asks
	close(release)
	wg.Wait()
	if n := asked.Load(); n != 2 {
		t.Errorf("asked %d times, want 2", n)
	}
}

func listen(t *testing.T, addr string) (net.Listener, uint16) {
	t.Helper()
	l, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l, l.Addr().(*net.TCPAddr).AddrPort().Port()
}

func TestDial(t *testing.T) {
	_, port := listen(t, "127.0.0.1:0")
	d := &Dialer{
		Timeout: 5 * time.Second,
		Resolver: NewResolver(ResolverConfig{Lookup: staticLookup(map[string][]string{
			"in.example":    {"127.0.0.1"},
			"mixed.example": {"169.254.169.254", "10.255.255.1", "127.0.0.1"},
			"dead.example":  {"127.0.0.9", "127.0.0.1"}, // nothing listens on the first
			"meta.example":  {"169.254.169.254"},
		})}),
	}
	loopback, err := ParsePolicy([]string{"127.0.0.0/8"})
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		host  string
		extra *Policy
		want  string // peer, or part of the error
	}{
		{"127.0.0.1", nil, "127.0.0.1 is loopback"},
		{"2130706433", nil, "127.0.0.1 is loopback"},
		{"0x7f.0.0.1", nil, "127.0.0.1 is loopback"},
		{"[::ffff:127.0.0.1]", nil, "is loopback"},
		{"in.example", nil, "in.example (127.0.0.1) is loopback"},
		{"meta.example", loopback, "cloud metadata"},
		{"none.example", loopback, "no such host"},
		{"in.example", loopback, "127.0.0.1"},
		{"mixed.example", loopback, "127.0.0.1"},
		{"dead.example", loopback, "127.0.0.1"},
		{"127.1", loopback, "127.0.0.1"},
	} {
		c, err := d.Dial(t.Context(), tc.host, port, tc.extra)
		if err != nil {
			if !strings.Contains(err.Error(), tc.want) || strings.HasPrefix(tc.want, "127.0.0.1") && tc.extra != nil {
				t.Errorf("Dial(%s): %v, want %q", tc.host, err, tc.want)
			}
			continue
		}
		if got := c.RemoteAddr().(*net.TCPAddr).IP.String(); got != tc.want {
			t.Errorf("Dial(%s) reached %s, want %q", tc.host, got, tc.want)
		}
		_ = c.Close()
	}
	c, err := d.DialUnchecked(t.Context(), "in.example", port)
	if err != nil {
		t.Fatalf("unchecked: %v", err)
	}
	_ = c.Close()
}

// A name that changes its address between check and connection can't get
// through: the address that was checked is the one connected to.
func TestDialPinsAddress(t *testing.T) {
	_, port := listen(t, "127.0.0.1:0")
	n := 0
	d := &Dialer{Resolver: NewResolver(ResolverConfig{Lookup: func(context.Context, string, string) ([]netip.Addr, error) {
		n++
		if n%2 == 1 {
			return []netip.Addr{netip.MustParseAddr("192.0.2.1")}, nil
		}
		return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
	}})}
	for range 4 {
		before := n
		_, err := d.Dial(t.Context(), "rebind.example", port, nil)
		if r := (*Refused)(nil); !errors.As(err, &r) {
			t.Fatalf("error %v, want a refusal", err)
		}
		if n != before+1 {
			t.Fatalf("%d lookups for one dial", n-before)
		}
	}
}

func TestDialTimeout(t *testing.T) {
	d := &Dialer{
		Timeout: 10 * time.Millisecond,
		Resolver: NewResolver(ResolverConfig{Lookup: func(ctx context.Context, _, _ string) ([]netip.Addr, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}}),
	}
	if _, err := d.Dial(t.Context(), "slow.example", 80, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want a deadline", err)
	}
}

func FuzzCanonicalHost(f *testing.F) {
	for _, s := range []string{"example.org", "0x7f.1", "[::1]", "１２７.1", "a..b", "xn--a", "1.2.3.4.", "%31.1", ".."} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		name, addr, err := CanonicalHost(s)
		if err != nil {
			return
		}
		again, addr2, err := CanonicalHost(name)
		if err != nil || again != name || addr2 != addr {
			t.Errorf("CanonicalHost(%q) = %q %v, and of that %q %v %v", s, name, addr, again, addr2, err)
		}
	})
}
