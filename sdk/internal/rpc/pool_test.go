package rpc

import "testing"

func TestPool(t *testing.T) {
	var p pool
	for _, n := range []int{0, 1, 511, 512, 513, 1023, 1024, 1025, 4096, 1 << 20, 1<<20 + 1, 1 << 22, 1<<22 + 1} {
		for range 3 {
			b := p.Get(n)
			if len(*b) != n {
				t.Fatalf("Get(%d) has %d bytes", n, len(*b))
			}
			for i := range *b {
				(*b)[i] = byte(i)
			}
			*b = (*b)[:n/2] // gRPC gives back prefixes
			p.Put(b)
		}
	}
	// A buffer that was not made here serves the sizes it is large enough for.
	odd := make([]byte, 0, 3000)
	for range 100 {
		p.Put(&odd)
	}
	for _, n := range []int{600, 2048, 2049, 3000, 3001, 4096} {
		if b := p.Get(n); len(*b) != n {
			t.Errorf("Get(%d) has %d bytes", n, len(*b))
		}
	}
}
