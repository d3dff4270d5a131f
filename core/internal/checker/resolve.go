package checker

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/cespare/xxhash/v2"
)

// Resolver finds the addresses of a host; net.Resolver is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Resolved is what the name of one host resolves to.
type Resolved struct {
	Host      string       `json:"host"`
	Addresses []netip.Addr `json:"addresses,omitempty"`
	Error     string       `json:"error,omitempty"` // not found, timeout, server failure, or other words
	Millis    int64        `json:"millis"`
}

// ResolveReport sums up a Resolve.
type ResolveReport struct {
	URLs     int64            `json:"urls"`
	NoHost   int64            `json:"noHost"` // lines without one
	Hosts    int64            `json:"hosts"`  // looked up
	Resolved int64            `json:"resolved"`
	Failed   map[string]int64 `json:"failed,omitempty"` // by kind of error
	Average  time.Duration    `json:"average_ns"`       // of one look-up
	Slowest  time.Duration    `json:"slowest_ns"`
	Elapsed  time.Duration    `json:"elapsed_ns"`
}

// maxHosts bounds the hosts that are remembered, so that each is looked up once; lists with more
// may have some looked up again.
const maxHosts = 2_000_000

// Resolve looks up the hosts of the URLs that each gives it, at most threads at a time and
// each for at most timeout. tell is called for one host at a time, in the order in which they are
// done.
func Resolve(ctx context.Context, r Resolver, each func(func(url string) error) error, threads int, timeout time.Duration, tell func(Resolved) error) (ResolveReport, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	start := time.Now()
	rep := ResolveReport{Failed: map[string]int64{}}
	var sum time.Duration
	var mu sync.Mutex
	hosts := make(chan string)
	var wg sync.WaitGroup
	for range max(threads, 1) {
		wg.Go(func() {
			for h := range hosts {
				x, took := resolve(ctx, r, h, timeout)
				mu.Lock()
				rep.Hosts++
				if x.Error == "" {
					rep.Resolved++
				} else {
					rep.Failed[x.Error]++
				}
				sum += took
				rep.Slowest = max(rep.Slowest, took)
				if err := tell(x); err != nil {
					cancel(err)
				}
				mu.Unlock()
			}
		})
	}
	seen := make(map[uint64]struct{})
	err := each(func(raw string) error {
		rep.URLs++
		h := hostOf(raw)
		if h == "" {
			rep.NoHost++
			return nil
		}
		sum := xxhash.Sum64String(h)
		if _, ok := seen[sum]; ok {
			return nil
		}
		if len(seen) >= maxHosts {
			clear(seen)
		}
		seen[sum] = struct{}{}
		select {
		case hosts <- h:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	})
	close(hosts)
	wg.Wait()
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if rep.Hosts > 0 {
		rep.Average = sum / time.Duration(rep.Hosts)
	}
	rep.Elapsed = time.Since(start)
	return rep, err
}

// hostOf is the host of a URL, or of a line that is only a host's name.
func hostOf(raw string) string {
	if u, err := url.Parse(raw); err == nil && u.Host != "" {
		return strings.ToLower(u.Hostname())
	}
	if strings.ContainsAny(raw, "/:?# ") {
		return ""
	}
	return strings.ToLower(raw)
}

func resolve(ctx context.Context, r Resolver, host string, timeout time.Duration) (Resolved, time.Duration) {
	x := Resolved{Host: host}
	if ip, err := netip.ParseAddr(host); err == nil {
		x.Addresses = []netip.Addr{ip}
		return x, 0
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	start := time.Now()
	ips, err := r.LookupNetIP(ctx, "ip", host)
	took := time.Since(start)
	x.Millis = took.Milliseconds()
	for _, ip := range ips {
		x.Addresses = append(x.Addresses, ip.Unmap())
	}
	if err != nil {
		x.Error, x.Addresses = whyUnresolved(err), nil
	}
	return x, took
}

func whyUnresolved(err error) string {
	var dns *net.DNSError
	switch {
	case !errors.As(err, &dns):
		if errors.Is(err, context.DeadlineExceeded) {
			return "timeout"
		}
		return err.Error()
	case dns.IsNotFound:
		return "not found"
	case dns.IsTimeout:
		return "timeout"
	case dns.IsTemporary:
		return "server failure"
	}
	return dns.Err
}
