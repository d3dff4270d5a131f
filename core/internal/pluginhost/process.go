package pluginhost

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	goplugin "github.com/hashicorp/go-plugin/runner"
	"google.golang.org/grpc"

	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/handshake"
	"github.com/gonutch/crawler/sdk/host"
	"github.com/gonutch/crawler/sdk/manifest"
)

// process is one running process of a plugin, checked and configured.
type process struct {
	id     string
	conn   conn
	base   *host.Base
	client *plugin.Client // nil for one that was attached to
	runner *runner        // nil for one that was attached to
	logs   *stderrLog
	log    hclog.Logger
	closer func() // for one that was attached to
	build  string // what it says its build is

	called atomic.Int64 // calls begun
	begun  time.Time
	gone   chan struct{} // closed when it has ended and everything is cleaned up

	mu             sync.Mutex
	reason, detail string // why it was killed, "" when it ended by itself
	stopping       bool   // asked to end
}

// conn is a connection that knows which process it leads to.
type conn struct {
	grpc.ClientConnInterface
	generation uint64
}

// Generation differs from that of every other process of the host.
func (c conn) Generation() uint64 { return c.generation }

// launch starts a process of the plugin and sees it through to the first
// answers: it is what its manifest says, takes its settings, and is healthy.
func (h *Host) launch(ctx context.Context, p *Plugin) (*process, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, h.opts.StartTimeout,
		fault.Errorf(fault.Transient, "no answer within %v after the start", h.opts.StartTimeout))
	defer cancel()
	defer context.AfterFunc(h.life, cancel)()
	pr, err := h.spawnOrAttach(ctx, p)
	if err == nil {
		if err = h.introduce(ctx, p, pr); err == nil {
			p.stats.starts.Add(1)
			if pr.runner != nil {
				h.live.register(p, pr)
			}
			pr.log.Debug("plugin started", "pid", pr.pid(), "build", pr.build, "duration", time.Since(pr.begun))
			go pr.watch(h.opts.HealthInterval, h.opts.HealthTimeout)
			return pr, nil
		}
	}
	if pr != nil {
		err = pr.discard(err)
	}
	if cause := context.Cause(ctx); cause != nil && fault.Is(cause, fault.Transient) && ctx.Err() != nil {
		err = fmt.Errorf("%w (%w)", cause, err)
	}
	return nil, fmt.Errorf("start plugin %s: %w", p.id, err)
}

func (h *Host) spawnOrAttach(ctx context.Context, p *Plugin) (*process, error) {
	pr := &process{
		id: p.id, log: h.log.With("plugin", p.id), begun: time.Now(), gone: make(chan struct{}),
		conn: conn{generation: h.sequence.Add(1)},
	}
	if addr := h.opts.Reattach[p.id]; addr != "" {
		return pr, pr.attach(addr, h.opts.MaxMessage)
	}
	cmd, err := h.command(p.man)
	if err != nil {
		return nil, err
	}
	pr.logs = newStderrLog(pr.log)
	limit := p.memoryLimit()
	mark := fmt.Sprintf("%s.%d", h.dir.mark, pr.conn.generation)
	pr.runner = newRunner(h, p.id, limit, mark, cmd, pr.logs)
	env := h.environment(limit, mark)
	pr.client = plugin.NewClient(&plugin.ClientConfig{
		HandshakeConfig: host.Handshake(),
		Plugins:         host.Plugins(),
		RunnerFunc: func(_ hclog.Logger, spec *exec.Cmd, _ string) (goplugin.Runner, error) {
			cmd.Env = append(env, spec.Env...)
			return pr.runner, nil
		},
		AllowedProtocols: []plugin.Protocol{plugin.ProtocolGRPC},
		GRPCDialOptions:  host.DialOptions(h.opts.MaxMessage),
		StartTimeout:     h.opts.StartTimeout,
		SkipHostEnv:      true,
		AutoMTLS:         h.opts.AutoMTLS,
		UnixSocketConfig: &plugin.UnixSocketConfig{TempDir: h.dir.path},
		Stderr:           pr.logs,
		// go-plugin's own reader of stderr panics on hostile lines; with this
		// level it only copies them to Stderr.
		Logger: hclog.New(&hclog.LoggerOptions{Level: hclog.Off}),
	})
	return pr, pr.connect(ctx)
}

