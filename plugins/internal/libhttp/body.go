package libhttp

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// The reasons in Response.Truncated.
const (
	byLength     = "length"
	byTime       = "time"
	byDisconnect = "disconnect"
)

const (
	firstBuffer  = 32 << 10
	keptBuffer   = 1 << 20 // larger buffers are left to the garbage collector
	trustedHint  = 256 << 10
	ratioFloor   = 1 << 20 // decoded bytes before the compression ratio counts
	encodedSlack = 64 << 10
)

var (
	errTooLong = errors.New("longer than the limit")
	errRatio   = errors.New("decodes to more than the allowed multiple of its size")
)

// wireReader counts the bytes of a body as they come from the connection and
// notes when the last ones came.
type wireReader struct {
	r     io.Reader
	n     int64
	max   int64 // encoded bytes read at most; more is errTooLong
	clock *clock
	err   error // the connection's own error, not the decoder's
}

func (w *wireReader) Read(p []byte) (int, error) {
	if w.n >= w.max {
		return 0, errTooLong
	}
	n, err := w.r.Read(p)
	w.n += int64(n)
	w.clock.progress()
	if err != nil && err != io.EOF {
		w.err = err
	}
	return n, err
}

// buffers are pooled read buffers. The zero value is ready.
type buffers struct{ pool sync.Pool }

// readAll reads r to its end or to limit bytes, and returns bytes of its own
// and why it stopped: nil at the end, errTooLong at the limit, errRatio, or
// r's error. hint, when not negative, is the size expected. ratio is the most
// decoded bytes per byte that wire read, 0 for any.
func (b *buffers) readAll(r io.Reader, limit, hint int64, ratio int, wire *wireReader) ([]byte, error) {
	if hint >= 0 && hint <= trustedHint && hint <= limit {
		return readExact(r, hint)
	}
	pooled, _ := b.pool.Get().(*[]byte)
	if pooled == nil {
		pooled = new([]byte)
		*pooled = make([]byte, 0, firstBuffer)
	}
	buf := (*pooled)[:0]
	var err error
	for err == nil {
		if len(buf) == cap(buf) {
			buf = append(buf, 0)[:len(buf)]
		}
		space := buf[len(buf):cap(buf)]
		if left := limit - int64(len(buf)); int64(len(space)) > left {
			space = space[:left+1] // one more byte tells whether the body ends here
		}
		var n int
		n, err = r.Read(space)
		buf = buf[:len(buf)+n]
		switch {
		case int64(len(buf)) > limit:
			buf, err = buf[:limit], errTooLong
		case ratio > 0 && len(buf) > ratioFloor && int64(len(buf)) > int64(ratio)*wire.n:
			err = errRatio
		}
	}
	if err == io.EOF {
		err = nil
	}
	out := append(make([]byte, 0, len(buf)), buf...)
	if cap(buf) <= keptBuffer {
		*pooled = buf
		b.pool.Put(pooled)
	}
	return out, err
}

// readExact reads a body whose size is known and small straight into place.
func readExact(r io.Reader, size int64) ([]byte, error) {
	buf := make([]byte, size)
	n, err := io.ReadFull(r, buf)
	switch {
	case err == nil: // the connection can be reused once its end was seen
		var one [1]byte
		if _, err = r.Read(one[:]); err == io.EOF {
			err = nil
		}
	case err == io.EOF && size > 0:
		err = io.ErrUnexpectedEOF
	case err == io.EOF:
		err = nil
	}
	return buf[:n], err
}

var (
	errTotal = errors.New("time for the whole exchange is over")
	errIdle  = errors.New("no data within read_timeout")
)

// clock ends an exchange when its whole time is over or when its body has
// brought nothing for the idle time. One timer serves both: it is not reset
// with every read but looks, when it fires, how long ago the last one was.
type clock struct {
	end    time.Time
	idle   time.Duration
	cancel func(error)
	last   atomic.Int64 // nanoseconds since start of the last progress in the body; 0 before
	start  time.Time
	timer  *time.Timer
	fired  atomic.Bool
}

func newClock(start time.Time, total, idle time.Duration, cancel func(error)) *clock {
	c := &clock{start: start, end: start.Add(total), idle: idle, cancel: cancel}
	c.timer = time.AfterFunc(time.Hour, c.tick) // so that tick finds the field set
	c.timer.Reset(min(total, idle))
	return c
}

func (c *clock) progress() { c.last.Store(int64(time.Since(c.start)) | 1) }

// rest says that there is no body on its way: the next head has its own limit.
func (c *clock) rest() { c.last.Store(0) }

func (c *clock) tick() {
	now := time.Since(c.start)
	left := c.end.Sub(c.start) - now
	if left <= 0 {
		c.fired.Store(true)
		c.cancel(errTotal)
		return
	}
	next := c.idle
	if last := c.last.Load(); last != 0 {
		if next = time.Duration(last) + c.idle - now; next <= 0 {
			c.fired.Store(true)
			c.cancel(errIdle)
			return
		}
	}
	c.timer.Reset(min(next, left))
}

// stop ends the clock. A tick under way may still call cancel, which does no
// harm after the exchange.
func (c *clock) stop() { c.timer.Stop() }

// truncation turns why reading a body stopped into the reason for Truncated
// and words for the status; both are empty for a whole body.
func truncation(err error, wire *wireReader, timedOut bool) (reason, message string) {
	switch {
	case err == nil:
		return "", ""
	case timedOut:
		return byTime, "body cut: time is over"
	case errors.Is(err, errTooLong):
		return byLength, ""
	case errors.Is(err, errRatio):
		return byLength, "body cut: " + errRatio.Error()
	case wire.err != nil:
		return byDisconnect, fmt.Sprintf("body cut: %v", wire.err)
	}
	return byDisconnect, fmt.Sprintf("body cut: %v", err)
}
