package control

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/gonutch/crawler/sdk/fault"
)

// Client asks the process that serves a crawl directory. It is safe for
// concurrent use.
type Client struct {
	http     *http.Client
	hello    Hello
	answered atomic.Bool
}

// helloTime is how long the serving process may take to say who it is, goneRetry
// the pause before a connection that was dropped meanwhile is made anew.
const (
	helloTime = 5 * time.Second
	goneRetry = 20 * time.Millisecond
)

// Dial connects to the process that serves the crawl directory dir. The error is
// ErrNotRunning when there is none: no socket, or one that a dead process
// left. A process that does not answer in time, or answers nonsense, is another
// error.
func Dial(ctx context.Context, dir string) (*Client, error) {
	c := &Client{http: &http.Client{Transport: &http.Transport{
		DialContext:     func(ctx context.Context, _, _ string) (net.Conn, error) { return connect(ctx, dir) },
		MaxIdleConns:    2,
		IdleConnTimeout: 30 * time.Second,
	}}}
	hctx, cancel := context.WithTimeout(ctx, helloTime)
	defer cancel()
	b, err := c.do(hctx, http.MethodGet, "/v1/hello", nil)
	// A process that is just ending drops connections it had not yet accepted: the
	// next one tells whether anybody serves.
	for fault.Is(err, fault.Shutdown) && !notServed(err) && wait(hctx, goneRetry) {
		b, err = c.do(hctx, http.MethodGet, "/v1/hello", nil)
	}
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case notServed(err):
		return nil, fmt.Errorf("%w in %s", ErrNotRunning, dir)
	case errors.Is(err, context.DeadlineExceeded):
		return nil, fmt.Errorf("the process that has %s open did not answer within %s: is it stopped?", dir, helloTime)
	case err != nil:
		return nil, fmt.Errorf("ask the process that has %s open: %w", dir, err)
	}
	if err := json.Unmarshal(b, &c.hello); err != nil {
		return nil, fmt.Errorf("ask the process that has %s open: it answers %.40q", dir, b)
	}
	return c, nil
}

// notServed tells from an error of connecting that nobody listens.
func notServed(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ENOTDIR)
}

// wait waits for d, or not to the end when ctx ends first: false.
func wait(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// connect connects to the socket of dir.
func connect(ctx context.Context, dir string) (c net.Conn, err error) {
	err = withShortPath(dir, SocketName, func(path string) (err error) {
		c, err = new(net.Dialer).DialContext(ctx, "unix", path)
		return err
	})
	return c, err
}

// Hello returns who serves.
func (c *Client) Hello() Hello { return c.hello }

// Answered reports whether a verb or stream of the process has given a value:
// until then a question that failed because the process ended can be asked
// anew.
func (c *Client) Answered() bool { return c.answered.Load() }

// Close lets go of the connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Call asks verb and returns its answer. Errors of the verb have the kind they
// had there; a process that goes away meanwhile is an error of kind Shutdown.
func (c *Client) Call(ctx context.Context, verb string, query json.RawMessage) (json.RawMessage, error) {
	b, err := c.do(ctx, http.MethodPost, "/v1/verb/"+verb, query)
	if err == nil {
		c.answered.Store(true)
	}
	return b, err
}

func (c *Client) do(ctx context.Context, method, path string, query json.RawMessage) (json.RawMessage, error) {
	res, err := c.request(ctx, method, path, query)
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	err = errors.Join(err, res.Body.Close())
	switch {
	case err != nil && ctx.Err() == nil:
		return nil, gone(err)
	case err != nil:
		return nil, ctx.Err()
	case len(b) > maxAnswer:
		return nil, fmt.Errorf("the answer is longer than %d bytes", maxAnswer)
	}
	return b, nil
}

// request sends a request and turns an answer that is an error into one.
func (c *Client) request(ctx context.Context, method, path string, query json.RawMessage) (*http.Response, error) {
	if len(query) > maxRequest {
		return nil, fault.Errorf(fault.Invalid, "the query has %d bytes, more than %d", len(query), maxRequest)
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://crawl"+path, bytes.NewReader(query))
	if err != nil {
		return nil, err
	}
	res, err := c.http.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, gone(err)
	}
	if res.StatusCode == http.StatusOK {
		return res, nil
	}
	b, err := io.ReadAll(io.LimitReader(res.Body, maxRequest))
	if err = errors.Join(err, res.Body.Close()); err != nil {
		return nil, gone(err)
	}
	var l line
	if json.Unmarshal(b, &l) != nil || l.Error == "" {
		return nil, fmt.Errorf("the running process answers %s: %.80q", res.Status, b)
	}
	return nil, l.err()
}

// gone gives errors of the connection a kind: the process ended, or was killed.
func gone(err error) error {
	return fault.New(fault.Shutdown, fmt.Errorf("the running process went away: %w", err))
}

// Stream asks a streaming verb and calls f with each value until there are no
// more, f fails, or ctx ends.
func (c *Client) Stream(ctx context.Context, verb string, query json.RawMessage, f func(json.RawMessage) error) (err error) {
	res, err := c.request(ctx, http.MethodPost, "/v1/stream/"+verb, query)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, res.Body.Close()) }()
	sc := bufio.NewScanner(res.Body)
	sc.Buffer(make([]byte, 64<<10), maxAnswer)
	for sc.Scan() {
		var l line
		if err := json.Unmarshal(sc.Bytes(), &l); err != nil {
			return fmt.Errorf("the running process answers %.80q", sc.Bytes())
		}
		if l.End || l.Error != "" {
			return l.err()
		}
		c.answered.Store(true)
		if err := f(l.Value); err != nil {
			return err
		}
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case sc.Err() != nil:
		return gone(sc.Err())
	}
	return gone(io.ErrUnexpectedEOF)
}
