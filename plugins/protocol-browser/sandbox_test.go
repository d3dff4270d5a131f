package protocolbrowser

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gonutch/crawler/sdk/fault"
)

// TestSandboxOfTheMachine: the plugin does not start where pages can't be locked in, says
// why and what to do, unless a setting does without.
func TestSandboxOfTheMachine(t *testing.T) {
	if _, err := FindBrowser(""); err != nil {
		t.Skip("no Chromium: apt-get install chromium")
	}
	plain := filepath.Join(t.TempDir(), "chrome-sandbox")
	if err := os.WriteFile(plain, nil, 0o700); err != nil {
		t.Fatal(err)
	}
	no, yes := func() error { return errors.New("operation not permitted") }, func() error { return nil }
	for _, tc := range []struct {
		name       string
		root       bool
		namespaces func() error
		helpers    []string
		want       string // of the error; "" for none
	}{
		{"namespaces", false, yes, nil, ""},
		{"neither", false, no, []string{"", "/no/such/file", plain}, "no namespaces of its own (operation not permitted), and there is no set-uid helper"},
		{"root", true, yes, nil, "root can't run Chromium in its sandbox"},
	} {
		cfg := DefaultConfig()
		cfg.HTTP.AgentName, cfg.HTTP.AgentURL = "x", "https://x.example/"
		cfg.DataDir = t.TempDir()
		cfg.machine = sandbox{func() bool { return tc.root }, tc.namespaces, func(string) []string { return tc.helpers }}
		f, err := NewFetcher(cfg)
		if err == nil {
			_ = f.Close()
		}
		if tc.want == "" {
			if err != nil {
				t.Errorf("%s: %v", tc.name, err)
			}
			continue
		}
		if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), "sandbox = false") {
			t.Errorf("%s: error %v, want %q", tc.name, err, tc.want)
		}
		cfg.Own.Sandbox = false
		if f, err = NewFetcher(cfg); err != nil {
			t.Errorf("%s: without sandbox: %v", tc.name, err)
			continue
		}
		_ = f.Close()
	}
	if os.Getuid() == 0 { // a helper is one only with its owner and bit
		helper := filepath.Join(t.TempDir(), "helper")
		if err := os.WriteFile(helper, nil, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(helper, 0o755|os.ModeSetuid); err != nil {
			t.Fatal(err)
		}
		if isSetUID(plain) || !isSetUID(helper) {
			t.Errorf("set-uid: plain file %t, helper %t", isSetUID(plain), isSetUID(helper))
		}
	}
}
