package testsite

import (
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Site is what a Server serves for one host name. Paths are matched exactly,
// then with their query left out; a route that ends in "*" matches every path
// it begins. Everything else is 404. Routes may be set while the site is being
// served.
type Site struct {
	server *Server
	name   string

	mu     sync.RWMutex
	routes map[string]http.Handler
}

// URL returns the absolute URL of path on this site.
func (s *Site) URL(path string) string {
	scheme := "http"
	if s.server.opt.TLS {
		scheme = "https"
	}
	return scheme + "://" + net.JoinHostPort(s.name, strconv.Itoa(s.server.port)) + path
}

// Requests returns the requests this site got, in order of arrival.
func (s *Site) Requests() []Request {
	return slices.DeleteFunc(s.server.Requests(), func(r Request) bool { return r.Host != s.name })
}

// Count returns how often path (with its query) was asked for.
func (s *Site) Count(path string) int {
	n := 0
	for _, r := range s.Requests() {
		if r.Path == path {
			n++
		}
	}
	return n
}

// MinGap returns the shortest time between the beginnings of two consecutive
// requests to this site, and false when there were fewer than two.
func (s *Site) MinGap() (time.Duration, bool) {
	reqs := s.Requests()
	if len(reqs) < 2 {
		return 0, false
	}
	gap := time.Duration(1<<63 - 1)
	for i := 1; i < len(reqs); i++ {
		gap = min(gap, reqs[i].Time.Sub(reqs[i-1].Time))
	}
	return gap, true
}

// Handle answers route with h. A connection that h hijacks is closed when h
// returns.
func (s *Site) Handle(route string, h http.HandlerFunc) *Site {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.routes[route] = h
	return s
}

// Page answers route with an HTML page.
func (s *Site) Page(route, html string) *Site {
	return s.File(route, "text/html; charset=utf-8", []byte(html))
}

// File answers route with body.
func (s *Site) File(route, contentType string, body []byte) *Site {
	return s.Handle(route, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		_, _ = w.Write(body)
	})
}

// Robots serves text as robots.txt.
func (s *Site) Robots(text string) *Site {
	return s.File("/robots.txt", "text/plain", []byte(text))
}

// Redirect answers route with code and a Location of target, sent as it is.
func (s *Site) Redirect(route string, code int, target string) *Site {
	return s.Handle(route, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", target)
		w.WriteHeader(code)
	})
}

// Status answers route with code and a short text; header is a list of names
// and values.
func (s *Site) Status(route string, code int, header ...string) *Site {
	return s.Handle(route, func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(code)
		if code >= 200 && code != http.StatusNoContent && code != http.StatusNotModified {
			_, _ = fmt.Fprintf(w, "status %d\n", code)
		}
	})
}

// Versioned answers route with an HTML page that has an ETag and a
// Last-Modified, and with 304 to a request that has either.
func (s *Site) Versioned(route, html, etag string, modified time.Time) *Site {
	stamp := modified.UTC().Format(http.TimeFormat)
	return s.Handle(route, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", etag)
		w.Header().Set("Last-Modified", stamp)
		match, since := r.Header.Get("If-None-Match"), r.Header.Get("If-Modified-Since")
		if match == etag || match == "" && since == stamp {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte(html))
	})
}

// Sequence answers the n-th request of route with the n-th handler, and all
// later ones with the last.
func (s *Site) Sequence(route string, handlers ...http.HandlerFunc) *Site {
	var mu sync.Mutex
	n := 0
	return s.Handle(route, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		h := handlers[min(n, len(handlers)-1)]
		n++
		mu.Unlock()
		h(w, r)
	})
}

// Dir serves the files of fsys below prefix, which ends in "/", with index.html
// for folders.
func (s *Site) Dir(prefix string, fsys fs.FS) *Site {
	h := http.StripPrefix(strings.TrimSuffix(prefix, "/"), http.FileServerFS(fsys))
	return s.Handle(prefix+"*", h.ServeHTTP)
}

// Raw answers route by calling f with the connection after the request has
// been read; nothing is sent but what f writes. The connection is closed when
// f returns. Only for HTTP/1.1.
func (s *Site) Raw(route string, f func(net.Conn)) *Site {
	return s.Handle(route, func(w http.ResponseWriter, _ *http.Request) {
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		f(c)
	})
}

// RawText answers route with exactly text, then closes the connection.
func (s *Site) RawText(route, text string) *Site {
	return s.Raw(route, func(c net.Conn) { _, _ = c.Write([]byte(text)) })
}

func (s *Site) serve(w http.ResponseWriter, r *http.Request) {
	if h := s.route(r); h != nil {
		h.ServeHTTP(w, r)
		return
	}
	http.Error(w, "not found", http.StatusNotFound)
}

func (s *Site) route(r *http.Request) http.Handler {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, key := range []string{r.URL.RequestURI(), r.URL.EscapedPath(), r.URL.Path} {
		if h, ok := s.routes[key]; ok {
			return h
		}
	}
	var best string
	var found http.Handler
	for route, h := range s.routes {
		if p, ok := strings.CutSuffix(route, "*"); ok && strings.HasPrefix(r.URL.Path, p) && len(p) >= len(best) {
			best, found = p, h
		}
	}
	return found
}
