package chain

import (
	"context"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/manifest"
)

// process is what the chains want of a plugin process; *pluginhost.Plugin is
// one. The connection given to a call is a generation of the process: see
// generation.
type process interface {
	// Do makes one call that carries n records.
	Do(ctx context.Context, n int, call func(context.Context, grpc.ClientConnInterface) error) error
	// DoWithin is Do with its own time limit instead of the host's.
	DoWithin(ctx context.Context, limit time.Duration, n int, call func(context.Context, grpc.ClientConnInterface) error) error
	// Quarantine makes the call for a single record in a process apart; limit 0
	// means the host's time limit.
	Quarantine(ctx context.Context, limit time.Duration, call func(context.Context, grpc.ClientConnInterface) error) error
}

// member is a plugin as the chains see it: a process, or an implementation in
// this process.
type member struct {
	id       string
	man      *manifest.Manifest
	settings sdk.Settings
	proc     process         // nil for a local plugin
	local    *sdk.Extensions // nil for a process
	fetchers atomic.Pointer[fetcher]

	calls, records, errors, drops, retries atomic.Int64
}

func newMember(m *manifest.Manifest, settings sdk.Settings, proc process, local *sdk.Extensions) *member {
	return &member{id: m.ID, man: m, settings: settings, proc: proc, local: local}
}

// provides returns the member's extensions of point.
func (m *member) provides(point string) []manifest.Provide {
	var out []manifest.Provide
	for _, p := range m.man.Provides {
		if p.Point == point {
			out = append(out, p)
		}
	}
	return out
}

// generation returns which process of a plugin cc leads to; it differs from
// that of every process before.
func generation(cc grpc.ClientConnInterface) uint64 {
	if g, ok := cc.(interface{ Generation() uint64 }); ok {
		return g.Generation()
	}
	return 0
}
