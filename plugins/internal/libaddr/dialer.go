package libaddr

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"time"
)

// Dialer connects to hosts whose addresses its policy or the caller's allows.
// It is safe for concurrent use.
type Dialer struct {
	Resolver *Resolver
	Policy   *Policy       // of the configuration; nil allows public addresses only
	Filter   *Filter       // checked besides; nil takes all
	Timeout  time.Duration // from lookup to connection; 0 means none
	// Stagger is the head start of one address before the next is tried beside
	// it (RFC 8305, connection attempt delay); 0 means 250ms.
	Stagger time.Duration
}

// Dial resolves host, drops every address that neither d.Policy nor extra
// allows, and connects to one of the rest. When none is left the error is a
// *Refused. host may be any spelling that CanonicalHost takes.
func (d *Dialer) Dial(ctx context.Context, host string, port uint16, extra *Policy) (net.Conn, error) {
	ctx, cancel := d.deadline(ctx)
	defer cancel()
	name, addrs, err := d.addresses(ctx, host)
	if err != nil {
		return nil, err
	}
	allowed := make([]netip.AddrPort, 0, len(addrs))
	var refused error
	for _, a := range addrs {
		ap := netip.AddrPortFrom(a, port)
		if err := d.Check(name, ap, extra); err != nil {
			if refused == nil {
				refused = err
			}
			continue
		}
		allowed = append(allowed, ap)
	}
	if len(allowed) == 0 {
		return nil, refused
	}
	return d.race(ctx, name, allowed)
}

// Check is the package's Check with the dialer's own policy and filter. It is
// for addresses that somebody else connects to.
func (d *Dialer) Check(name string, ap netip.AddrPort, extra *Policy) error {
	if err := Check(name, ap, d.Policy, extra); err != nil {
		return err
	}
	return d.Filter.Check(name, ap)
}

// DialUnchecked connects to host whatever its addresses are. It is for what
// the configuration itself names, such as a proxy.
func (d *Dialer) DialUnchecked(ctx context.Context, host string, port uint16) (net.Conn, error) {
	ctx, cancel := d.deadline(ctx)
	defer cancel()
	name, addrs, err := d.addresses(ctx, host)
	if err != nil {
		return nil, err
	}
	targets := make([]netip.AddrPort, len(addrs))
	for i, a := range addrs {
		targets[i] = netip.AddrPortFrom(a, port)
	}
	return d.race(ctx, name, targets)
}

func (d *Dialer) deadline(ctx context.Context) (context.Context, context.CancelFunc) {
	if d.Timeout <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, d.Timeout, fmt.Errorf("no connection within %s: %w", d.Timeout, context.DeadlineExceeded))
}

func (d *Dialer) addresses(ctx context.Context, host string) (string, []netip.Addr, error) {
	name, a, err := CanonicalHost(host)
	if err != nil {
		return "", nil, err
	}
	if a.IsValid() {
		return name, []netip.Addr{a}, nil
	}
	addrs, err := d.Resolver.Lookup(ctx, name)
	return name, addrs, err
}

// race connects to the first of the addresses that answers: IPv6 and IPv4 in
// turn, each with a head start before the next (RFC 8305).
func (d *Dialer) race(ctx context.Context, name string, addrs []netip.AddrPort) (net.Conn, error) {
	if len(addrs) == 1 {
		return d.connect(ctx, name, addrs[0])
	}
	addrs = interleave(addrs)
	const most = 6 // of what a name can list; the rest would not answer either
	addrs = addrs[:min(len(addrs), most)]
	stagger := d.Stagger
	if stagger <= 0 {
		stagger = 250 * time.Millisecond
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type result struct {
		conn net.Conn
		err  error
	}
	results := make(chan result) // unbuffered: every attempt is waited for below
	start := func(ap netip.AddrPort) {
		c, err := d.connect(ctx, name, ap)
		results <- result{c, err}
	}
	var (
		running, next int
		errs          []error
		won           net.Conn
	)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for running > 0 || won == nil && next < len(addrs) {
		var tick <-chan time.Time
		if won == nil && next < len(addrs) {
			tick = timer.C
		}
		select {
		case <-tick:
			go start(addrs[next])
			next++
			running++
			timer.Reset(stagger)
		case r := <-results:
			running--
			switch {
			case r.err != nil:
				errs = append(errs, r.err)
				timer.Reset(0) // no reason to wait any longer
			case won == nil:
				won = r.conn
				cancel()
			default:
				_ = r.conn.Close()
			}
		}
	}
	if won != nil {
		return won, nil
	}
	return nil, errors.Join(errs...)
}

func (d *Dialer) connect(ctx context.Context, name string, ap netip.AddrPort) (net.Conn, error) {
	var nd net.Dialer
	c, err := nd.DialContext(ctx, "tcp", ap.String())
	if err != nil {
		if cause := context.Cause(ctx); cause != nil && ctx.Err() != nil {
			err = cause
		}
		return nil, fmt.Errorf("connect to %s: %w", name, err)
	}
	return c, nil
}

// interleave orders addresses so that families take turns, keeping the order
// within each.
func interleave(addrs []netip.AddrPort) []netip.AddrPort {
	var six, four []netip.AddrPort
	for _, a := range addrs {
		if a.Addr().Is4() {
			four = append(four, a)
		} else {
			six = append(six, a)
		}
	}
	first, second := six, four
	if addrs[0].Addr().Is4() {
		first, second = four, six
	}
	out := make([]netip.AddrPort, 0, len(addrs))
	for i := range max(len(first), len(second)) {
		if i < len(first) {
			out = append(out, first[i])
		}
		if i < len(second) {
			out = append(out, second[i])
		}
	}
	return slices.Clip(out)
}
