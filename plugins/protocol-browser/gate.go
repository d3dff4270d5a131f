package protocolbrowser

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gonutch/crawler/plugins/internal/libaddr"
)

// gate is the only way of one page's requests into the network: a SOCKS5 server
// (RFC 1928, CONNECT without authentication) on a port of its own, that the page's
// browser context has as its proxy. The browser hands over host names unresolved,
// so that the address is looked up, checked and connected to here, and there is
// no second look-up that another answer could come from.
//
// Whatever in the browser asks for something, be it a script, a worker, a WebSocket or
// a prefetch, comes through here; what is counted and stopped by request
// (package cdproto's Fetch domain) is a convenience on top.
type gate struct {
	l      net.Listener
	rules  gateRules
	ctx    context.Context //nolint:containedctx // of the connections, which end with the gate
	cancel context.CancelFunc
	wg     sync.WaitGroup
	bytes  atomic.Int64

	mu     sync.Mutex
	conns  map[net.Conn]bool
	opened int
	peers  map[string]string // host:port → address connected to last
	failed map[string]error  // host:port → why the last connection was not made
}

// gateRules are what a gate lets through.
type gateRules struct {
	dial     func(ctx context.Context, host string, port uint16) (net.Conn, error)
	host     func(host string) error // nil error: may be connected to
	maxConns int                     // over the gate's life
	maxBytes int64                   // in both directions together
	timeout  time.Duration           // of one connection's making
}

// errGate is a connection refused by a limit or rule of the plugin.
type errGate string

func (e errGate) Error() string { return string(e) }

// openGate starts a gate on the loopback address; close ends it and all its
// connections.
func openGate(rules gateRules) (*gate, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("open the browser's way to the network: %w", err)
	}
	g := &gate{l: l, rules: rules, conns: map[net.Conn]bool{}, peers: map[string]string{}, failed: map[string]error{}}
	g.ctx, g.cancel = context.WithCancel(context.Background())
	g.wg.Go(g.accept)
	return g, nil
}

// proxy is the gate's address in the form of the browser's --proxy-server.
func (g *gate) proxy() string { return "socks5://" + g.l.Addr().String() }

func (g *gate) close() {
	g.cancel()
	_ = g.l.Close()
	g.mu.Lock()
	for c := range g.conns {
		_ = c.Close()
	}
	g.mu.Unlock()
	g.wg.Wait()
}

func (g *gate) accept() {
	for {
		c, err := g.l.Accept()
		if err != nil {
			if g.ctx.Err() != nil {
				return
			}
			select { // such as too many open files
			case <-time.After(10 * time.Millisecond):
				continue
			case <-g.ctx.Done():
				return
			}
		}
		if !g.keep(c) {
			continue
		}
		g.wg.Go(func() {
			defer g.drop(c)
			g.serve(c)
		})
	}
}

// keep notes c as to be closed with the gate; false, and c is closed, when that has happened.
func (g *gate) keep(c net.Conn) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ctx.Err() != nil {
		_ = c.Close()
		return false
	}
	g.conns[c] = true
	return true
}

func (g *gate) drop(c net.Conn) {
	g.mu.Lock()
	delete(g.conns, c)
	g.mu.Unlock()
	_ = c.Close()
}

// Replies of RFC 1928 section 6.
const (
	socksOK          = 0
	socksFailure     = 1
	socksNotAllowed  = 2
	socksUnreachable = 4
	socksCommand     = 7
)

