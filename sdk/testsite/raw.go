package testsite

import (
	"net"
	"sync"
	"testing"
)

// RawServer is a TCP server that is nothing but a function per connection.
type RawServer struct {
	l     net.Listener
	wg    sync.WaitGroup
	mu    sync.Mutex
	conns map[net.Conn]bool
	total int
	done  bool
}

// StartRaw calls f with every connection to a free port of 127.0.0.1; nothing
// is read or written but by f. Connections are closed when f returns and, with
// the server, when the test ends, which waits for all of them.
func StartRaw(tb testing.TB, f func(net.Conn)) *RawServer {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatalf("start raw test site: %v", err)
	}
	s := &RawServer{l: l, conns: map[net.Conn]bool{}}
	s.wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			if !s.add(c) {
				return
			}
			s.wg.Go(func() {
				f(c)
				_ = c.Close()
				s.mu.Lock()
				delete(s.conns, c)
				s.mu.Unlock()
			})
		}
	})
	tb.Cleanup(s.close)
	return s
}

// Addr returns the server's address and port.
func (s *RawServer) Addr() string { return s.l.Addr().String() }

// URL returns the absolute URL of path on this server.
func (s *RawServer) URL(path string) string { return "http://" + s.Addr() + path }

// Connections returns how many connections were accepted so far.
func (s *RawServer) Connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.total
}

func (s *RawServer) add(c net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.done {
		_ = c.Close()
		return false
	}
	s.conns[c] = true
	s.total++
	return true
}

func (s *RawServer) close() {
	_ = s.l.Close()
	s.mu.Lock()
	s.done = true
	for c := range s.conns {
		_ = c.Close()
	}
	s.mu.Unlock()
	s.wg.Wait()
}
