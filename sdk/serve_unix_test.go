//go:build unix

package sdk_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/extension/urlfilter"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/handshake"
	"github.com/gonutch/crawler/sdk/host"
)

const childEnv = "SDK_TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		sdk.Main(testPlugin())
		return
	}
	os.Exit(m.Run())
}

type words struct {
	Words []string `json:"words"`
}

func (w words) FilterURL(_ context.Context, url string) (urlfilter.Verdict, error) {
	if url == "exit" {
		os.Exit(3)
	}
	for _, word := range w.Words {
		if strings.Contains(url, word) {
			return urlfilter.Verdict{Reason: word}, nil
		}
	}
	return urlfilter.Verdict{Accept: true}, nil
}

func testPlugin() sdk.Plugin {
	return sdk.Plugin{Manifest: []byte("id = \"urlfilter-test\"\n"), New: func(env sdk.Env) (*sdk.Extensions, error) {
		var w words
		if err := env.Settings.Decode(&w); err != nil {
			return nil, err
		}
		return &sdk.Extensions{URLFilter: w, Parser: links{usualParse()}}, nil
	}}
}

// start starts this test binary as a plugin process.
func start(t testing.TB, env ...string) (*plugin.Client, *grpc.ClientConn) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append([]string{childEnv + "=1", handshake.EnvSocketDir + "=" + t.TempDir()}, env...)
	c := plugin.NewClient(&plugin.ClientConfig{
		HandshakeConfig:  host.Handshake(),
		Plugins:          host.Plugins(),
		Cmd:              cmd,
		AllowedProtocols: []plugin.Protocol{plugin.ProtocolGRPC},
		GRPCDialOptions:  host.DialOptions(handshake.DefaultMaxMessage),
		SkipHostEnv:      true,
		Logger:           hclog.New(&hclog.LoggerOptions{Level: hclog.Off}),
	})
	t.Cleanup(c.Kill)
	rpc, err := c.Client()
	if err != nil {
		t.Fatal(err)
	}
	cc, err := rpc.Dispense(handshake.PluginName)
	if err != nil {
		t.Fatal(err)
	}
	return c, cc.(*grpc.ClientConn)
}

func TestProcess(t *testing.T) {
	_, cc := start(t)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	base, filter := host.NewBase(cc), urlfilter.NewClient(cc)
	d, err := base.Describe(ctx)
	if err != nil || !bytes.Equal(d.Manifest, testPlugin().Manifest) || d.APIVersion != 1 {
		t.Fatalf("describe: %+v, %v", d, err)
	}
	if _, _, err := filter.FilterURLs(ctx, []string{"a"}); err == nil {
		t.Error("answered before it was configured")
	}
	if err := base.Configure(ctx, host.Configuration{Own: []byte(`{"wrods": []}`)}); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "wrods") {
		t.Errorf("unknown setting: %v", err)
	}
	if err := base.Configure(ctx, host.Configuration{LogLevel: "loud"}); !fault.Is(err, fault.Invalid) {
		t.Errorf("log level: %v", err)
	}
	if err := base.Configure(ctx, host.Configuration{Own: []byte(`{"words": ["spam"]}`)}); err != nil {
		t.Fatal(err)
	}
	if err := base.Health(ctx); err != nil {
		t.Error(err)
	}
	v, errs, err := filter.FilterURLs(ctx, []string{"http://spam/", "http://ham/"})
	if err != nil || errs != nil || v[0].Accept || v[0].Reason != "spam" || !v[1].Accept {
		t.Errorf("got %v, %v, %v", v, errs, err)
	}
	if _, _, err := filter.FilterURLs(ctx, []string{"exit"}); !fault.Is(err, fault.Shutdown) {
		t.Errorf("call that ends the process: %v", err)
	}
	if _, _, err := filter.FilterURLs(ctx, []string{"a"}); !fault.Is(err, fault.Shutdown) {
		t.Errorf("call after the process ended: %v", err)
	}
}

func TestStartedByHand(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = []string{childEnv + "=1"}
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 || !strings.Contains(string(out), "plugin.folders") {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestSignals: what a terminal or a service manager sends to the whole group
// leaves a plugin alone.
func TestSignals(t *testing.T) {
	c, cc := start(t)
	pid, err := strconv.Atoi(c.ID())
	if err != nil {
		t.Fatal(err)
	}
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT} {
		if err := syscall.Kill(pid, sig); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		err := host.NewBase(cc).Health(ctx)
		cancel()
		if err != nil {
			t.Errorf("after %v: %v", sig, err)
		}
	}
}

func TestBadLifeline(t *testing.T) {
	for _, v := range []string{"x", "1", "77"} {
		cmd := exec.Command(os.Args[0])
		cmd.Env = []string{childEnv + "=1", handshake.CookieKey + "=" + handshake.CookieValue, handshake.EnvLifelineFD + "=" + v}
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), handshake.EnvLifelineFD) {
			t.Errorf("%s: %v\n%s", v, err, out)
		}
	}
}