// connect runs go-plugin's handshake, which knows no context.
func (pr *process) connect(ctx context.Context) error {
	unhook := context.AfterFunc(ctx, func() { _ = pr.runner.Kill(ctx) })
	defer unhook()
	if _, err := pr.client.Start(); err != nil {
		return fault.New(fault.Transient, err)
	}
	rpc, err := pr.client.Client()
	if err != nil {
		return fault.New(fault.Transient, err)
	}
	raw, err := rpc.Dispense(handshake.PluginName)
	if err != nil {
		return fault.New(fault.Transient, err)
	}
	cc, ok := raw.(grpc.ClientConnInterface)
	if !ok {
		return fault.Errorf(fault.Permanent, "go-plugin dispensed a %T", raw)
	}
	pr.conn.ClientConnInterface, pr.base = cc, host.NewBase(cc)
	return nil
}

// introduce compares what runs with the manifest and hands over the settings.
func (h *Host) introduce(ctx context.Context, p *Plugin, pr *process) error {
	d, err := pr.base.Describe(ctx)
	if err != nil {
		return err
	}
	pr.build = clip(d.BuildID)
	if d.APIVersion != manifest.APIVersion {
		return fault.Errorf(fault.Invalid, "it speaks version %d of the plugin contract, this crawler version %d", d.APIVersion, manifest.APIVersion)
	}
	if !bytes.Equal(d.Manifest, p.man.Source) {
		return fault.Errorf(fault.Invalid, "the running plugin was built with another manifest than %s (%s): build it again",
			where(p.man), firstDifference(d.Manifest, p.man.Source))
	}
	settings, err := h.settings(p.man)
	if err != nil {
		return fault.New(fault.Invalid, err)
	}
	if err := pr.base.Configure(ctx, host.Configuration{
		Own: settings.Own, Sections: settings.Sections, DataDir: h.dataDir(p.id), LogLevel: h.opts.LogLevel,
	}); err != nil {
		return fmt.Errorf("configure: %w", err)
	}
	return pr.base.Health(ctx)
}

func where(m *manifest.Manifest) string {
	if m.File == "" {
		return "the one built in"
	}
	return m.File
}

// firstDifference names the first line in which two manifests differ.
func firstDifference(running, file []byte) string {
	a, b := strings.Split(string(running), "\n"), strings.Split(string(file), "\n")
	for i := range max(len(a), len(b)) {
		switch {
		case i >= len(a):
			return fmt.Sprintf("line %d is missing in it: %s", i+1, clip(b[i]))
		case i >= len(b):
			return fmt.Sprintf("line %d is new in it: %s", i+1, clip(a[i]))
		case a[i] != b[i]:
			return fmt.Sprintf("line %d is %q in it", i+1, clip(a[i]))
		}
	}
	return "no line differs"
}

// watch checks the health of the process until it ends, then cleans up.
func (pr *process) watch(interval, timeout time.Duration) {
	if pr.runner == nil {
		return
	}
	var tick <-chan time.Time
	if interval > 0 {
		t := time.NewTicker(interval)
		defer t.Stop()
		tick = t.C
	}
	for alive := true; alive; {
		select {
		case <-pr.runner.exited:
			alive = false
		case <-tick:
			pr.check(timeout)
		}
	}
	pr.cleanUp()
	close(pr.gone)
}

// check kills the process when it does not answer in time.
func (pr *process) check(timeout time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	go func() { // an ended process needs no answer
		select {
		case <-pr.runner.exited:
			cancel()
		case <-ctx.Done():
		}
	}()
	if err := pr.base.Health(ctx); err != nil {
		select {
		case <-pr.runner.exited:
		default:
			pr.kill(Hung, fmt.Sprintf("no answer to a health check within %v: %v", timeout, err))
		}
	}
}

// cleanUp releases what go-plugin holds; the process has ended.
func (pr *process) cleanUp() {
	pr.client.Kill()
}

// discard ends a process that could not be started because of err. It returns
// err with what the process tells about it.
func (pr *process) discard(err error) error {
	if pr.closer != nil {
		pr.closer()
	}
	if pr.runner == nil {
		return err
	}
	_ = pr.runner.Kill(context.Background())
	ended := ""
	if pr.runner.pid != 0 {
		<-pr.runner.exited
		ended = pr.runner.endedItself()
	}
	pr.cleanUp()
	text, _ := pr.logs.epitaph()
	line, greeted := pr.runner.greeted()
	switch { // go-plugin's words for these don't help
	case fault.Is(err, fault.Invalid) || fault.Is(err, fault.Denied):
		return err
	case ended != "":
		err = fault.Errorf(fault.Transient, "it ended before it was ready (%s)", ended)
		if text == "" && !greeted && line != "" {
			text = clip(line)
		}
	case pr.runner.pid == 0: // it could not even be executed
	case line == "":
		err = fault.Errorf(fault.Transient, "its standard output brought no handshake line")
	case !greeted:
		err = fault.Errorf(fault.Permanent, "the first line of its standard output is %.100q; nothing may come before the handshake line, what a plugin has to tell goes to standard error", line)
	}
	if text != "" {
		err = fmt.Errorf("%w; it said: %s", err, text)
	}
	return err
}

