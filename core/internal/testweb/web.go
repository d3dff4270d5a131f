package testweb

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// Web is one simulated web. It is safe for concurrent use.
type Web struct {
	cfg          Config
	portSuffix   string
	text         text
	charsets     []charset
	fateShares   []share
	styleShares  []share
	robotsShares []share
	hasText      bool // some pages are text/plain
	hosts        []host
	kids         []int32   // child hosts, see host.kids
	zippers      sync.Pool // *zipper
	buffers      sync.Pool // *[]byte
	watch        *watch
}

// New draws a web. It needs memory for its hosts (about 250 bytes each) and for the
// counters of what is requested (4 bytes for each page of a host that was asked for any).
func New(cfg Config) (*Web, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	charsets, err := newCharsets(cfg.Seed)
	if err != nil {
		return nil, err
	}
	w := &Web{
		cfg: cfg, text: newText(cfg.Seed), charsets: charsets,
		fateShares: cfg.Shares.fates(), styleShares: cfg.Shares.styles(), robotsShares: cfg.Shares.robots(),
		hasText: cfg.Shares.PlainText > 0,
	}
	if cfg.Port != 0 {
		w.portSuffix = ":" + strconv.Itoa(cfg.Port)
	}
	w.zippers.New = func() any { return newZipper() }
	w.buffers.New = func() any { b := make([]byte, 0, 64<<10); return &b }
	w.makeHosts()
	w.watch = newWatch(w)
	return w, nil
}

// Config returns what the web was made with, defaults filled in.
func (w *Web) Config() Config { return w.cfg }

// Serve answers on l until ctx is done, then ends what is in flight, writes what the log still
// holds and returns nil. It closes l.
func (w *Web) Serve(ctx context.Context, l net.Listener) error {
	s := &http.Server{
		Handler:           w,
		ReadHeaderTimeout: 30 * time.Second,
		IdleTimeout:       5 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          log.New(io.Discard, "", 0), // broken connections are what clients do
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	var err error
	select {
	case err = <-done:
	case <-ctx.Done():
		grace, cancel := context.WithTimeout(context.Background(), time.Second)
		if s.Shutdown(grace) != nil {
			_ = s.Close() // ends what didn't end by itself
		}
		cancel()
		err = <-done
	}
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	return errors.Join(err, w.Flush())
}

// ServeHTTP answers for the host of the Host header or, as an HTTP proxy, of a request in absolute
// form; CONNECT gets a 501. Unknown hosts and URLs get a 404 and are counted.
func (w *Web) ServeHTTP(rw http.ResponseWriter, req *http.Request) {
	if req.Method == http.MethodConnect {
		http.Error(rw, "this web has no https: CONNECT is not supported", http.StatusNotImplemented)
		return
	}
	if req.Method != http.MethodGet && req.Method != http.MethodHead {
		rw.Header().Set("Allow", "GET, HEAD")
		http.Error(rw, "only GET and HEAD are supported", http.StatusMethodNotAllowed)
		return
	}
	path := req.URL.EscapedPath()
	switch {
	case path == "":
		path = "/"
	case req.URL.ForceQuery:
		path += "?" // not the normal form
	}
	r := w.find(req.Host, path, req.URL.RawQuery)
	v := visit{ref: r, path: path, query: req.URL.RawQuery, client: req.RemoteAddr, host: req.Host}
	w.watch.begin(&v)
	buf := w.buffers.Get().(*[]byte)
	a := answer{body: *buf}
	w.answer(&a, r, v.n, ask{
		ifNoneMatch: req.Header.Get("If-None-Match"), ifModifiedSince: req.Header.Get("If-Modified-Since"),
		gzip: acceptsGzip(req.Header.Get("Accept-Encoding")),
	})
	if r.kind == kindTrap && a.cut == alive {
		a.status, a.body = 200, a.body[:0]
		w.trap(&a, path, req.URL.RawQuery, v.n)
	}
	defer func() {
		if !a.gzipped {
			*buf = a.body
		}
		w.buffers.Put(buf)
	}()
	if a.delay > 0 && !pause(req.Context(), a.delay) {
		v.endAt(w.watch, &a, -1, w.watch.now())
		return
	}
	if a.cut != alive {
		w.cut(rw, &a, &v)
		return
	}
	w.write(rw, req, &a, &v)
}

// pause waits for d and reports whether it came to its end before ctx did.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func (w *Web) write(rw http.ResponseWriter, req *http.Request, a *answer, v *visit) {
	h := rw.Header()
	h["Date"] = nil // time is no part of an answer
	if a.status != http.StatusNotModified {
		h["Content-Type"] = []string{a.ctype}
		h["Content-Length"] = []string{strconv.Itoa(len(a.body) + a.missing)}
	}
	for _, f := range [...]struct{ key, value string }{
		{"Location", a.location}, {"Etag", a.etag}, {"Last-Modified", a.modified}, {"X-Robots-Tag", a.robots},
	} {
		if f.value != "" {
			h[f.key] = []string{f.value}
		}
	}
	if a.gzipped {
		h["Content-Encoding"] = []string{"gzip"}
		h["Vary"] = []string{"Accept-Encoding"}
	}
	if a.retryAfter >= 0 {
		h["Retry-After"] = []string{strconv.Itoa(a.retryAfter)}
	}
	body := a.body
	if req.Method == http.MethodHead || a.status == http.StatusNotModified {
		body = nil
	}
	rw.WriteHeader(a.status)
	w.writeBody(rw, body, a, v)
}

// writeBody writes body and takes the end just before its last bytes, or before those that a
// client may leave: RFC 9309 lets it stop reading a robots.txt at 500 KiB. What fails is
// taken to have ended before the write that failed: a client that goes away is no error of the web.
func (w *Web) writeBody(rw http.ResponseWriter, body []byte, a *answer, v *visit) {
	const last, chunk = 2 << 10, 32 << 10
	early := max(0, min(len(body)-last, 500<<10-last))
	for done := 0; done < early; {
		v.stop = w.watch.now()
		n, err := rw.Write(body[done:min(done+chunk, early)])
		if err != nil {
			v.endAt(w.watch, a, a.status, v.stop)
			return
		}
		done += n
	}
	v.endAt(w.watch, a, a.status, w.watch.now())
	_, _ = rw.Write(body[early:])
}

// cut breaks the connection: without a byte, or in the middle of the header.
func (w *Web) cut(rw http.ResponseWriter, a *answer, v *visit) {
	conn, _, err := http.NewResponseController(rw).Hijack()
	v.endAt(w.watch, a, 0, w.watch.now())
	if err != nil {
		panic(http.ErrAbortHandler) // net/http's way to do it where there is no connection to take
	}
	if a.cut == dead {
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Ty")
	}
	_ = conn.Close()
}

// acceptsGzip reads an Accept-Encoding header as far as needed: gzip named and not refused.
func acceptsGzip(header string) bool {
	for header != "" {
		item := header
		header = ""
		for i := range len(item) {
			if item[i] == ',' {
				item, header = item[:i], item[i+1:]
				break
			}
		}
		for len(item) > 0 && item[0] == ' ' {
			item = item[1:]
		}
		if len(item) >= 4 && item[:4] == "gzip" {
			rest := item[4:]
			return rest != ";q=0" && rest != "; q=0"
		}
	}
	return false
}

var _ http.Handler = (*Web)(nil)
