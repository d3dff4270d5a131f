package parsetika

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/gonutch/crawler/sdk/fault"
)

const (
	pollEvery = 50 * time.Millisecond // how often a starting server is asked
	maxDeaths = 5                     // in a row, without a document parsed, until there is no point in going on
)

// server is the Tika server: a given one, or a process that is started when it
// is first needed and again when it has ended. It is safe for concurrent use.
type server struct {
	config
	log    hclog.Logger
	client *http.Client

	mu     sync.Mutex
	proc   *process // nil when none runs
	deaths int      // in a row
	closed bool
}

// process is one run of a server.
type process struct {
	url   string
	cmd   *exec.Cmd
	ended chan struct{} // closed when it has ended
	last  string        // last line it wrote; set before ended is closed
}

func newServer(c config, log hclog.Logger) *server {
	return &server{
		config: c, log: log,
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: c.Concurrency, IdleConnTimeout: 30 * time.Second}},
	}
}

// use returns the address of a server that answers, and its process, nil for a
// given server. It starts one when none runs.
func (s *server) use(ctx context.Context) (string, *process, error) {
	if s.URL != "" {
		return strings.TrimRight(s.URL, "/"), nil, nil
	}
	s.mu.Lock() // whoever comes while one starts waits for it
	defer s.mu.Unlock()
	if s.closed {
		return "", nil, fault.Errorf(fault.Shutdown, "parse-tika is closed")
	}
	if s.proc != nil {
		select {
		case <-s.proc.ended:
			s.log.Warn("Tika server ended", "last", s.proc.last)
			s.proc = nil
			s.deaths++
		default:
			return s.proc.url, s.proc, nil
		}
	}
	if s.deaths >= maxDeaths {
		return "", nil, fault.Errorf(fault.Permanent, "the Tika server ended %d times in a row without parsing a document", s.deaths)
	}
	p, err := s.start(ctx)
	if err != nil {
		s.deaths++
		return "", nil, err
	}
	s.proc = p
	return p.url, p, nil
}

// start starts a server and waits until it answers.
func (s *server) start(ctx context.Context) (*process, error) {
	begun := time.Now()
	ctx, cancel := context.WithTimeout(ctx, s.StartLimit.D())
	defer cancel()
	port, err := freePort()
	if err != nil {
		return nil, fmt.Errorf("find a port for the Tika server: %w", err)
	}
	args := append(append([]string{}, s.JavaOptions...), "-jar", s.Jar, "--noFork", "--host", "127.0.0.1", "--port", strconv.Itoa(port))
	cmd := exec.Command(s.Java, args...) //nolint:noctx // lives as long as the plugin
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		return nil, fault.New(fault.Permanent, fmt.Errorf("start the Tika server: %w", err))
	}
	p := &process{url: "http://127.0.0.1:" + strconv.Itoa(port), cmd: cmd, ended: make(chan struct{})}
	go func() { // ends with the process; stop waits for it
		last := s.follow(out)
		err := cmd.Wait()
		if p.last = last; last == "" && err != nil {
			p.last = err.Error()
		}
		close(p.ended)
	}()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		select {
		case <-p.ended:
			return nil, fault.Errorf(fault.Transient, "the Tika server ended at its start: %s", p.last)
		case <-ctx.Done():
			p.stop()
			return nil, fault.Errorf(fault.Transient, "the Tika server did not answer within %v of its start: %s", time.Since(begun).Round(time.Millisecond), p.last)
		case <-tick.C:
			if s.answers(ctx, p.url) {
				s.log.Info("Tika server started", "url", p.url, "duration", time.Since(begun))
				return p, nil
			}
		}
	}
}

// follow logs what the server writes and returns the last line.
func (s *server) follow(out io.Reader) string {
	last := ""
	r := bufio.NewReaderSize(out, 4096)
	for {
		line, err := r.ReadSlice('\n') // lines that are longer come in pieces
		if text := strings.TrimSpace(string(line)); text != "" {
			last = text
			s.log.Debug("Tika server", "line", text)
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return last
		}
	}
}

func (s *server) answers(ctx context.Context, url string) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/version", http.NoBody)
	if err != nil {
		return false
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return false
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 4096))
	_ = resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// parsed notes that the server does its work.
func (s *server) parsed() {
	s.mu.Lock()
	s.deaths = 0
	s.mu.Unlock()
}

// end ends a process that hangs over a document; the next use starts another.
func (s *server) end(p *process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p != nil && s.proc == p {
		p.stop()
		s.proc = nil
		s.deaths++
	}
}

func (s *server) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.proc != nil {
		s.proc.stop()
		s.proc = nil
	}
	s.client.CloseIdleConnections()
	return nil
}

// stop kills the process, which keeps nothing, and waits for its end.
func (p *process) stop() {
	_ = p.cmd.Process.Kill()
	<-p.ended
}

// awaitEnd gives a process that broke a connection off a moment to end, so that
// the next document is not sent to it.
func (p *process) awaitEnd(ctx context.Context) {
	t := time.NewTimer(time.Second)
	defer t.Stop()
	select {
	case <-p.ended:
	case <-t.C:
	case <-ctx.Done():
	}
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port, nil //nolint:forcetypeassert // of a TCP listener
}
