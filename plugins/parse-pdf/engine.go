package parsepdf

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/klippa-app/go-pdfium"
	pdferrors "github.com/klippa-app/go-pdfium/errors"
	"github.com/klippa-app/go-pdfium/references"
	"github.com/klippa-app/go-pdfium/requests"
	"github.com/klippa-app/go-pdfium/webassembly"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/gonutch/crawler/sdk/fault"
)

// wasmPage is the unit of a WebAssembly memory's size in bytes.
const wasmPage = 64 << 10

// engine runs PDFium. It compiles it when the first document comes, and gives
// each document an instance of its own, so that nothing of one can reach
// another and memory goes back. It is safe for concurrent use.
type engine struct {
	memory int64  // bytes of an instance
	dir    string // where the machine code is kept, or ""
	log    hclog.Logger
	slots  chan struct{} // one for each document under way

	mu     sync.Mutex
	pool   pdfium.Pool
	cache  wazero.CompilationCache
	err    error
	closed bool
}

func newEngine(memory int64, dir string, log hclog.Logger) *engine {
	return &engine{memory: memory, dir: dir, log: log, slots: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)))}
}

// start compiles PDFium, once; it takes some seconds the first time.
func (e *engine) start() (pdfium.Pool, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.closed:
		return nil, fault.Errorf(fault.Shutdown, "parse-pdf is closed")
	case e.pool != nil || e.err != nil:
		return e.pool, e.err
	}
	begun := time.Now()
	rc := wazero.NewRuntimeConfig().
		WithCoreFeatures(api.CoreFeaturesV2 | experimental.CoreFeaturesExceptionHandling).
		WithMemoryLimitPages(uint32(e.memory / wasmPage)). //nolint:gosec // at most 2 GiB by the manifest
		WithCloseOnContextDone(true)
	if e.dir != "" {
		cache, err := wazero.NewCompilationCacheWithDir(filepath.Join(e.dir, "compiled"))
		if err != nil {
			e.log.Warn("machine code of the PDF engine is not kept", "error", err)
		} else {
			e.cache = cache
			rc = rc.WithCompilationCache(cache)
		}
	}
	pool, err := webassembly.Init(webassembly.Config{
		Context: context.Background(), MaxTotal: cap(e.slots), RuntimeConfig: rc,
		FSConfig: wazero.NewFSConfig(), // no files
		Stdout:   io.Discard, Stderr: io.Discard,
	})
	if err != nil {
		e.err = fault.New(fault.Permanent, fmt.Errorf("start the PDF engine: %w", err))
		return nil, e.err
	}
	e.pool = pool
	e.log.Debug("PDF engine ready", "duration", time.Since(begun))
	return pool, nil
}

func (e *engine) close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = true
	var err error
	if e.pool != nil {
		err = e.pool.Close()
		e.pool = nil
	}
	if e.cache != nil {
		err = errors.Join(err, e.cache.Close(context.Background()))
	}
	if err != nil {
		return fmt.Errorf("close the PDF engine: %w", err)
	}
	return nil
}

// acquire waits for a turn; the caller calls release afterwards.
func (e *engine) acquire(ctx context.Context) error {
	select {
	case e.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (e *engine) release() { <-e.slots }

// Errors of open and of a document's calls.
var (
	errTime      = errors.New("out of time")
	errDead      = errors.New("the engine crashed or is out of memory")
	errNoPages   = errors.New("the document has no pages")
	errNoText    = errors.New("the fonts that tell its characters are missing")
	errEncrypted = errors.New("encrypted, and no password opens it")
)

// document is an open document in an instance of its own. It is for one
// goroutine.
type document struct {
	pdfium.Pdfium
	ref   references.FPDF_DOCUMENT
	timer *time.Timer

	mu     sync.Mutex
	killed bool // by the timer
	done   bool
}

// open opens body in a new instance that lives until deadline at most. The
// caller has acquired a turn and closes the document.
func (e *engine) open(body []byte, passwords []string, deadline time.Time) (*document, error) {
	pool, err := e.start()
	if err != nil {
		return nil, err
	}
	wait := time.Until(deadline)
	if wait <= 0 {
		return nil, errTime
	}
	inst, err := pool.GetInstance(wait)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errDead, err)
	}
	d := &document{Pdfium: inst}
	d.timer = time.AfterFunc(wait, d.kill)
	opened, err := inst.OpenDocument(&requests.OpenDocument{File: &body})
	for i := 0; errors.Is(err, pdferrors.ErrPassword) && i < len(passwords); i++ {
		opened, err = inst.OpenDocument(&requests.OpenDocument{File: &body, Password: &passwords[i]})
	}
	if err == nil {
		d.ref = opened.Document
		return d, nil
	}
	switch {
	case errors.Is(err, pdferrors.ErrPassword), errors.Is(err, pdferrors.ErrSecurity):
		err = errEncrypted
	case errors.Is(err, pdferrors.ErrFormat), errors.Is(err, pdferrors.ErrUnknown), errors.Is(err, pdferrors.ErrFile):
	default:
		err = d.cause(err)
	}
	d.close()
	return nil, err
}

// kill ends the instance whatever it is doing.
func (d *document) kill() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.done {
		d.killed = true
		_ = d.Kill()
	}
}

// dead reports whether err, of a call, means that the instance can't be used any
// more. The library has no kinds for that.
func (d *document) dead(err error) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	text := err.Error()
	return d.killed || strings.Contains(text, "wasm error") || strings.Contains(text, "panic occurred") ||
		strings.Contains(text, "exit_code") || strings.Contains(text, "module closed") || strings.Contains(text, "instance is closed")
}

// cause tells why a call failed that fails in a living instance never.
func (d *document) cause(err error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.killed {
		return errTime
	}
	reason, _, _ := strings.Cut(err.Error(), "\n") // the rest is a stack of WebAssembly
	return fmt.Errorf("%w: %.200s", errDead, reason)
}

func (d *document) close() {
	d.timer.Stop()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.done = true
	if !d.killed {
		_ = d.Close() // a crashed instance can't close its document and goes all the same
	}
}
