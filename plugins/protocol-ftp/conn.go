package protocolftp

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"github.com/jlaffaye/ftp"

	"github.com/gonutch/crawler/plugins/internal/libaddr"
)

// target says where a connection goes and who logs in: connections with the same target
// are alike.
type target struct {
	implicit bool // encrypted from the start
	host     string
	port     uint16
	user     string
	password string
	allowed  string // the request's AllowPrivate list, joined
}

// session is a control connection, logged in. One request at a time uses it.
type session struct {
	*ftp.ServerConn
	f    *Fetcher
	t    target
	peer netip.Addr
	tls  *tls.Config // nil: plain

	ctx     context.Context //nolint:containedctx // of the request that uses it: the library's functions take none
	control *limited
	unwatch func() bool // of the request that uses the session
	data    *limited    // of the transfer under way
	bound   int64       // bytes of the next transfer; 0: whoever reads sees to it
	refused error       // why the last data connection was not made
	timer   *time.Timer
}

// maxReply bounds what the control connection may say for one request.
const maxReply = 256 << 10

// errTooMuch is the error of a connection that sent more than it may.
var errTooMuch = errors.New("the server sends too much")

// limited is a connection that reads so many bytes at most.
type limited struct {
	net.Conn
	mu   sync.Mutex
	left int64
	soft bool // more than left is the end, not an error
	cut  bool
}

// Read implements io.Reader.
func (l *limited) Read(p []byte) (int, error) {
	l.mu.Lock()
	left := l.left
	l.mu.Unlock()
	if left <= 0 {
		l.mu.Lock()
		l.cut = true
		l.mu.Unlock()
		if l.soft {
			return 0, io.EOF
		}
		return 0, errTooMuch
	}
	n, err := l.Conn.Read(p[:min(int64(len(p)), left)])
	l.mu.Lock()
	l.left -= int64(n)
	l.mu.Unlock()
	return n, err
}

func (l *limited) allow(n int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.left = n
}

// dial connects and logs in.
func (f *Fetcher) dial(ctx context.Context, t target, allowed *libaddr.Policy) (*session, error) {
	s := &session{f: f, t: t, ctx: ctx}
	if t.implicit || f.cfg.Own.TLS == "always" {
		s.tls = f.tls.Clone()
		s.tls.ServerName = t.host
	}
	options := []ftp.DialOption{
		ftp.DialWithDisabledEPSV(!f.cfg.Own.EPSV), ftp.DialWithTrustPasvIP(true), // which dialData judges
		ftp.DialWithShutTimeout(f.cfg.HTTP.ConnectTimeout.D()),
		ftp.DialWithDialFunc(func(_, address string) (net.Conn, error) {
			if s.control == nil {
				return s.dialControl(ctx, allowed)
			}
			return s.dialData(address)
		}),
	}
	switch {
	case t.implicit:
		options = append(options, ftp.DialWithTLS(s.tls))
	case s.tls != nil:
		options = append(options, ftp.DialWithExplicitTLS(s.tls))
	}
	if f.cfg.Own.FollowTalk {
		options = append(options, ftp.DialWithDebugOutput(&talk{f: f, host: t.host}))
	}
	c, err := ftp.Dial(net.JoinHostPort(t.host, strconv.Itoa(int(t.port))), options...)
	if err != nil {
		if s.control != nil {
			_ = s.control.Close()
		}
		return nil, err
	}
	s.ServerConn = c
	if err := c.Login(t.user, t.password); err != nil {
		s.close()
		return nil, &loginError{err}
	}
	return s, nil
}

// loginError is a login that the server did not take.
type loginError struct{ err error }

func (e *loginError) Error() string { return "log in: " + e.err.Error() }
func (e *loginError) Unwrap() error { return e.err }

