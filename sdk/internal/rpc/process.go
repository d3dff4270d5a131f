package rpc

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/gonutch/crawler/sdk/handshake"
)

// StartTimeout is how long a plugin may take from its start to the handshake.
const StartTimeout = time.Minute

// Process is a plugin process of tests and tools. It is no supervisor: nothing
// watches it or starts it again.
type Process struct {
	Conn   *grpc.ClientConn
	client *plugin.Client
	cmd    *exec.Cmd
	life   *os.File
	stop   sync.Once
}

// Start starts cmd, which must not be started yet, as a plugin in a process
// group of its own. What it prints goes to output. The process lives until
// Stop, or until this process ends.
func Start(cmd *exec.Cmd, output io.Writer) (*Process, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start plugin: %w", err)
	}
	defer r.Close()
	output = &syncWriter{w: output}
	cmd.ExtraFiles = append([]*os.File{r}, cmd.ExtraFiles...)
	if cmd.Env == nil {
		cmd.Env = os.Environ()
	}
	cmd.Env = append(cmd.Env, handshake.EnvLifelineFD+"=3")
	ownGroup(cmd)
	p := &Process{cmd: cmd, life: w, client: plugin.NewClient(&plugin.ClientConfig{
		HandshakeConfig:  Handshake(),
		Plugins:          Plugins(nil),
		Cmd:              cmd,
		SkipHostEnv:      true,
		AllowedProtocols: []plugin.Protocol{plugin.ProtocolGRPC},
		GRPCDialOptions:  DialOptions(handshake.MaxMessage()),
		StartTimeout:     StartTimeout,
		Stderr:           output,
		SyncStdout:       output,
		SyncStderr:       output,
		// Not the null logger: with this one go-plugin leaves the lines of the
		// plugin alone, some of which make it panic.
		Logger: hclog.New(&hclog.LoggerOptions{Level: hclog.Off}),
	})}
	if err := p.connect(); err != nil {
		p.Stop(0)
		return nil, fmt.Errorf("start plugin %s: %w", cmd.Path, err)
	}
	return p, nil
}

func (p *Process) connect() error {
	c, err := p.client.Client()
	if err != nil {
		return err
	}
	raw, err := c.Dispense(handshake.PluginName)
	if err != nil {
		return err
	}
	p.Conn = raw.(*grpc.ClientConn)
	return nil
}

// Pid returns the process's number, which is also its group's.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Abandon lets go of the process as a host does that dies.
func (p *Process) Abandon() { _ = p.life.Close() }

// Exited reports whether the process has ended.
func (p *Process) Exited() bool { return p.client.Exited() }

// Stop asks the process to end, kills its group when it has not after grace,
// and waits for the process. It reports whether the process ended by itself.
func (p *Process) Stop(grace time.Duration) (graceful bool) {
	p.stop.Do(func() {
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			p.client.Kill()
		}()
		ctx, cancel := context.WithTimeout(context.Background(), grace)
		defer cancel()
		select {
		case <-ended:
			graceful = true
		case <-ctx.Done():
		}
		killGroup(p.cmd)
		<-ended
		_ = p.life.Close()
	})
	return graceful
}

// syncWriter lets go-plugin's readers write to one writer.
type syncWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (s *syncWriter) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w.Write(b)
}
