package pluginhost

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/handshake"
	"github.com/gonutch/crawler/sdk/manifest"
)

// Host runs the plugin processes of one command. Its methods are safe for
// concurrent use.
type Host struct {
	opts     Options
	log      hclog.Logger
	settings func(*manifest.Manifest) (sdk.Settings, error)
	plugins  map[string]*Plugin
	dir      *runDir
	spawn    *spawner
	guard    *guard
	sequence atomic.Uint64 // numbers the processes
	live     liveSet

	life   context.Context //nolint:containedctx // ends with Close; every supervisor's
	end    context.CancelFunc
	mu     sync.Mutex // guards shut against new goroutines
	shut   bool
	wg     sync.WaitGroup
	finish sync.Once
	result error
}

// New returns a host of the chosen plugins. It makes a private folder for
// sockets and starts the guard; no plugin is started before it is asked for.
// Settings are asked for at every start of a process. The caller closes the
// host.
func New(opts Options, chosen []*manifest.Manifest, settings func(*manifest.Manifest) (sdk.Settings, error)) (*Host, error) {
	if handshake.Started() || os.Getenv(envGuard) != "" {
		return nil, fault.Errorf(fault.Invalid, "plugin host: this process was started as a plugin or guard: "+
			"its main must handle \"plugin serve ID\" and \"plugin guard MARK DIR\" before anything else")
	}
	opts = opts.withDefaults()
	dir, err := newRunDir(opts.RunDir)
	if err != nil {
		return nil, err
	}
	h := &Host{
		opts: opts, log: opts.Logger, settings: settings, plugins: make(map[string]*Plugin, len(chosen)),
		dir: dir, spawn: newSpawner(),
	}
	h.life, h.end = context.WithCancel(context.Background())
	for _, m := range chosen {
		h.plugins[m.ID] = newPlugin(h, m)
	}
	h.guard = startGuard(opts.Executable, dir.mark, dir.path, h.spawn, h.log)
	h.wg.Go(h.watch)
	h.wg.Go(h.sweep)
	return h, nil
}

// Plugin returns the handle of a chosen plugin, or nil when there is none of
// that id.
func (h *Host) Plugin(id string) *Plugin { return h.plugins[id] }

// Start starts the plugins of ids at the same time and waits until all of them
// have answered. All errors are reported. Plugins that are not started here
// start with their first call.
func (h *Host) Start(ctx context.Context, ids []string) error {
	errs := make([]error, len(ids))
	var wg sync.WaitGroup
	for i, id := range ids {
		p := h.plugins[id]
		if p == nil {
			errs[i] = fault.Errorf(fault.Invalid, "start plugin %s: it is not among those chosen", id)
			continue
		}
		wg.Go(func() { _, errs[i] = p.current(ctx) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// supervise starts p's supervisor.
func (h *Host) supervise(p *Plugin) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.shut {
		return ErrClosed
	}
	h.wg.Go(func() { p.supervise(h.life) })
	return nil
}

func (h *Host) closed() bool { return h.life.Err() != nil }

// dataDir returns the folder of a plugin's own files, or "".
func (h *Host) dataDir(id string) string {
	if h.opts.DataDir == "" {
		return ""
	}
	return filepath.Join(h.opts.DataDir, id)
}

// Close ends all plugins at the same time: each may end in good order within
// Options.StopTimeout, or until ctx ends, and is killed after that. When Close
// returns nothing that a plugin started is alive. Calls under way end with
// ErrClosed. It is safe to call twice.
func (h *Host) Close(ctx context.Context) error {
	h.finish.Do(func() {
		h.mu.Lock()
		h.shut = true
		h.mu.Unlock()
		unhook := context.AfterFunc(ctx, func() { killAll(nil, h.dir.mark, 0) })
		h.end()
		for _, p := range h.plugins {
			h.wg.Go(func() { p.jail.close(h.opts.StopTimeout) })
		}
		h.wg.Wait()
		unhook()
		for range 10 {
			if killAll(nil, h.dir.mark, 0) == 0 {
				break
			}
			time.Sleep(5 * time.Millisecond) // until the kernel has ended them
		}
		h.guard.close()
		h.spawn.close()
		if err := h.dir.remove(); err != nil && !errors.Is(err, os.ErrNotExist) {
			h.result = fmt.Errorf("remove folder of plugin sockets: %w", err)
		}
	})
	return h.result
}