func (s *session) dialControl(ctx context.Context, allowed *libaddr.Policy) (net.Conn, error) {
	c, err := s.f.dialer.Dial(ctx, s.t.host, s.t.port, allowed)
	if err != nil {
		return nil, err
	}
	if ap, err := netip.ParseAddrPort(c.RemoteAddr().String()); err == nil {
		s.peer = ap.Addr().Unmap()
	}
	s.control = &limited{Conn: c, left: maxReply}
	s.unwatch = s.watch(c)
	if s.t.implicit {
		return tls.Client(s.control, s.tls), nil
	}
	return s.control, nil
}

// watch ends c's reading and writing with the request.
func (s *session) watch(c net.Conn) (stop func() bool) {
	if d, ok := s.ctx.Deadline(); ok {
		_ = c.SetDeadline(d)
	}
	return context.AfterFunc(s.ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) })
}

// dialData connects to the address that the server named for a transfer, which must be
// its own.
func (s *session) dialData(address string) (net.Conn, error) {
	ap, err := netip.ParseAddrPort(address)
	switch {
	case err != nil:
		s.refused = fmt.Errorf("passive address %q: refused: no address", address)
	case ap.Addr().Unmap() != s.peer:
		s.refused = fmt.Errorf("passive address %s is not the server's own, %s: refused", ap, s.peer)
	case ap.Port() < 1024:
		s.refused = fmt.Errorf("passive address %s: refused: ports below 1024 are other services'", ap)
	default:
		s.refused = nil
	}
	if s.refused != nil {
		return nil, s.refused
	}
	// The address has been checked, by the connection to it.
	c, err := s.f.dialer.DialUnchecked(s.ctx, ap.Addr().Unmap().String(), ap.Port())
	if err != nil {
		return nil, err
	}
	s.watch(c)
	s.data = &limited{Conn: c, left: 1 << 62, soft: true}
	if s.bound > 0 {
		s.data.left = s.bound
	}
	if s.tls != nil {
		// Servers want the session of the control connection continued, which the
		// configuration's cache does.
		return tls.Client(s.data, s.tls), nil
	}
	return s.data, nil
}

func (s *session) close() {
	if s.timer != nil {
		s.timer.Stop()
	}
	_ = s.control.SetDeadline(time.Now().Add(time.Second)) // for a polite end
	if s.ServerConn != nil {
		_ = s.Quit()
	}
	_ = s.control.Close()
}

// talk logs what a server says.
type talk struct {
	f    *Fetcher
	host string
}

// Write implements io.Writer.
func (t *talk) Write(p []byte) (int, error) {
	for line := range bytes.Lines(p) {
		t.f.cfg.Logger.Debug("ftp", "host", t.host, "reply", string(bytes.TrimSpace(line[:min(len(line), 500)])))
	}
	return len(p), nil
}

// idle keeps control connections between requests, one for each target.
type idle struct {
	mu     sync.Mutex
	kept   map[target]*session
	closed bool
}

// maxIdle bounds the connections kept.
const maxIdle = 256

// take returns a kept session, nil when there is none.
func (i *idle) take(t target) *session {
	i.mu.Lock()
	defer i.mu.Unlock()
	s := i.kept[t]
	if s == nil {
		return nil
	}
	delete(i.kept, t)
	if !s.timer.Stop() {
		return nil // it is being closed
	}
	return s
}

// put keeps s for so long, or closes it.
func (i *idle) put(s *session, d time.Duration) {
	i.mu.Lock()
	if i.closed || i.kept[s.t] != nil || len(i.kept) >= maxIdle {
		i.mu.Unlock()
		s.close()
		return
	}
	i.kept[s.t] = s
	s.timer = time.AfterFunc(d, func() {
		i.mu.Lock()
		if i.kept[s.t] == s {
			delete(i.kept, s.t)
		}
		i.mu.Unlock()
		s.close()
	})
	i.mu.Unlock()
}

func (i *idle) close() {
	i.mu.Lock()
	i.closed = true
	kept := i.kept
	i.kept = map[target]*session{}
	i.mu.Unlock()
	for _, s := range kept {
		if s.timer.Stop() {
			s.close()
		}
	}
}
