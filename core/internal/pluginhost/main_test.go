package pluginhost

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"go.uber.org/goleak"
	"google.golang.org/grpc"

	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/extension/urlfilter"
	"github.com/gonutch/crawler/sdk/manifest"
)

// The test binary plays three parts beside its own: the plugin, the guard and a
// host that is going to be killed.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "plugin" {
		switch os.Args[2] {
		case "serve":
			sdk.Main(chaos())
		case "guard":
			Guard(os.Stdin, os.Args[3], os.Args[4])
		case "host":
			helperHost(os.Args[3])
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

const chaosManifest = `
id          = "urlfilter-chaos"
name        = "Chaos"
version     = "1"
api         = 1
provide "urlfilter" {}
setting "start" {
  type    = "string"
  default = ""
  meaning = "What it does at its start: slow, exit, panic, refuse."
}
setting "shutdown" {
  type    = "string"
  default = ""
  meaning = "What it does at its end: hang."
}
setting "once" {
  type    = "string"
  default = ""
  meaning = "A file; misbehaving at the start stops when it exists."
}
`

// chaos is a URL filter that does what the URL says.
func chaos() sdk.Plugin {
	return sdk.Plugin{Manifest: []byte(chaosManifest), New: func(env sdk.Env) (*sdk.Extensions, error) {
		var s struct{ Start, Shutdown, Once string }
		if err := env.Settings.Decode(&s); err != nil {
			return nil, err
		}
		if s.Once != "" {
			if _, err := os.Stat(s.Once); err == nil {
				s.Start = ""
			}
		}
		switch s.Start {
		case "slow":
			time.Sleep(time.Minute)
		case "exit":
			os.Exit(4)
		case "panic":
			go panic("no way to start")
			select {}
		case "refuse":
			return nil, errors.New("start: the colour is wrong")
		}
		ext := &sdk.Extensions{URLFilter: filter{log: env.Logger}}
		if s.Shutdown == "hang" {
			ext.Close = func() error { select {} }
		}
		return ext, nil
	}}
}

type filter struct{ log hclog.Logger }

// FilterURL is not called: filter implements the batch form.
func (f filter) FilterURL(context.Context, string) (urlfilter.Verdict, error) {
	return urlfilter.Verdict{}, nil
}

// FilterURLs accepts what does not have "spam" in it.
func (f filter) FilterURLs(_ context.Context, urls []string) ([]urlfilter.Verdict, []error, error) {
	out := make([]urlfilter.Verdict, len(urls))
	for i, u := range urls {
		out[i] = urlfilter.Verdict{Accept: !strings.Contains(u, "spam"), Reason: u}
		switch do, arg, _ := strings.Cut(u, ":"); do {
		case "crash":
			fmt.Fprintln(syscallStderr{}, "fatal error: chaos on "+u)
			os.Exit(3)
		case "panic":
			go panic("chaos on " + u)
			select {}
		case "hang":
			select {}
		case "stop":
			_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
			select {}
		case "sleep":
			d, _ := time.ParseDuration(arg)
			time.Sleep(d)
		case "hog":
			var hold [][]byte
			for {
				b := make([]byte, 8<<20)
				for k := range b {
					b[k] = byte(k)
				}
				hold = append(hold, b)
				runtime.KeepAlive(hold)
				time.Sleep(5 * time.Millisecond)
			}
		case "gulp": // faster than any watch
			var hold [][]byte
			for {
				b := make([]byte, 64<<20)
				for k := 0; k < len(b); k += 512 {
					b[k] = 1
				}
				hold = append(hold, b)
				runtime.KeepAlive(hold)
			}
		case "huge":
			out[i].Reason = strings.Repeat("x", 80<<20)
		case "short":
			return out[:i], nil, nil
		case "pid":
			out[i].Reason = fmt.Sprint(os.Getpid())
		case "env":
			out[i].Reason = strings.Join(os.Environ(), "\n")
		case "stdin":
			b := make([]byte, 1)
			n, err := os.Stdin.Read(b)
			out[i].Reason = fmt.Sprint(n, err)
		case "limits":
			b, _ := os.ReadFile("/proc/self/limits")
			adj, _ := os.ReadFile("/proc/self/oom_score_adj")
			out[i].Reason = string(b) + "oom " + string(adj)
		case "stderr":
			babble()
		case "log":
			f.log.Warn("hello", "url", u)
		case "fork":
			out[i].Reason = fork()
		}
	}
	return out, nil, nil
}

// syscallStderr is the original standard error, which go-plugin replaces.
type syscallStderr struct{}

func (syscallStderr) Write(b []byte) (int, error) { return syscall.Write(2, b) }

// babble prints lines that break careless readers.
func babble() {
	for _, line := range []string{
		`{"@message": 42, "@level": "info"}`,
		`{"@message": {"a": 1}, "@level": ["x"], "@timestamp": 7}`,
		`{"@message": "m", "@level": "info", "@timestamp": 12, "k": {"deep": [1,2]}}`,
		`{"@level":"info"`,
		strings.Repeat("[", 100000),
		strings.Repeat("long ", 100000),
		"\x00\xff\xfe\x1b[31m",
		`[]`, `"x"`, `null`, `{}`, "", " ",
	} {
		_, _ = syscallStderr{}.Write([]byte(line + "\n"))
	}
	for i := range 5000 {
		_, _ = syscallStderr{}.Write([]byte(fmt.Sprintf("line %d\n", i)))
	}
	_, _ = syscall.Write(1, []byte(strings.Repeat("out", 100000)))
}

// fork starts a child in the plugin's group, one in a group of its own and one
// in a session of its own, the last two started through a shell that ends.
func fork() string {
	var pids []string
	for _, attr := range []*syscall.SysProcAttr{{}, {Setpgid: true}, {Setsid: true}} {
		cmd := exec.Command("/bin/sh", "-c", "sleep 600 & echo $!; sleep 600 & echo $!")
		cmd.SysProcAttr = attr
		out, err := cmd.StdoutPipe()
		if err != nil {
			return err.Error()
		}
		if err := cmd.Start(); err != nil {
			return err.Error()
		}
		var a, b string
		_, _ = fmt.Fscan(out, &a, &b)
		go func() { _ = cmd.Wait() }()
		pids = append(pids, a, b)
	}
	return strings.Join(pids, " ")
}

// helperHost hosts a plugin with grandchildren, prints their pids and waits to
// be killed.
func helperHost(dir string) {
	h, err := New(Options{RunDir: dir}, []*manifest.Manifest{chaosRead()}, chaosSettings(nil))
	if err != nil {
		fmt.Println("ERROR", err)
		return
	}
	pid, err1 := ask(context.Background(), h.Plugin("urlfilter-chaos"), "pid:")
	kids, err2 := ask(context.Background(), h.Plugin("urlfilter-chaos"), "fork:")
	fmt.Println(pid, kids, errors.Join(err1, err2))
	select {}
}

func chaosRead() *manifest.Manifest {
	m, err := manifest.Read("chaos/plugin.hcl", []byte(chaosManifest))
	if err != nil {
		panic(err)
	}
	m.File = ""
	return m
}

func chaosSettings(own map[string]string) func(*manifest.Manifest) (sdk.Settings, error) {
	return func(*manifest.Manifest) (sdk.Settings, error) {
		raw, err := json.Marshal(own)
		return sdk.Settings{Own: raw}, err
	}
}

// newHost returns a host of the chaos plugin that is closed with the test.
func newHost(t testing.TB, opts Options, own map[string]string) (*Host, *Plugin) {
	t.Helper()
	if opts.Logger == nil && testing.Verbose() {
		opts.Logger = hclog.New(&hclog.LoggerOptions{Level: hclog.Debug, Output: os.Stderr})
	}
	if opts.MaxProcs == 0 {
		opts.MaxProcs = 1
	}
	h, err := New(opts, []*manifest.Manifest{chaosRead()}, chaosSettings(own))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return h, h.Plugin("urlfilter-chaos")
}

// filterCall returns a call that filters urls into out.
func filterCall(urls []string, out *[]urlfilter.Verdict) Call {
	return func(ctx context.Context, cc grpc.ClientConnInterface) error {
		v, _, err := urlfilter.NewClient(cc).FilterURLs(ctx, urls)
		*out = v
		return err
	}
}

// ask filters one URL and returns the reason.
func ask(ctx context.Context, p *Plugin, url string) (string, error) {
	var v []urlfilter.Verdict
	if err := p.Do(ctx, 1, filterCall([]string{url}, &v)); err != nil {
		return "", err
	}
	return v[0].Reason, nil
}

func list(m ...*manifest.Manifest) []*manifest.Manifest { return m }
