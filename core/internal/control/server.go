package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/gonutch/crawler/sdk/fault"
)

// Options configure a server.
type Options struct {
	Command string // what Hello says
	Version string
	Log     hclog.Logger // nil discards
}

// Server serves a crawl directory's control socket.
type Server struct {
	path  string
	info  os.FileInfo // of our socket
	http  *http.Server
	slots chan struct{} // one taken by each request
	done  chan error
	once  sync.Once
	err   error
}

// Serve begins to answer for the crawl directory dir and returns. The caller
// holds the directory's lock. The server answers until Close, which must be
// called; when ctx ends, requests under way end.
func Serve(ctx context.Context, dir string, t Table, o Options) (*Server, error) {
	if o.Log == nil {
		o.Log = hclog.NewNullLogger()
	}
	l, err := listen(ctx, dir)
	if err != nil {
		return nil, fmt.Errorf("control socket in %s: %w", dir, err)
	}
	s := &Server{path: filepath.Join(dir, SocketName), slots: make(chan struct{}, maxRequests), done: make(chan error, 1)}
	if s.info, err = os.Lstat(s.path); err != nil {
		return nil, errors.Join(fmt.Errorf("control socket: %w", err), l.Close())
	}
	h := &handler{table: t, slots: s.slots, hello: Hello{
		PID: os.Getpid(), Command: o.Command, Version: o.Version, Since: time.Now().UTC().Truncate(time.Second),
	}}
	base, cancel := context.WithCancel(ctx)
	s.http = &http.Server{
		Handler: h.mux(), ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second, IdleTimeout: time.Minute,
		MaxHeaderBytes: 16 << 10, BaseContext: func(net.Listener) context.Context { return base },
		ErrorLog: o.Log.StandardLogger(&hclog.StandardLoggerOptions{ForceLevel: hclog.Warn}),
	}
	s.http.RegisterOnShutdown(cancel)
	go func() {
		defer cancel()
		s.done <- s.http.Serve(peerListener{l, o.Log})
	}()
	return s, nil
}

// closeTime is how long askers may take to take their last answers.
const closeTime = 5 * time.Second

// Close ends the requests under way, waits for their handlers, and removes the
// socket. It is safe to call twice. The crawl may be closed after it.
func (s *Server) Close() error {
	s.once.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), closeTime)
		defer cancel()
		err := s.http.Shutdown(ctx)
		if errors.Is(err, context.DeadlineExceeded) {
			err = s.http.Close() // writing fails now, so handlers end
		}
		for range maxRequests {
			s.slots <- struct{}{}
		}
		if served := <-s.done; !errors.Is(served, http.ErrServerClosed) {
			err = errors.Join(err, served)
		}
		if info, e := os.Lstat(s.path); e == nil && os.SameFile(info, s.info) {
			err = errors.Join(err, os.Remove(s.path))
		}
		if err != nil {
			s.err = fmt.Errorf("close control socket: %w", err)
		}
	})
	return s.err
}

// listen makes the socket, see the package comment.
func listen(ctx context.Context, dir string) (net.Listener, error) {
	if c, err := connect(ctx, dir); err == nil {
		return nil, errors.Join(ErrServed, c.Close())
	}
	private, err := os.MkdirTemp(dir, ".control-") // mode 0700
	if err != nil {
		var pe *fs.PathError
		if errors.As(err, &pe) {
			err = pe.Err
		}
		return nil, fmt.Errorf("can't make it: %w; the directory must be writable", err)
	}
	var l *net.UnixListener
	err = withShortPath(private, SocketName, func(path string) (err error) {
		l, err = net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
		if err == nil {
			l.SetUnlinkOnClose(false)
		}
		return err
	})
	if err == nil {
		made := filepath.Join(private, SocketName)
		if err = os.Chmod(made, 0o600); err == nil {
			err = os.Rename(made, filepath.Join(dir, SocketName))
		}
		if err != nil {
			err = errors.Join(err, l.Close())
		}
	}
	if err = errors.Join(err, os.RemoveAll(private)); err != nil {
		return nil, err
	}
	return l, nil
}

// peerListener drops connections of other users.
type peerListener struct {
	net.Listener
	log hclog.Logger
}

func (p peerListener) Accept() (net.Conn, error) {
	for {
		c, err := p.Listener.Accept()
		if err != nil {
			return nil, err
		}
		u, ok := c.(*net.UnixConn)
		if !ok {
			return c, nil
		}
		if err = checkPeer(u); err == nil {
			return c, nil
		}
		p.log.Warn("control socket: connection refused", "error", err)
		_ = c.Close() // nothing was sent
	}
}