func (g *gate) serve(c net.Conn) {
	_ = c.SetDeadline(time.Now().Add(g.rules.timeout))
	host, port, err := readSOCKS(c)
	if err != nil {
		return // a client that is not the browser
	}
	if name, _, err := libaddr.CanonicalHost(host); err == nil {
		host = name
	}
	key := net.JoinHostPort(host, strconv.Itoa(int(port)))
	up, err := g.connect(host, port)
	if err != nil {
		g.mu.Lock()
		if len(g.failed) < 1000 {
			g.failed[key] = err
		}
		g.mu.Unlock()
		code := byte(socksUnreachable)
		if isRefusal(err) {
			code = socksNotAllowed
		}
		_, _ = c.Write(socksReply(code))
		return
	}
	if !g.keep(up) {
		return
	}
	defer g.drop(up)
	g.mu.Lock()
	if ap, err := netip.ParseAddrPort(up.RemoteAddr().String()); err == nil && len(g.peers) < 1000 {
		g.peers[key] = ap.Addr().Unmap().String()
	}
	delete(g.failed, key)
	g.mu.Unlock()
	if _, err := c.Write(socksReply(socksOK)); err != nil {
		return
	}
	_ = c.SetDeadline(time.Time{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		g.copy(up, c)
	}()
	g.copy(c, up)
	<-done
}

// connect applies the limits and makes the connection.
func (g *gate) connect(host string, port uint16) (net.Conn, error) {
	name, _, err := libaddr.CanonicalHost(host)
	if err != nil {
		return nil, errGate(err.Error())
	}
	g.mu.Lock()
	g.opened++
	n := g.opened
	g.mu.Unlock()
	switch {
	case n > g.rules.maxConns:
		return nil, errGate(fmt.Sprintf("more than %d connections", g.rules.maxConns))
	case g.bytes.Load() > g.rules.maxBytes:
		return nil, errGate(fmt.Sprintf("more than %d bytes", g.rules.maxBytes))
	}
	if err := g.rules.host(name); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(g.ctx, g.rules.timeout)
	defer cancel()
	return g.rules.dial(ctx, host, port)
}

// isRefusal reports whether err is a decision and not trouble on the way.
func isRefusal(err error) bool {
	refused, own := (*libaddr.Refused)(nil), errGate("")
	return errors.As(err, &refused) || errors.As(err, &own)
}

// copy relays until either side ends or the byte limit is passed, and then half
// closes dst, so that what is on its way in the other direction still arrives.
func (g *gate) copy(dst, src net.Conn) {
	buf := make([]byte, 16<<10)
	for {
		n, err := src.Read(buf)
		if n > 0 {
			if g.bytes.Add(int64(n)) > g.rules.maxBytes {
				_ = dst.Close()
				_ = src.Close()
				return
			}
			if _, werr := dst.Write(buf[:n]); werr != nil {
				_ = src.Close()
				return
			}
		}
		if err != nil {
			if t, ok := dst.(interface{ CloseWrite() error }); ok && errors.Is(err, io.EOF) {
				_ = t.CloseWrite()
			} else {
				_ = dst.Close()
			}
			return
		}
	}
}

// peer returns the address last connected to for host:port, and why the last
// connection that failed did.
func (g *gate) peer(key string) (string, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.peers[key], g.failed[key]
}

// refusals returns the connections that were not allowed, by host:port.
func (g *gate) refusals() map[string]error {
	g.mu.Lock()
	defer g.mu.Unlock()
	out := map[string]error{}
	for k, err := range g.failed {
		if isRefusal(err) {
			out[k] = err
		}
	}
	return out
}

func socksReply(code byte) []byte { return []byte{5, code, 0, 1, 0, 0, 0, 0, 0, 0} }

// readSOCKS reads the greeting and the request, and answers the greeting.
func readSOCKS(c io.ReadWriter) (host string, port uint16, err error) {
	var head [4]byte
	if _, err := io.ReadFull(c, head[:2]); err != nil {
		return "", 0, err
	}
	if head[0] != 5 {
		return "", 0, fmt.Errorf("SOCKS version %d", head[0])
	}
	if _, err := io.ReadFull(c, make([]byte, head[1])); err != nil {
		return "", 0, err
	}
	if _, err := c.Write([]byte{5, 0}); err != nil {
		return "", 0, err
	}
	if _, err := io.ReadFull(c, head[:]); err != nil {
		return "", 0, err
	}
	if head[0] != 5 || head[1] != 1 {
		_, _ = c.Write(socksReply(socksCommand))
		return "", 0, fmt.Errorf("SOCKS command %d", head[1])
	}
	switch head[3] {
	case 1, 4:
		b := make([]byte, map[byte]int{1: 4, 4: 16}[head[3]])
		if _, err := io.ReadFull(c, b); err != nil {
			return "", 0, err
		}
		a, _ := netip.AddrFromSlice(b)
		host = a.String()
	case 3:
		var n [1]byte
		if _, err := io.ReadFull(c, n[:]); err != nil {
			return "", 0, err
		}
		b := make([]byte, n[0])
		if _, err := io.ReadFull(c, b); err != nil {
			return "", 0, err
		}
		host = string(b)
	default:
		_, _ = c.Write(socksReply(socksFailure))
		return "", 0, fmt.Errorf("SOCKS address type %d", head[3])
	}
	var p [2]byte
	if _, err := io.ReadFull(c, p[:]); err != nil {
		return "", 0, err
	}
	return host, binary.BigEndian.Uint16(p[:]), nil
}
