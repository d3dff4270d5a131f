package conform

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"google.golang.org/grpc"

	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/host"
	"github.com/gonutch/crawler/sdk/internal/rpc"
	"github.com/gonutch/crawler/sdk/manifest"
)

// stopGrace is how long a plugin may take to end when it is asked to.
const stopGrace = 5 * time.Second

// Load reads the manifest of the plugin in folder and finds its program.
func Load(folder string) (*manifest.Manifest, error) {
	file, err := filepath.Abs(filepath.Join(folder, "plugin.hcl"))
	if err != nil {
		return nil, fmt.Errorf("plugin folder %s: %w", folder, err)
	}
	src, err := os.ReadFile(file)
	if err != nil {
		return nil, fault.New(fault.Invalid, fmt.Errorf("read manifest: %w", err))
	}
	m, err := manifest.Read(file, src)
	if err != nil {
		return nil, err
	}
	m.File = file
	if _, err := host.Program(m); err != nil {
		return nil, err
	}
	return m, nil
}

// Program is the Target of a plugin that is a program of its own.
type Program struct {
	m       *manifest.Manifest
	command func() (*exec.Cmd, error)
}

// NewFolder returns the Target of the plugin that m was loaded from.
func NewFolder(m *manifest.Manifest) *Program {
	return NewProgram(m, func() (*exec.Cmd, error) { return host.Command(m) })
}

// NewProgram returns the Target of the plugin with manifest m that command
// starts.
func NewProgram(m *manifest.Manifest, command func() (*exec.Cmd, error)) *Program {
	return &Program{m, command}
}

// Manifest implements Target.
func (f *Program) Manifest() *manifest.Manifest { return f.m }

// Start implements Target.
func (f *Program) Start(ctx context.Context) (grpc.ClientConnInterface, func() error, error) {
	cmd, err := f.command()
	if err != nil {
		return nil, nil, err
	}
	var out tail
	p, err := rpc.Start(cmd, &out)
	if err != nil {
		return nil, nil, fmt.Errorf("%w%s", err, out.quote())
	}
	if ctx.Err() != nil {
		p.Stop(0)
		return nil, nil, ctx.Err()
	}
	return p.Conn, func() error {
		if p.Exited() {
			p.Stop(0)
			return errors.New("the plugin's process ended before it was asked to" + out.quote())
		}
		if !p.Stop(stopGrace) {
			return fmt.Errorf("the plugin did not end within %v and was killed%s", stopGrace, out.quote())
		}
		return nil
	}, nil
}

// tail keeps the last bytes of what a plugin prints.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

const tailBytes = 4 << 10

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, b...)
	if over := len(t.buf) - tailBytes; over > 0 {
		t.buf = t.buf[over:]
	}
	return len(b), nil
}

// quote returns what was printed, to be put behind an error.
func (t *tail) quote() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(bytes.TrimSpace(t.buf)) == 0 {
		return ""
	}
	return "; it printed:\n" + string(bytes.TrimSpace(t.buf))
}