func allowed(peer, self int) error {
	if peer == self || peer == 0 {
		return nil
	}
	return fault.Errorf(fault.Denied, "user %d may not ask user %d's crawl", peer, self)
}

type handler struct {
	table Table
	slots chan struct{}
	hello Hello
}

func (h *handler) mux() http.Handler {
	m := http.NewServeMux()
	m.HandleFunc("GET /v1/hello", func(w http.ResponseWriter, _ *http.Request) {
		b, err := json.Marshal(h.hello)
		answer(w, b, err)
	})
	m.HandleFunc("POST /v1/verb/{name}", h.verb)
	m.HandleFunc("POST /v1/stream/{name}", h.stream)
	m.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		fail(w, http.StatusNotFound, fault.Errorf(fault.Invalid, "there is no %s %s here; the versions of the two programs differ?", r.Method, r.URL.Path))
	})
	return m
}

// begin takes a slot and reads the query. It answers the request itself when
// that fails.
func (h *handler) begin(w http.ResponseWriter, r *http.Request) (query json.RawMessage, end func(), ok bool) {
	select {
	case h.slots <- struct{}{}:
	default:
		fail(w, http.StatusServiceUnavailable, fault.Errorf(fault.Transient, "%d requests are being answered, more are not taken; try again", maxRequests))
		return nil, nil, false
	}
	end = func() { <-h.slots }
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	switch {
	case err != nil:
		err = fault.Errorf(fault.Invalid, "read query: %w", err)
	case len(body) > 0 && !json.Valid(body):
		err = fault.Errorf(fault.Invalid, "the query is no JSON")
	}
	if err != nil {
		end()
		fail(w, http.StatusBadRequest, err)
		return nil, nil, false
	}
	if len(body) == 0 {
		body = []byte("{}")
	}
	return body, end, true
}

func (h *handler) verb(w http.ResponseWriter, r *http.Request) {
	do, ok := h.table.Verbs[r.PathValue("name")]
	if !ok {
		h.unknown(w, r)
		return
	}
	query, end, ok := h.begin(w, r)
	if !ok {
		return
	}
	defer end()
	ctx, cancel := context.WithTimeout(r.Context(), maxRunning)
	defer cancel()
	b, err := do(ctx, query)
	if err == nil && len(b) > maxAnswer {
		err = fault.Errorf(fault.Invalid, "the answer has %d bytes, more than %d; ask for less", len(b), maxAnswer)
	}
	answer(w, b, err)
}

func (h *handler) unknown(w http.ResponseWriter, r *http.Request) {
	fail(w, http.StatusNotFound, fault.Errorf(fault.Invalid, "the running %s (version %s) does not know %q", h.hello.Command, h.hello.Version, r.PathValue("name")))
}

// writeTime is how long an answer, or a value of a stream, may take to be
// taken by the asker.
const writeTime = 30 * time.Second

func answer(w http.ResponseWriter, b []byte, err error) {
	if err != nil {
		status := http.StatusInternalServerError
		if fault.Is(err, fault.Invalid) {
			status = http.StatusBadRequest
		}
		fail(w, status, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTime)) // Unix sockets have deadlines
	_, _ = w.Write(b)                                                             // the asker is gone, nobody is left to be told
}

func fail(w http.ResponseWriter, status int, err error) {
	b, jsonErr := json.Marshal(errorLine(err))
	if jsonErr != nil {
		panic(jsonErr) // two texts
	}
	w.Header().Set("Content-Type", "application/json")
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTime))
	w.WriteHeader(status)
	_, _ = w.Write(b)
}

func (h *handler) stream(w http.ResponseWriter, r *http.Request) {
	do, ok := h.table.Streams[r.PathValue("name")]
	if !ok {
		h.unknown(w, r)
		return
	}
	query, end, ok := h.begin(w, r)
	if !ok {
		return
	}
	defer end()
	w.Header().Set("Content-Type", "application/x-ndjson")
	rc := http.NewResponseController(w)
	send := func(l line) error {
		b, err := json.Marshal(l)
		if err != nil {
			return fmt.Errorf("encode value: %w", err)
		}
		_ = rc.SetWriteDeadline(time.Now().Add(writeTime))
		if _, err := w.Write(append(b, '\n')); err != nil {
			return err
		}
		return rc.Flush()
	}
	err := do(r.Context(), query, func(v json.RawMessage) error { return send(line{Value: v}) })
	last := line{End: true}
	if err != nil && r.Context().Err() == nil {
		last = errorLine(err)
	}
	_ = send(last) // the asker may be gone
}
