package chaos_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/extension/indexingfilter"
	"github.com/gonutch/crawler/sdk/extension/parsefilter"
	"github.com/gonutch/crawler/sdk/extension/parser"
	"github.com/gonutch/crawler/sdk/extension/protocol"
	"github.com/gonutch/crawler/sdk/extension/scoring"
	"github.com/gonutch/crawler/sdk/extension/urlfilter"
	"github.com/gonutch/crawler/sdk/extension/urlnormalizer"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/handshake"
	"github.com/gonutch/crawler/sdk/host"
	"github.com/gonutch/crawler/sdk/internal/conform"
	"github.com/gonutch/crawler/sdk/internal/rpc"
	"github.com/gonutch/crawler/sdk/manifest"
	"github.com/gonutch/crawler/sdk/model"
	"github.com/gonutch/crawler/sdk/plugintest/chaos"
)

const childEnv = "CHAOS_TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		sdk.Main(chaos.Plugin())
		return
	}
	os.Exit(m.Run())
}

// process is the chaos plugin as a process. Alive ends when it and all that it
// started are gone.
type process struct {
	*rpc.Process
	alive  *os.File
	output *output
}

// output is what a process printed so far.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

func start(t *testing.T, settings, dataDir string) process {
	t.Helper()
	m, err := manifest.Read("plugin.hcl", chaos.Plugin().Manifest)
	if err != nil {
		t.Fatal(err)
	}
	c, err := conform.Configuration(m, settings, nil)
	if err != nil {
		t.Fatal(err)
	}
	c.DataDir = dataDir
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"=1", handshake.EnvMaxMessage+"=4194304")
	cmd.ExtraFiles = []*os.File{w}
	var out output
	p, err := rpc.Start(cmd, &out)
	_ = w.Close()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Stop(0) })
	if err := host.NewBase(p.Conn).Configure(deadline(t, 10*time.Second), c); err != nil {
		t.Fatal(err)
	}
	return process{p, r, &out}
}

func deadline(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}

