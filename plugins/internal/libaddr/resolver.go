package libaddr

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"
)

// LookupFunc resolves a canonical host name; net.Resolver.LookupNetIP has this
// form.
type LookupFunc func(ctx context.Context, network, host string) ([]netip.Addr, error)

// ResolverConfig sets up a Resolver. Zero fields get the defaults given.
type ResolverConfig struct {
	Lookup      LookupFunc       // the system's resolver
	TTL         time.Duration    // how long answers are kept; 0 keeps nothing
	NegativeTTL time.Duration    // how long "no such host" is kept; TTL, at most 30s
	Size        int              // hosts kept; 65536
	Concurrent  int              // lookups at once; 64
	Timeout     time.Duration    // of one lookup; 10s
	Now         func() time.Time // time.Now
}

// Resolver resolves host names with a bounded cache. Lookups of one host at
// the same time become one. It is safe for concurrent use and starts no
// goroutines.
//
// The operating system's interface does not tell the records' own TTL, so
// answers are kept for a fixed time. Temporary failures are not kept.
type Resolver struct {
	cfg   ResolverConfig
	slots chan struct{}

	mu      sync.Mutex
	entries map[string]*list.Element // of *entry
	lru     *list.List               // most recently used first
}

type entry struct {
	host    string
	done    chan struct{} // closed when the lookup has ended
	addrs   []netip.Addr
	err     error
	expires time.Time
}

// NewResolver returns a Resolver.
func NewResolver(cfg ResolverConfig) *Resolver {
	if cfg.Lookup == nil {
		cfg.Lookup = net.DefaultResolver.LookupNetIP
	}
	if cfg.NegativeTTL == 0 {
		cfg.NegativeTTL = min(cfg.TTL, 30*time.Second)
	}
	if cfg.Size <= 0 {
		cfg.Size = 1 << 16
	}
	if cfg.Concurrent <= 0 {
		cfg.Concurrent = 64
	}
	if cfg.Timeout <= 0 {
		cfg.Timeout = 10 * time.Second
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Resolver{
		cfg: cfg, slots: make(chan struct{}, cfg.Concurrent),
		entries: make(map[string]*list.Element), lru: list.New(),
	}
}

// Lookup returns the addresses of a canonical host name. The slice is shared
// and must not be changed. Errors are those of the lookup.
func (r *Resolver) Lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	for {
		e, mine := r.entry(host)
		if mine {
			r.resolve(ctx, e)
			return e.addrs, e.err
		}
		select {
		case <-e.done:
		case <-ctx.Done():
			return nil, fmt.Errorf("look up %s: %w", host, ctx.Err())
		}
		// Whoever looked it up may have been called off; that is no answer
		// for us.
		if e.err == nil || !errors.Is(e.err, context.Canceled) || ctx.Err() != nil {
			return e.addrs, e.err
		}
	}
}

// entry returns the live entry of host, and whether the caller has to fill it.
func (r *Resolver) entry(host string) (e *entry, mine bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if el, ok := r.entries[host]; ok {
		e := el.Value.(*entry)
		select {
		case <-e.done:
			if r.cfg.Now().Before(e.expires) {
				r.lru.MoveToFront(el)
				return e, false
			}
			r.remove(el)
		default:
			return e, false
		}
	}
	e = &entry{host: host, done: make(chan struct{})}
	r.entries[host] = r.lru.PushFront(e)
	if r.lru.Len() > r.cfg.Size {
		r.remove(r.lru.Back())
	}
	return e, true
}

func (r *Resolver) remove(el *list.Element) {
	e := r.lru.Remove(el).(*entry)
	if r.entries[e.host] == el {
		delete(r.entries, e.host)
	}
}

func (r *Resolver) resolve(ctx context.Context, e *entry) {
	e.addrs, e.err = r.ask(ctx, e.host)
	ttl := r.cfg.TTL
	if e.err != nil {
		ttl = 0
		if de := (*net.DNSError)(nil); errors.As(e.err, &de) && de.IsNotFound {
			ttl = r.cfg.NegativeTTL
		}
	}
	r.mu.Lock()
	e.expires = r.cfg.Now().Add(ttl)
	close(e.done)
	if ttl <= 0 {
		if el, ok := r.entries[e.host]; ok && el.Value.(*entry) == e {
			r.remove(el)
		}
	}
	r.mu.Unlock()
}

func (r *Resolver) ask(ctx context.Context, host string) ([]netip.Addr, error) {
	select {
	case r.slots <- struct{}{}:
		defer func() { <-r.slots }()
	case <-ctx.Done():
		return nil, fmt.Errorf("look up %s: %w", host, ctx.Err())
	}
	ctx, cancel := context.WithTimeout(ctx, r.cfg.Timeout)
	defer cancel()
	addrs, err := r.cfg.Lookup(ctx, "ip", host)
	if err != nil {
		return nil, fmt.Errorf("look up %s: %w", host, err)
	}
	for i := range addrs {
		addrs[i] = addrs[i].Unmap()
	}
	if len(addrs) == 0 {
		return nil, fmt.Errorf("look up %s: no addresses", host)
	}
	return addrs, nil
}
