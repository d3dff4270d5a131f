package control_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/gonutch/crawler/core/internal/control"
	"github.com/gonutch/crawler/sdk/fault"
)

// TestMain can be the other process of a test: with CONTROL_SERVE it serves
// that directory until its standard input ends or it is killed.
func TestMain(m *testing.M) {
	if dir := os.Getenv("CONTROL_SERVE"); dir != "" {
		s, err := control.Serve(context.Background(), dir, table(), control.Options{Command: "crawler run", Version: "v1"})
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println("ready")
		_, _ = io.Copy(io.Discard, os.Stdin)
		if err := s.Close(); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

func table() control.Table {
	return control.Table{
		Verbs: map[string]control.Handler{
			"echo": func(_ context.Context, q json.RawMessage) (json.RawMessage, error) { return q, nil },
			"fail": func(context.Context, json.RawMessage) (json.RawMessage, error) {
				return nil, fault.Errorf(fault.Invalid, "no such url")
			},
			"plain": func(context.Context, json.RawMessage) (json.RawMessage, error) {
				return nil, errors.New("disk on fire")
			},
			"hang": func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			},
		},
		Streams: map[string]control.Stream{
			"count": func(_ context.Context, _ json.RawMessage, send func(json.RawMessage) error) error {
				for i := range 3 {
					if err := send(json.RawMessage(fmt.Sprint(i))); err != nil {
						return err
					}
				}
				return nil
			},
			"breaks": func(_ context.Context, _ json.RawMessage, send func(json.RawMessage) error) error {
				return errors.Join(send(json.RawMessage(`1`)), fault.Errorf(fault.Transient, "try later"))
			},
			"forever": func(ctx context.Context, _ json.RawMessage, send func(json.RawMessage) error) error {
				err := send(json.RawMessage(`"first"`))
				<-ctx.Done()
				return err
			},
		},
	}
}

func serve(t *testing.T, dir string) *control.Server {
	t.Helper()
	s, err := control.Serve(t.Context(), dir, table(), control.Options{Command: "crawler run", Version: "v1"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func dial(t *testing.T, dir string) *control.Client {
	t.Helper()
	c, err := control.Dial(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func TestCall(t *testing.T) {
	dir := t.TempDir()
	serve(t, dir)
	c := dial(t, dir)
	if h := c.Hello(); h.PID != os.Getpid() || h.Command != "crawler run" || h.Version != "v1" || h.Since.IsZero() {
		t.Errorf("hello: %+v", h)
	}
	b, err := c.Call(t.Context(), "echo", json.RawMessage(`{"url":"http://a.test/"}`))
	if err != nil || string(b) != `{"url":"http://a.test/"}` {
		t.Errorf("echo: %s, %v", b, err)
	}
	for verb, want := range map[string]struct {
		text string
		kind fault.Kind
		has  bool
	}{
		"fail":   {"no such url", fault.Invalid, true},
		"plain":  {"disk on fire", 0, false},
		"what":   {`does not know "what"`, fault.Invalid, true},
		"../x":   {"there is no", fault.Invalid, true},
		"a%2Fb?": {"does not know", fault.Invalid, true},
	} {
		_, err := c.Call(t.Context(), verb, nil)
		if err == nil || !strings.Contains(err.Error(), want.text) || fault.Is(err, want.kind) != want.has {
			t.Errorf("%s: %v", verb, err)
		}
	}
}

func TestStream(t *testing.T) {
	dir := t.TempDir()
	serve(t, dir)
	c := dial(t, dir)
	read := func(verb string, stop error) (got []string, err error) {
		err = c.Stream(t.Context(), verb, nil, func(v json.RawMessage) error {
			got = append(got, string(v))
			return stop
		})
		return got, err
	}
	got, err := read("count", nil)
	if diff := cmp.Diff([]string{"0", "1", "2"}, got); diff != "" || err != nil {
		t.Errorf("count: %v %s", err, diff)
	}
	if got, err = read("breaks", nil); len(got) != 1 || !fault.Is(err, fault.Transient) {
		t.Errorf("breaks: %v, %v", got, err)
	}
	enough := errors.New("enough")
	if got, err = read("forever", enough); len(got) != 1 || !errors.Is(err, enough) {
		t.Errorf("forever: %v, %v", got, err)
	}
	if _, err = read("nothing", nil); !fault.Is(err, fault.Invalid) {
		t.Errorf("unknown: %v", err)
	}
}

func TestLimits(t *testing.T) {
	dir := t.TempDir()
	serve(t, dir)
	c := dial(t, dir)
	big := json.RawMessage(`"` + strings.Repeat("x", 1<<20) + `"`)
	if _, err := c.Call(t.Context(), "echo", big); !fault.Is(err, fault.Invalid) {
		t.Errorf("client sends %d bytes: %v", len(big), err)
	}
	// Another client may not know the limit.
	raw := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(context.Context, string, string) (net.Conn, error) {
		return net.Dial("unix", filepath.Join(dir, control.SocketName))
	}}}
	for _, body := range []string{string(big), `{"a":`} {
		res, err := raw.Post("http://crawl/v1/verb/echo", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(res.Body)
		if err = errors.Join(err, res.Body.Close()); err != nil {
			t.Fatal(err)
		}
		if res.StatusCode != http.StatusBadRequest || !strings.Contains(string(b), `"kind":"invalid"`) {
			t.Errorf("body of %d bytes: %s %s", len(body), res.Status, b)
		}
	}
}

// TestBusy fills all slots with requests that hang; one more is refused, and all
// end when the asker goes.
func TestBusy(t *testing.T) {
	dir := t.TempDir()
	serve(t, dir)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 64)
	started := make(chan struct{}, 64)
	for range 32 {
		c := dial(t, dir)
		go func() {
			ended <- c.Stream(ctx, "forever", nil, func(json.RawMessage) error { started <- struct{}{}; return nil })
		}()
	}
	for range 32 {
		<-started
	}
	c := dial(t, dir)
	if _, err := c.Call(t.Context(), "echo", nil); !fault.Is(err, fault.Transient) {
		t.Errorf("one too many: %v", err)
	}
	cancel()
	for range 32 {
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("asker that went: %v", err)
		}
	}
}

func TestCloseEndsRequests(t *testing.T) {
	dir := t.TempDir()
	s := serve(t, dir)
	c, started, ended := dial(t, dir), make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- c.Stream(t.Context(), "forever", nil, func(json.RawMessage) error { close(started); return nil })
	}()
	<-started
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Errorf("stream of a server that closes: %v", err)
	}
	if _, err := c.Call(t.Context(), "echo", nil); !fault.Is(err, fault.Shutdown) {
		t.Errorf("call of a closed server: %v", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
	if _, err := control.Dial(t.Context(), dir); !errors.Is(err, control.ErrNotRunning) {
		t.Errorf("dial after close: %v", err)
	}
}

func TestSocketFile(t *testing.T) {
	dir := t.TempDir()
	serve(t, dir)
	info, err := os.Lstat(filepath.Join(dir, control.SocketName))
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode() != os.ModeSocket|0o600 {
		t.Errorf("mode %v", info.Mode())
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("more than the socket: %v", entries)
	}
	if _, err := control.Serve(t.Context(), dir, table(), control.Options{}); !errors.Is(err, control.ErrServed) {
		t.Errorf("second server: %v", err)
	}
	if c := dial(t, dir); c.Hello().Command != "crawler run" {
		t.Error("the refused second server disturbed the first")
	}
}

func TestNotRunning(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{dir, filepath.Join(dir, "missing"), file, filepath.Join(dir, strings.Repeat("long/", 40))} {
		if _, err := control.Dial(t.Context(), d); !errors.Is(err, control.ErrNotRunning) {
			t.Errorf("%s: %v", d, err)
		}
	}
}

// TestEndsBeforeItAnswers: a connection that waits in the queue of a process
// that ends is dropped, which is no error: nobody serves any longer.
func TestEndsBeforeItAnswers(t *testing.T) {
	dir := t.TempDir()
	l, err := net.Listen("unix", filepath.Join(dir, control.SocketName))
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for range 2 { // two connections are taken and dropped, then it ends
			if c, err := l.Accept(); err == nil {
				_ = c.Close()
			}
		}
		_ = l.Close()
	}()
	if _, err := control.Dial(t.Context(), dir); !errors.Is(err, control.ErrNotRunning) {
		t.Errorf("got %v", err)
	}
}

func TestServeRefuses(t *testing.T) {
	_, err := control.Serve(t.Context(), filepath.Join(t.TempDir(), "missing"), table(), control.Options{})
	if err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("missing directory: %v", err)
	}
	if os.Geteuid() == 0 {
		t.Log("read-only directory not tried: root may write everywhere")
		return
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	if _, err := control.Serve(t.Context(), dir, table(), control.Options{}); err == nil || !strings.Contains(err.Error(), "must be writable") {
		t.Errorf("read-only directory: %v", err)
	}
}

// TestLongPath serves and asks below a path that no socket address can hold.
func TestLongPath(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	dir := filepath.Join(t.TempDir(), strings.Repeat("a-long-name/", 20))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	serve(t, dir)
	c := dial(t, dir)
	if _, err := c.Call(t.Context(), "echo", nil); err != nil {
		t.Error(err)
	}
	t.Chdir(dir) // and by a short name again
	if b, err := dial(t, ".").Call(t.Context(), "echo", json.RawMessage(`1`)); err != nil || string(b) != "1" {
		t.Errorf("%s, %v", b, err)
	}
	if left, _ := filepath.Glob(filepath.Join(tmp, "crawler-*")); len(left) > 0 {
		t.Errorf("links left behind: %v", left)
	}
}

// TestOtherProcess asks another process, kills it, finds its socket stale and
// serves in its place.
func TestOtherProcess(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "CONTROL_SERVE="+dir)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close() }()
	ready := make([]byte, 6)
	if _, err := io.ReadFull(out, ready); err != nil || string(ready) != "ready\n" {
		t.Fatalf("%q, %v", ready, err)
	}
	c := dial(t, dir)
	if c.Hello().PID != cmd.Process.Pid {
		t.Errorf("hello from %d, want %d", c.Hello().PID, cmd.Process.Pid)
	}
	if _, err := control.Serve(t.Context(), dir, table(), control.Options{}); !errors.Is(err, control.ErrServed) {
		t.Errorf("beside a living server: %v", err)
	}
	gone := make(chan error, 1)
	asked := make(chan struct{})
	go func() {
		gone <- c.Stream(t.Context(), "forever", nil, func(json.RawMessage) error { close(asked); return nil })
	}()
	<-asked
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	if err := <-gone; !fault.Is(err, fault.Shutdown) {
		t.Errorf("stream of a killed process: %v", err)
	}
	if _, err := os.Lstat(filepath.Join(dir, control.SocketName)); err != nil {
		t.Fatalf("the killed process should have left its socket: %v", err)
	}
	if _, err := control.Dial(t.Context(), dir); !errors.Is(err, control.ErrNotRunning) {
		t.Errorf("stale socket: %v", err)
	}
	serve(t, dir)
	if _, err := dial(t, dir).Call(t.Context(), "echo", nil); err != nil {
		t.Error(err)
	}
}
