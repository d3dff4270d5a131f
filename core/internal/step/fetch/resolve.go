package fetch

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/gonutch/crawler/core/internal/urlkey"
)

// Resolver finds the addresses of a host; net.Resolver is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Limits of looking hosts up for fetcher.queue_mode = "byIP".
const (
	resolveParallel = 32
	resolveTimeout  = 5 * time.Second
	resolveTTL      = 30 * time.Minute
	resolveMax      = 200_000
)

// addresses knows the address that stands for each host, so that hosts on one
// server share a queue. A host that can't be resolved is a queue of its own;
// its requests fail by themselves.
type addresses struct {
	resolver Resolver

	mu    sync.Mutex
	known map[string]address
}

type address struct {
	ip    string
	until time.Time
}

func newAddresses(r Resolver) *addresses {
	if r == nil {
		r = net.DefaultResolver
	}
	return &addresses{resolver: r, known: map[string]address{}}
}

// resolve looks up the hosts of urls that are not known at now, several at a time.
func (a *addresses) resolve(ctx context.Context, now time.Time, urls []string) {
	todo := map[string]bool{}
	a.mu.Lock()
	for _, u := range urls {
		h := urlkey.Host(u)
		if e, ok := a.known[h]; h != "" && (!ok || !now.Before(e.until)) {
			todo[h] = true
		}
	}
	if len(a.known)+len(todo) > resolveMax {
		clear(a.known)
	}
	a.mu.Unlock()
	slots := make(chan struct{}, resolveParallel)
	var wg sync.WaitGroup
	for h := range todo {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			ip := a.lookup(ctx, h)
			a.mu.Lock()
			a.known[h] = address{ip: ip, until: now.Add(resolveTTL)}
			a.mu.Unlock()
		})
	}
	wg.Wait()
}

// lookup returns the smallest address of host, "" when there is none.
func (a *addresses) lookup(ctx context.Context, host string) string {
	if ip, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		return ip.String()
	}
	ctx, cancel := context.WithTimeout(ctx, resolveTimeout)
	defer cancel()
	ips, err := a.resolver.LookupNetIP(ctx, "ip", host)
	if err != nil || len(ips) == 0 {
		return ""
	}
	least := ips[0].Unmap()
	for _, ip := range ips[1:] {
		if ip = ip.Unmap(); ip.Less(least) {
			least = ip
		}
	}
	return least.String()
}

// of returns the address that was found for the host of url.
func (a *addresses) of(url string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.known[urlkey.Host(url)].ip
}
