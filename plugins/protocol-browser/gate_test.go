package protocolbrowser

import (
	"context"
	"io"
	"net"
	"testing"
	"time"
)

// FuzzGate sends strangers' bytes to a gate: whatever they are, it connects only to hosts
// that its rule has taken, and ends.
func FuzzGate(f *testing.F) {
	for _, s := range []string{
		"\x05\x01\x00\x05\x01\x00\x03\x07example\x00\x50data", "\x05\x00\x05\x01\x00\x01\x7f\x00\x00\x01\x01\xbb", "\x05\x02\x00\x02\x05\x01\x00\x04" + "0123456789abcdef" + "\x00\x19",
		"\x05\x01\x00\x05\x02\x00\x03\x01a\x00\x50", "\x04\x01", "\x05\xff", "\x05\x01\x00\x05\x01\x00\x03\x00\x00\x50", "\x05\x01\x00\x05\x01\x00\x09", "",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		taken := map[string]bool{}
		g := &gate{conns: map[net.Conn]bool{}, peers: map[string]string{}, failed: map[string]error{}}
		g.ctx, g.cancel = context.WithCancel(t.Context())
		defer g.cancel()
		g.rules = gateRules{
			maxConns: 1, maxBytes: 1 << 20, timeout: 10 * time.Second,
			host: func(h string) error {
				if len(h)%2 == 0 {
					return errGate("no")
				}
				taken[h] = true
				return nil
			},
			dial: func(_ context.Context, h string, _ uint16) (net.Conn, error) {
				if len(taken) != 1 || h == "" {
					t.Errorf("connects to %q, taken are %v", h, taken)
				}
				a, b := net.Pipe()
				go func() { // a server that reads all and says a word
					_, _ = io.WriteString(b, "hi")
					_, _ = io.Copy(io.Discard, b)
					_ = b.Close()
				}()
				return a, nil
			},
		}
		client, server := net.Pipe()
		done := make(chan struct{})
		go func() {
			defer close(done)
			defer server.Close()
			g.serve(server)
		}()
		go func() { _, _ = io.Copy(io.Discard, client) }()
		_, _ = client.Write(in)
		_ = client.Close()
		<-done
	})
}
