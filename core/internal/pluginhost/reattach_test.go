package pluginhost

import (
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/handshake"
)

// TestReattach uses a plugin that somebody else started: here this process.
func TestReattach(t *testing.T) {
	dir, err := os.MkdirTemp("", "r")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer()
	sdk.NewServer(chaos(), hclog.NewNullLogger()).Register(s)
	hs := health.NewServer()
	hs.SetServingStatus(handshake.HealthService, grpc_health_v1.HealthCheckResponse_SERVING)
	grpc_health_v1.RegisterHealthServer(s, hs)
	go func() { _ = s.Serve(l) }()
	defer s.Stop()

	h, p := newHost(t, Options{
		Reattach: map[string]string{"urlfilter-chaos": "unix:" + filepath.Join(dir, "s")}, CallTimeout: time.Millisecond,
	}, nil)
	if err := h.Start(t.Context(), []string{"urlfilter-chaos"}); err != nil {
		t.Fatal(err)
	}
	if got, err := ask(t.Context(), p, "sleep:20ms"); err != nil || got != "sleep:20ms" {
		t.Errorf("a call under a debugger has no time limit: %q, %v", got, err)
	}
	if err := h.Close(t.Context()); err != nil {
		t.Error(err)
	}
	bad, _ := newHost(t, Options{Reattach: map[string]string{"urlfilter-chaos": "/tmp/x"}}, nil)
	if err := bad.Start(t.Context(), []string{"urlfilter-chaos"}); !fault.Is(err, fault.Invalid) {
		t.Errorf("a bad address: %v", err)
	}
}

// TestSweep leaves folders of living runs alone and removes those of dead ones.
func TestSweep(t *testing.T) {
	parent, err := os.MkdirTemp("", "s")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(parent) }()
	living, err := newRunDir(parent)
	if err != nil {
		t.Fatal(err)
	}
	dead, err := newRunDir(parent)
	if err != nil {
		t.Fatal(err)
	}
	_ = dead.lock.Close()
	other := filepath.Join(parent, "other")
	if err := os.Mkdir(other, 0o700); err != nil {
		t.Fatal(err)
	}
	exists := func(path string) bool { _, err := os.Stat(path); return err == nil }
	sweep(parent, time.Now())
	if !exists(dead.path) {
		t.Error("a fresh folder was removed")
	}
	sweep(parent, time.Now().Add(time.Hour))
	if !exists(living.path) || exists(dead.path) || !exists(other) {
		t.Errorf("living %v, dead %v, other %v", exists(living.path), exists(dead.path), exists(other))
	}
	if info, err := os.Stat(living.path); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if err := living.remove(); err != nil || exists(living.path) {
		t.Error(err)
	}
}
