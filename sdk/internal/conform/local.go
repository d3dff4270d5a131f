package conform

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/handshake"
	"github.com/gonutch/crawler/sdk/internal/rpc"
	"github.com/gonutch/crawler/sdk/manifest"
)

// Local is the Target of a plugin served within this process, on a socket.
type Local struct {
	plugin sdk.Plugin
	m      *manifest.Manifest
}

// NewLocal returns the Target of p, whose manifest is m.
func NewLocal(p sdk.Plugin, m *manifest.Manifest) *Local { return &Local{p, m} }

// Manifest implements Target.
func (l *Local) Manifest() *manifest.Manifest { return l.m }

// closeTimeout is how long a plugin may take to release everything.
const closeTimeout = 10 * time.Second

// Start implements Target.
func (l *Local) Start(context.Context) (grpc.ClientConnInterface, func() error, error) {
	dir, err := os.MkdirTemp("", "plugin")
	if err != nil {
		return nil, nil, err
	}
	socket := filepath.Join(dir, "s")
	lis, err := net.Listen("unix", socket)
	if err != nil {
		return nil, nil, errors.Join(err, os.RemoveAll(dir))
	}
	log := hclog.NewNullLogger()
	s := grpc.NewServer(rpc.ServerOptions(handshake.DefaultMaxMessage, log)...)
	server := sdk.NewServer(l.plugin, log)
	server.Register(s)
	h := health.NewServer()
	h.SetServingStatus(handshake.HealthService, grpc_health_v1.HealthCheckResponse_SERVING)
	grpc_health_v1.RegisterHealthServer(s, h)
	served := make(chan error, 1)
	go func() { served <- s.Serve(lis) }()
	conn, err := grpc.NewClient("unix:"+socket, append(rpc.DialOptions(handshake.DefaultMaxMessage),
		grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	if err != nil {
		s.Stop()
		return nil, nil, errors.Join(err, <-served, os.RemoveAll(dir))
	}
	return conn, func() error {
		closed := make(chan error, 1)
		go func() { closed <- server.Close() }()
		var late error
		select {
		case err = <-closed:
		case <-time.After(closeTimeout):
			late = fmt.Errorf("the plugin's Close did not return within %v", closeTimeout)
		}
		_ = conn.Close()
		s.Stop()
		return errors.Join(err, late, <-served, os.RemoveAll(dir))
	}, nil
}