// ended waits for the end of the process and of all that it started.
func (p process) ended(t *testing.T) {
	t.Helper()
	if err := p.alive.SetReadDeadline(time.Now().Add(5 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, p.alive); err != nil {
		t.Errorf("5 s later something is still alive: %v", err)
	}
}

func filter(t *testing.T, p process, d time.Duration, urls ...string) ([]urlfilter.Verdict, []error, error) {
	return urlfilter.NewClient(p.Conn).FilterURLs(deadline(t, d), urls)
}

const settings = `{"huge": "5MiB", "hog": "32MiB", "leak": "1MiB", "slow": "1ms"}`

func TestProcessEnds(t *testing.T) {
	for _, b := range []chaos.Behaviour{chaos.Crash, chaos.Kill, chaos.Fatal} {
		t.Run(string(b), func(t *testing.T) {
			t.Parallel()
			p := start(t, settings, "")
			if _, _, err := filter(t, p, 10*time.Second, "http://a/chaos-"+string(b)+"/1"); !fault.Is(err, fault.Shutdown) {
				t.Errorf("got %v", err)
			}
			p.ended(t)
		})
	}
}

func TestHangs(t *testing.T) {
	for _, b := range []chaos.Behaviour{chaos.Hang, chaos.Stop, chaos.Hog, chaos.Spin} {
		t.Run(string(b), func(t *testing.T) {
			p := start(t, settings, "")
			if _, _, err := filter(t, p, 300*time.Millisecond, "chaos-"+string(b)); !errors.Is(err, context.DeadlineExceeded) || !fault.Is(err, fault.Transient) {
				t.Errorf("got %v", err)
			}
			err := host.NewBase(p.Conn).Health(deadline(t, time.Second))
			if (err != nil) != (b == chaos.Stop) {
				t.Errorf("health: %v", err)
			}
			p.Stop(0)
			p.ended(t)
		})
	}
}

func TestAnswers(t *testing.T) {
	p := start(t, settings, "")
	ok := func(b chaos.Behaviour) {
		t.Helper()
		if v, errs, err := filter(t, p, 10*time.Second, "a", "chaos-"+string(b)); err != nil || errs != nil || len(v) != 2 {
			t.Errorf("%s: %v, %v, %v", b, v, errs, err)
		}
	}
	for _, b := range []chaos.Behaviour{chaos.None, chaos.Slow, chaos.Leak, chaos.Fork, chaos.Noise, chaos.Hostile, chaos.Nonsense} {
		ok(b)
	}
	for b, kind := range map[chaos.Behaviour]fault.Kind{
		chaos.Short: fault.Invalid, chaos.Long: fault.Invalid, chaos.Refuse: fault.Transient, chaos.Panic: fault.Permanent,
	} {
		if _, _, err := filter(t, p, 10*time.Second, "a", "chaos-"+string(b)); !fault.Is(err, kind) {
			t.Errorf("%s: got %v", b, err)
		}
	}
	for _, kind := range []fault.Kind{fault.Permanent, fault.Transient, fault.Denied, fault.Invalid, fault.Shutdown} {
		_, errs, err := filter(t, p, 10*time.Second, "a", "chaos-"+kind.String())
		if err != nil || errs[0] != nil || !fault.Is(errs[1], kind) {
			t.Errorf("%v: %v, %v", kind, errs, err)
		}
	}
	ok(chaos.None)
	if !p.Stop(5 * time.Second) {
		t.Error("did not end when asked to")
	}
	p.ended(t)
	for _, want := range []string{`{"@message": 5}`, "plain words", "panic"} {
		if !strings.Contains(p.output.String(), want) {
			t.Errorf("it did not print %q", want)
		}
	}
}

// TestHuge: the host's limit holds for answers, whoever sends them.
func TestHuge(t *testing.T) {
	p := start(t, `{"huge": "65MiB"}`, "")
	if _, _, err := filter(t, p, 20*time.Second, "chaos-huge"); !fault.Is(err, fault.Invalid) {
		t.Errorf("got %v", err)
	}
	if _, err := protocol.NewClient(p.Conn).Fetch(deadline(t, 20*time.Second), &protocol.Request{URL: "chaos://chaos-huge", MaxBytes: 1 << 20}); !fault.Is(err, fault.Invalid) {
		t.Errorf("got %v", err)
	}
}

func TestCrashOnce(t *testing.T) {
	dir := t.TempDir()
	p := start(t, settings, dir)
	if _, _, err := filter(t, p, 10*time.Second, "chaos-crash-once"); !fault.Is(err, fault.Shutdown) {
		t.Errorf("first: %v", err)
	}
	p = start(t, settings, dir)
	if _, _, err := filter(t, p, 10*time.Second, "chaos-crash-once"); err != nil {
		t.Errorf("second: %v", err)
	}
	if _, _, err := filter(t, p, 10*time.Second, "chaos-crash-once/2"); !fault.Is(err, fault.Shutdown) {
		t.Errorf("another url: %v", err)
	}
}

// TestHostDies: when the host's end of the lifeline closes, the plugin and what
// it started are gone, also when it hangs.
func TestHostDies(t *testing.T) {
	for _, shutdown := range []string{"ok", "hang", "error", "exit"} {
		t.Run(shutdown, func(t *testing.T) {
			t.Parallel()
			p := start(t, `{"children": 2, "shutdown": "`+shutdown+`"}`, "")
			if _, _, err := filter(t, p, 10*time.Second, "chaos-fork"); err != nil {
				t.Fatal(err)
			}
			p.Abandon()
			if shutdown == "exit" { // it ends itself before it can end the others
				p.Stop(time.Second)
			}
			p.ended(t)
		})
	}
}

func TestIgnoresShutdown(t *testing.T) {
	p := start(t, `{"shutdown": "hang"}`, "")
	if err := host.NewBase(p.Conn).Shutdown(deadline(t, 200*time.Millisecond)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	p.Stop(0)
	p.ended(t)
}

// TestEveryPoint: each point that the plugin provides misbehaves, and only
// those that the settings name.
func TestEveryPoint(t *testing.T) {
	url := "chaos://h/chaos-refuse"
	calls := map[string]func(ctx context.Context, p process) error{
		"protocol": func(ctx context.Context, p process) error {
			_, err := protocol.NewClient(p.Conn).Fetch(ctx, &protocol.Request{URL: url})
			return err
		},
		"parser": func(ctx context.Context, p process) error {
			_, _, err := parser.NewClient(p.Conn).ParseDocuments(ctx, []*parser.Input{{Content: model.Content{URL: url}}})
			return err
		},
		"parsefilter": func(ctx context.Context, p process) error {
			_, _, err := parsefilter.NewClient(p.Conn).FilterParses(ctx, []*parsefilter.Input{{Parse: model.Parse{URL: url}}})
			return err
		},
		"urlnormalizer": func(ctx context.Context, p process) error {
			_, _, err := urlnormalizer.NewClient(p.Conn).NormalizeURLs(ctx, "", []string{url})
			return err
		},
		"urlfilter": func(ctx context.Context, p process) error {
			_, _, err := urlfilter.NewClient(p.Conn).FilterURLs(ctx, []string{url})
			return err
		},
		"scoring": func(ctx context.Context, p process) error {
			_, err := scoring.NewClient(p.Conn).Score(ctx, []scoring.ScoreInput{{URL: url}})
			return err
		},
		"indexingfilter": func(ctx context.Context, p process) error {
			_, _, err := indexingfilter.NewClient(p.Conn).FilterDocuments(ctx, []*indexingfilter.Input{{URL: url}})
			return err
		},
	}
	m, err := manifest.Read("plugin.hcl", chaos.Plugin().Manifest)
	if err != nil {
		t.Fatal(err)
	}
	all, one := start(t, "", ""), start(t, `{"points": ["parser"]}`, "")
	for _, provided := range m.Provides {
		call := calls[provided.Point]
		if call == nil {
			t.Fatalf("no call for %s", provided.Point)
		}
		if err := call(deadline(t, 10*time.Second), all); !fault.Is(err, fault.Transient) {
			t.Errorf("%s: %v", provided.Point, err)
		}
		if err := call(deadline(t, 10*time.Second), one); (err != nil) != (provided.Point == "parser") {
			t.Errorf("%s where only the parser misbehaves: %v", provided.Point, err)
		}
	}
}

func TestParse(t *testing.T) {
	p := start(t, "", "")
	out, _, err := parser.NewClient(p.Conn).ParseDocuments(deadline(t, 10*time.Second), []*parser.Input{{Content: model.Content{
		URL: "http://h/d/", Body: []byte(`<title>T</title> some <b>words</b> <a class=x href="../a?b">A <i>b</i></a><a href='http://o/'></a>`),
	}}})
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprintf("%s|%v", out[0].Parses[0].Title, out[0].Parses[0].Outlinks)
	if want := "T|[{http://h/a?b A  b a map[]} {http://o/  a map[]}]"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestOf(t *testing.T) {
	for url, want := range map[string]chaos.Behaviour{
		"http://h/chaos-crash/1": chaos.Crash, "http://h/chaos-crash-once.html": chaos.CrashOnce, "http://h/chaos-unheard": chaos.None,
		"chaos://h/": chaos.None, "chaos-": chaos.None, "x-chaos-hang": chaos.Hang, "": chaos.None,
	} {
		if got := chaos.Of(url); got != want {
			t.Errorf("%q: %q, want %q", url, got, want)
		}
	}
	for _, b := range chaos.Behaviours() {
		if got := chaos.Of("chaos-" + string(b)); got != b {
			t.Errorf("%s is hidden by %s", b, got)
		}
	}
}