// kill ends the process for reason; the first reason counts.
func (pr *process) kill(reason, detail string) {
	pr.mu.Lock()
	if pr.reason == "" && !pr.isGone() {
		pr.reason, pr.detail = reason, detail
	}
	pr.mu.Unlock()
	if pr.runner != nil {
		_ = pr.runner.Kill(context.Background())
		return
	}
	pr.drop()
}

// drop gives up a process that was attached to.
func (pr *process) drop() {
	pr.mu.Lock()
	defer pr.mu.Unlock()
	if !pr.isGone() {
		pr.closer()
		close(pr.gone)
	}
}

// pid returns 0 for one that was attached to.
func (pr *process) pid() int {
	if pr.runner == nil {
		return 0
	}
	return pr.runner.pid
}

func (pr *process) isGone() bool {
	select {
	case <-pr.gone:
		return true
	default:
		return false
	}
}

// stop ends the process in good order within limit, or by force after it.
// It returns when nothing of it is left.
func (pr *process) stop(limit time.Duration) {
	pr.mu.Lock()
	pr.stopping = true
	pr.mu.Unlock()
	if pr.runner == nil {
		pr.drop()
		return
	}
	force := time.AfterFunc(limit, func() {
		pr.log.Warn("killed: it did not end when asked to", "duration", limit)
		_ = pr.runner.Kill(context.Background())
	})
	defer force.Stop()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	unhook := make(chan struct{})
	go func() {
		select {
		case <-pr.runner.exited:
			cancel()
		case <-unhook:
		}
	}()
	err := pr.base.Shutdown(ctx)
	close(unhook)
	if err != nil && ctx.Err() == nil {
		pr.log.Warn("shutdown", "error", err)
	}
	// It has released everything; its exit is a formality.
	soon := time.AfterFunc(min(limit, time.Second), func() { _ = pr.runner.Kill(context.Background()) })
	defer soon.Stop()
	pr.client.Kill()
	<-pr.gone
}

// lost returns the error of calls that were under way when the process ended.
// It is called after gone.
func (pr *process) lost() *LostError {
	pr.mu.Lock()
	defer pr.mu.Unlock()
	e := &LostError{Plugin: pr.id, Reason: pr.reason, Detail: pr.detail}
	if pr.runner == nil {
		if e.Reason == "" {
			e.Reason, e.Detail = Crashed, "connection lost"
		}
		return e
	}
	text, memory := pr.logs.epitaph()
	if e.Reason != "" && e.Reason != Crashed {
		return e
	}
	e.Reason = Crashed
	if memory {
		e.Reason = OutOfMemory
	}
	end := strings.TrimPrefix(pr.runner.state.String(), "signal: ")
	if e.Detail != "" && !memory && pr.runner.endedItself() == "" {
		end += ", " + e.Detail // the signal was ours
	}
	switch {
	case text == "":
		e.Detail = end
	case pr.runner.state.Exited():
		e.Detail = text
	default:
		e.Detail = fmt.Sprintf("%s: %s", end, text)
	}
	return e
}

// invoke makes one call on the process within limit and tells a call that
// failed from a process that was lost.
func (pr *process) invoke(ctx context.Context, limit time.Duration, call func(context.Context, grpc.ClientConnInterface) error) error {
	pr.called.Add(1)
	callCtx := ctx
	if pr.runner != nil { // a process under a debugger may take its time
		var cancel context.CancelFunc
		callCtx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	begun := time.Now()
	err := call(callCtx, pr.conn)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case callCtx.Err() != nil,
		// gRPC may notice the deadline a moment before the context does.
		pr.runner != nil && errors.Is(err, context.DeadlineExceeded) && time.Since(begun) > limit-limit/16:
		pr.kill(Hung, fmt.Sprintf("no answer within %v", limit))
	case fault.Is(err, fault.Shutdown):
		// The connection breaks a moment before the process is known to be dead.
		select {
		case <-pr.gone:
		case <-time.After(time.Second):
			pr.kill(Crashed, fmt.Sprintf("connection lost: %v", err))
		}
	default:
		return err
	}
	select {
	case <-pr.gone:
		return pr.lost()
	case <-ctx.Done():
		return ctx.Err()
	}
}
