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

type param struct {
	name string
	err  error
}

func (p *param) Error() string { return p.err.Error() }
func (p *param) Unwrap() error { return p.err }

// Param makes an error of kind Invalid that is about the setting or parameter called name, so
// that the host can show the line where it was written. The format takes %w as fmt.Errorf does.
func Param(name, format string, args ...any) error {
	return New(Invalid, &param{name: name, err: fmt.Errorf(format, args...)})
}

// ParamOf returns the name of the setting or parameter that err is about, or "", and what is
// wrong with it, without what err was wrapped with on its way.
func ParamOf(err error) (name, text string) {
	var p *param
	if errors.As(err, &p) {
		return p.name, p.Error()
	}
	return "", err.Error()
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
