package pluginhost

import (
	"errors"
	"fmt"

	"github.com/gonutch/crawler/sdk/fault"
)

// ErrStopped ends every call of a plugin that died again and again without
// completing a record, and of one that can't be started. The command stops.
var ErrStopped = errors.New("plugin stopped")

// ErrClosed ends every call after Close.
var ErrClosed = errors.New("plugin host is closed")

// Ways a process can be lost.
const (
	Crashed     = "crashed"
	Hung        = "hung"
	OutOfMemory = "ran out of memory"
)

// LostError says that the process died or was killed during a call, whose
// records are now suspect. Its kind is fault.Shutdown.
type LostError struct {
	Plugin string
	Reason string // Crashed, Hung or OutOfMemory
	Detail string // last line on stderr, the signal or the exit code
}

func (e *LostError) Error() string {
	if e.Detail == "" {
		return fmt.Sprintf("plugin %s %s", e.Plugin, e.Reason)
	}
	return fmt.Sprintf("plugin %s %s: %s", e.Plugin, e.Reason, e.Detail)
}

// Unwrap gives the error its kind.
func (e *LostError) Unwrap() error { return fault.New(fault.Shutdown, errLost) }

var errLost = errors.New("process lost")

// IsLost reports whether err says that the process was lost during the call.
func IsLost(err error) bool {
	var l *LostError
	return errors.As(err, &l)
}
