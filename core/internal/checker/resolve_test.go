package checker

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// zone is a resolver of its own names; "slow" waits for the end.
type zone map[string]string

func (z zone) LookupNetIP(ctx context.Context, _, host string) ([]netip.Addr, error) {
	switch ip, ok := z[host]; {
	case host == "slow":
		<-ctx.Done()
		return nil, &net.DNSError{Err: "i/o timeout", Name: host, IsTimeout: true}
	case host == "broken":
		return nil, &net.DNSError{Err: "server misbehaving", Name: host, IsTemporary: true}
	case ok:
		return []netip.Addr{netip.MustParseAddr(ip)}, nil
	}
	return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
}

func TestResolve(t *testing.T) {
	urls := strings.Fields("http://a.test/1 https://A.test/2 http://b.test:8080/ http://none.test/ http://slow/ http://broken/ http://[::1]:80/ http://192.0.2.7/ b.test mailto:x")
	var got []string
	rep, err := Resolve(t.Context(), zone{"a.test": "192.0.2.1", "b.test": "::ffff:192.0.2.2"}, func(f func(string) error) error {
		for _, u := range urls {
			if err := f(u); err != nil {
				return err
			}
		}
		return nil
	}, 3, 50*time.Millisecond, func(r Resolved) error {
		s := r.Host + " " + r.Error
		for _, a := range r.Addresses {
			s += a.String()
		}
		got = append(got, s)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(got)
	want := []string{"192.0.2.7 192.0.2.7", "::1 ::1", "a.test 192.0.2.1", "b.test 192.0.2.2", "broken server failure", "none.test not found", "slow timeout"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if rep.URLs != 10 || rep.NoHost != 1 || rep.Hosts != 7 || rep.Resolved != 4 || rep.Failed["timeout"] != 1 || rep.Slowest < 50*time.Millisecond || rep.Average <= 0 {
		t.Errorf("%+v", rep)
	}
	boom := errors.New("boom")
	_, err = Resolve(t.Context(), zone{}, func(f func(string) error) error {
		for {
			if err := f("http://x.test/"); err != nil {
				return err
			}
			if err := f("http://192.0.2." + time.Now().Format("05.000") + "/"); err != nil {
				return err
			}
		}
	}, 2, time.Second, func(Resolved) error { return boom })
	if !errors.Is(err, boom) {
		t.Errorf("who is told fails: %v", err)
	}
}
