package control

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/gonutch/crawler/sdk/fault"
)

// Limits of the protocol.
const (
	maxRequest  = 1 << 20   // bytes of a query
	maxAnswer   = 128 << 20 // bytes of an answer, or of one value of a stream
	maxRequests = 32        // at a time
	maxRunning  = 10 * time.Minute
)

// SocketName is the socket's name in the crawl directory.
const SocketName = "control.sock"

// Handler answers a verb. It is called from many goroutines at a time; ctx ends
// when the asker goes away or the server closes.
type Handler func(ctx context.Context, query json.RawMessage) (json.RawMessage, error)

// Stream answers a verb with values as they come, until the asker goes away
// (send fails or ctx ends) or there are no more.
type Stream func(ctx context.Context, query json.RawMessage, send func(json.RawMessage) error) error

// Table is what a server answers, by the names of the verbs.
type Table struct {
	Verbs   map[string]Handler
	Streams map[string]Stream
}

// Hello says who serves a crawl directory.
type Hello struct {
	PID     int       `json:"pid"`
	Command string    `json:"command"`
	Version string    `json:"version"`
	Since   time.Time `json:"since"`
}

// ErrNotRunning says that no process answers for the crawl directory.
var ErrNotRunning = errors.New("no crawl is running")

// ErrServed says that another process answers for the crawl directory already.
var ErrServed = errors.New("another process serves the control socket")

// line is one line of a stream, or the body of an error.
type line struct {
	Value json.RawMessage `json:"value,omitempty"`
	End   bool            `json:"end,omitempty"`
	Error string          `json:"error,omitempty"`
	Kind  string          `json:"kind,omitempty"`
}

func errorLine(err error) line {
	l := line{Error: err.Error()}
	for _, k := range kinds() {
		if fault.Is(err, k) {
			l.Kind = k.String()
		}
	}
	return l
}

// err is the error that was sent, or nil.
func (l line) err() error {
	if l.Error == "" {
		return nil
	}
	for _, k := range kinds() {
		if k.String() == l.Kind {
			return fault.New(k, errors.New(l.Error))
		}
	}
	return errors.New(l.Error)
}

func kinds() []fault.Kind {
	return []fault.Kind{fault.Permanent, fault.Transient, fault.Denied, fault.Invalid, fault.Shutdown}
}
