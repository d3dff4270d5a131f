// Package examples builds the example plugins as their authors would and checks
// them as plugins in folders. It holds tests only.
package examples_test

import (
	"context"
	"encoding/json"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/plugintest"
	"github.com/gonutch/crawler/sdk/plugintool"
)

// binary is the built Go example.
var binary string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "examples")
	if err != nil {
		log.Fatal(err)
	}
	binary = filepath.Join(dir, "urlfilter-words")
	if out, err := exec.Command("go", "build", "-o", binary, "./urlfilter-words").CombinedOutput(); err != nil {
		log.Fatalf("%v\n%s", err, out)
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// goPlugin returns a folder with the Go example, as an author ships it.
func goPlugin(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	src, err := os.ReadFile("urlfilter-words/plugin.hcl")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "plugin.hcl"), src, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(binary, filepath.Join(dir, "urlfilter-words")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// pythonPlugin returns the folder of the Python example, if it can run here.
func pythonPlugin(t *testing.T) string {
	t.Helper()
	if out, err := exec.Command("python3", "-c", "import grpc").CombinedOutput(); err != nil {
		t.Skipf("needs python3 with grpcio (python3 -m pip install grpcio): %v\n%s", err, out)
	}
	return "indexfilter-python"
}

func TestGo(t *testing.T) { plugintest.RunCommand(t, goPlugin(t), plugintest.Options{}) }

func TestPython(t *testing.T) { plugintest.RunCommand(t, pythonPlugin(t), plugintest.Options{}) }

// ask calls a plugin and compares the answer.
func ask(t *testing.T, folder, settings, point, input, want string) {
	t.Helper()
	p, err := plugintool.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	got, err := p.Call(ctx, plugintool.Settings{Own: settings}, point, json.RawMessage(input))
	if err != nil {
		t.Fatal(err)
	}
	var a, b any
	if err := json.Unmarshal(got, &a); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(want), &b); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(b, a); d != "" {
		t.Errorf("%s (-want +got):\n%s", input, d)
	}
}

func TestCallGo(t *testing.T) {
	ask(t, goPlugin(t), `{"reject": ["cart"]}`, "urlfilter", `["http://h/cart", "http://h/login"]`,
		`[{"answer": {"Accept": false, "Reason": "reject: cart"}}, {"answer": {"Accept": true, "Reason": ""}}]`)
}

func TestCallPython(t *testing.T) {
	ask(t, pythonPlugin(t), `{"words_per_minute": 2, "drop_below": 2}`, "indexingfilter",
		`[{"Parse": {"Text": "one two  three"}}, {"Parse": {"Text": "one"}}]`,
		`[{"answer": {"Remove": null, "Set": {"words": ["3"], "reading_minutes": ["2"]}, "Add": null, "Drop": ""}},
		  {"answer": {"Remove": null, "Set": null, "Add": null, "Drop": "fewer than 2 words"}}]`)
}

func TestPythonRefusesSettings(t *testing.T) {
	p, err := plugintool.Open(pythonPlugin(t))
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.Call(t.Context(), plugintool.Settings{Own: `{"words_per_minute": 0}`}, "indexingfilter", json.RawMessage(`[]`))
	if !fault.Is(err, fault.Invalid) {
		t.Errorf("got %v", err)
	}
}
