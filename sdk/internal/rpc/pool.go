package rpc

import (
	"math/bits"
	"sync"

	"google.golang.org/grpc/mem"
)

const (
	smallestPooled = 10 // power of two; smaller buffers are left to the garbage collector
	largestPooled  = 22
)

// pool keeps the buffers of one connection's messages by powers of two. Unlike
// gRPC's own pool it does not clear them: whoever gets one overwrites it whole,
// and a cleared megabyte for each batch of pages costs as much as its checksum.
// The zero value is ready; it is safe for concurrent use.
type pool struct {
	sizes [largestPooled - smallestPooled + 1]sync.Pool
}

var _ mem.BufferPool = (*pool)(nil)

// Get returns a buffer of n bytes whose content is arbitrary.
func (p *pool) Get(n int) *[]byte {
	if n > 1<<largestPooled || n <= 1<<smallestPooled/2 {
		b := make([]byte, n)
		return &b
	}
	class := max(bits.Len(uint(n-1)), smallestPooled) //nolint:gosec // positive
	if b, ok := p.sizes[class-smallestPooled].Get().(*[]byte); ok {
		*b = (*b)[:n]
		return b
	}
	b := make([]byte, n, 1<<class)
	return &b
}

// Put takes a buffer back.
func (p *pool) Put(b *[]byte) {
	class := bits.Len(uint(cap(*b))) - 1 //nolint:gosec // positive
	if class < smallestPooled || class > largestPooled {
		return
	}
	p.sizes[class-smallestPooled].Put(b)
}
