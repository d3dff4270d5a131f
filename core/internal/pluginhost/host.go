package pluginhost

import (
	"context"
	"time"

	"google.golang.org/grpc"
)

// Host runs the plugin processes of one command.
type Host struct{}

// Plugin is one plugin of a Host. The handle stays the same when the process
// behind it is replaced.
type Plugin struct{}

// Plugin returns the handle of a chosen plugin, or nil when there is none of
// that id.
func (h *Host) Plugin(id string) *Plugin { return nil }

// Do makes one call that carries n records.
func (p *Plugin) Do(ctx context.Context, n int, call func(context.Context, grpc.ClientConnInterface) error) error {
	return ErrClosed
}

// DoWithin is Do with its own time limit instead of Options.CallTimeout.
func (p *Plugin) DoWithin(ctx context.Context, limit time.Duration, n int, call func(context.Context, grpc.ClientConnInterface) error) error {
	return ErrClosed
}

// Quarantine makes the call for a single record in a process apart.
func (p *Plugin) Quarantine(ctx context.Context, limit time.Duration, call func(context.Context, grpc.ClientConnInterface) error) error {
	return ErrClosed
}
