// Package host is the host's side of the wire: what it hands to go-plugin, and
// the client of the service that every plugin has. The clients of the
// extension points are in their own packages (urlfilter.NewClient and so on).
// It must not know how processes are started, watched or ended.
package host

import (
	"context"
	"encoding/json"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/handshake"
	"github.com/gonutch/crawler/sdk/internal/pb/basev1"
	"github.com/gonutch/crawler/sdk/internal/rpc"
	"github.com/gonutch/crawler/sdk/internal/wire"
)

// Handshake returns go-plugin's handshake configuration.
func Handshake() rpc.HandshakeConfig { return rpc.Handshake() }

// Plugins returns go-plugin's set for a host. Dispensing handshake.PluginName
// from it yields the connection, a *grpc.ClientConn, which go-plugin owns.
func Plugins() rpc.PluginSet { return rpc.Plugins(nil) }

// DialOptions are the options of a host's connection. maxMessage is the limit
// of one message in bytes, both ways; give the plugin the same through
// handshake.EnvMaxMessage.
func DialOptions(maxMessage int) []grpc.DialOption { return rpc.DialOptions(maxMessage) }

// Description is what a running plugin says of itself.
type Description struct {
	Manifest   []byte // the bytes of the plugin.hcl it was built with
	BuildID    string
	SDKVersion string
	APIVersion int
}

// Configuration is what a plugin gets before any other call.
type Configuration struct {
	Own      json.RawMessage            // the plugin "<id>" block as an object, defaults filled in; nil for none
	Sections map[string]json.RawMessage // the core sections that the manifest lists
	DataDir  string                     // "" for none
	LogLevel string                     // "" leaves it as it is
}

// Base is the client of the service that every plugin has. It is safe for
// concurrent use; every call ends with its context.
type Base struct {
	c basev1.PluginServiceClient
	h grpc_health_v1.HealthClient
}

// NewBase returns the client of the plugin that cc leads to.
func NewBase(cc grpc.ClientConnInterface) *Base {
	return &Base{basev1.NewPluginServiceClient(cc), grpc_health_v1.NewHealthClient(cc)}
}

// Describe asks the plugin what it is. It may be asked at any time.
func (b *Base) Describe(ctx context.Context) (Description, error) {
	r, err := b.c.Describe(ctx, &basev1.DescribeRequest{})
	if err != nil {
		return Description{}, fmt.Errorf("describe plugin: %w", wire.Error(ctx, err))
	}
	return Description{
		Manifest: r.GetManifest(), BuildID: r.GetBuildId(), SDKVersion: r.GetSdkVersion(),
		APIVersion: int(r.GetApiVersion()),
	}, nil
}

// Configure hands c to the plugin. Settings that it can't use are an error of
// kind Invalid whose text is the plugin's.
func (b *Base) Configure(ctx context.Context, c Configuration) error {
	raw, err := json.Marshal(struct {
		Own      json.RawMessage            `json:"own,omitempty"`
		Sections map[string]json.RawMessage `json:"sections,omitempty"`
	}{c.Own, c.Sections})
	if err != nil {
		return fault.New(fault.Invalid, fmt.Errorf("encode settings: %w", err))
	}
	_, err = b.c.Configure(ctx, &basev1.ConfigureRequest{Settings: raw, DataDir: wire.Bytes(c.DataDir), LogLevel: c.LogLevel})
	return wire.Error(ctx, err)
}

// Shutdown asks the plugin to release everything. The process stays until it
// is ended through go-plugin or by a signal.
func (b *Base) Shutdown(ctx context.Context) error {
	_, err := b.c.Shutdown(ctx, &basev1.ShutdownRequest{})
	return wire.Error(ctx, err)
}

// Health returns nil when the plugin answers that it is serving.
func (b *Base) Health(ctx context.Context) error {
	r, err := b.h.Check(ctx, &grpc_health_v1.HealthCheckRequest{Service: handshake.HealthService})
	if err != nil {
		return fmt.Errorf("plugin health: %w", wire.Error(ctx, err))
	}
	if s := r.GetStatus(); s != grpc_health_v1.HealthCheckResponse_SERVING {
		return fault.Errorf(fault.Shutdown, "plugin health: %s", s)
	}
	return nil
}
