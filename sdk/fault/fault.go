// Package fault gives errors a kind that survives the wire: what a caller may
// do about it. It owns the kinds and how to test for them and must not know
// gRPC.
package fault

import (
	"errors"
	"fmt"
)

// Kind says what a caller can do about an error. Kinds are stable across the
// wire and only ever appended to.
type Kind uint8

// The kinds of errors.
const (
	// Permanent: the same call would fail again; drop the record and go on.
	Permanent Kind = iota
	// Transient: trying again later may help.
	Transient
	// Denied: the call is not allowed (address check, credentials).
	Denied
	// Invalid: the input can't be worked on; the caller sent something wrong.
	Invalid
	// Shutdown: the plugin process is gone or going.
	Shutdown
)

// String returns the kind's name in lower case.
func (k Kind) String() string {
	switch k {
	case Permanent:
		return "permanent"
	case Transient:
		return "transient"
	case Denied:
		return "denied"
	case Invalid:
		return "invalid"
	case Shutdown:
		return "shutdown"
	}
	return fmt.Sprintf("unknown(%d)", uint8(k))
}

type fault struct {
	kind Kind
	err  error
}

func (f *fault) Error() string { return f.err.Error() }
func (f *fault) Unwrap() error { return f.err }

// New wraps err with kind. It returns nil when err is nil.
func New(kind Kind, err error) error {
	if err == nil {
		return nil
	}
	return &fault{kind: kind, err: err}
}

// Errorf makes an error of kind; the format takes %w as fmt.Errorf does.
func Errorf(kind Kind, format string, args ...any) error {
	return &fault{kind: kind, err: fmt.Errorf(format, args...)}
}

// KindOf returns the kind of the outermost fault in err's chain, or Permanent
// when there is none.
func KindOf(err error) Kind {
	var f *fault
	if errors.As(err, &f) {
		return f.kind
	}
	return Permanent
}

// Is reports whether err is a fault of kind.
func Is(err error, kind Kind) bool {
	var f *fault
	return errors.As(err, &f) && f.kind == kind
}
