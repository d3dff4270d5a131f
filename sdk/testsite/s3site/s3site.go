// Package s3site serves objects as an S3 service on a loopback address for tests. It owns
// the service and its log; it must not know the crawler.
package s3site

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
)

// Bucket is the one bucket of a Server.
const Bucket = "docs"

// Server is a local S3 service, in memory. It is safe for concurrent use.
type Server struct {
	URL string // the endpoint

	backend *s3mem.Backend
	mu      sync.Mutex
	log     []Request
	only    string
}

// Request is one request as a Server got it.
type Request struct {
	Method string
	Path   string // path and query as sent
	Key    string // access key that it is signed with, "" for none
	Status int    // of the answer
}

// Start serves objects, by key and content, until the test ends. The type of an object
// follows from the end of its key.
func Start(tb testing.TB, objects map[string]string) *Server {
	tb.Helper()
	s := &Server{backend: s3mem.New()}
	if err := s.backend.CreateBucket(Bucket); err != nil {
		tb.Fatalf("start S3 service: %v", err)
	}
	for key, text := range objects {
		s.Put(tb, key, text)
	}
	h := gofakes3.New(s.backend).Server()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key := ""
		if _, rest, ok := strings.Cut(r.Header.Get("Authorization"), "Credential="); ok {
			key, _, _ = strings.Cut(rest, "/")
		}
		noted := &status{ResponseWriter: w, code: http.StatusOK}
		if s.takes(key) {
			h.ServeHTTP(noted, r)
		} else {
			noted.Header().Set("Content-Type", "application/xml")
			noted.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(noted, "<Error><Code>InvalidAccessKeyId</Code><Message>The access key does not exist</Message></Error>")
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.log = append(s.log, Request{Method: r.Method, Path: r.RequestURI, Key: key, Status: noted.code})
	}))
	tb.Cleanup(srv.Close)
	s.URL = srv.URL
	return s
}

// Only has requests refused that are signed with another access key, or not at all.
func (s *Server) Only(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.only = key
}

func (s *Server) takes(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.only == "" || s.only == key
}

// Put adds an object or replaces it.
func (s *Server) Put(tb testing.TB, key, text string) {
	tb.Helper()
	kind := "text/plain"
	if strings.HasSuffix(key, ".html") {
		kind = "text/html"
	}
	meta := map[string]string{"Content-Type": kind, "Last-Modified": time.Now().UTC().Format(http.TimeFormat)}
	if _, err := s.backend.PutObject(Bucket, key, meta, strings.NewReader(text), int64(len(text)), nil); err != nil {
		tb.Fatalf("put object %s: %v", key, err)
	}
}

// Remove takes an object away.
func (s *Server) Remove(tb testing.TB, key string) {
	tb.Helper()
	if _, err := s.backend.DeleteObject(Bucket, key); err != nil {
		tb.Fatalf("remove object %s: %v", key, err)
	}
}

// Requests returns what was asked for so far, in order of the answers.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.log...)
}

// ResetLog forgets the requests so far.
func (s *Server) ResetLog() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = nil
}

// status notes the code of an answer.
type status struct {
	http.ResponseWriter
	code int
}

// WriteHeader implements http.ResponseWriter.
func (s *status) WriteHeader(code int) {
	s.code = code
	s.ResponseWriter.WriteHeader(code)
}
