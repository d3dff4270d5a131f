package publishjsonl_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gonutch/crawler/plugins/internal/libtest"
	publishjsonl "github.com/gonutch/crawler/plugins/publish-jsonl"
	"github.com/gonutch/crawler/sdk/extension/publisher"
	"github.com/gonutch/crawler/sdk/fault"
)

func open(t testing.TB, path, size string) publisher.Publisher {
	t.Helper()
	b, err := json.Marshal(map[string]string{"path": path, "max_size": size})
	if err != nil {
		t.Fatal(err)
	}
	return libtest.Must(t, publishjsonl.Plugin(), string(b)).Publisher
}

func events(n int) []publisher.Event {
	out := make([]publisher.Event, n)
	for i := range out {
		out[i] = publisher.Event{Type: publisher.Start, URL: "http://example.org/", Time: time.UnixMilli(int64(i))}
	}
	return out
}

func TestPublish(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sub", "events.jsonl")
	p := open(t, path, "1KiB")
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 10 {
				if err := p.Publish(t.Context(), events(3)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	lines, files := 0, libtest.Files(t, filepath.Dir(path))
	for name, text := range files {
		if len(text) > 1024 {
			t.Errorf("%s has %d bytes", name, len(text))
		}
		for l := range strings.Lines(text) {
			if lines++; !json.Valid([]byte(l)) || !strings.HasSuffix(l, "}\n") {
				t.Errorf("%s: %q", name, l)
			}
		}
	}
	if lines != 120 || len(files) < 5 || files["events.jsonl.1"] == "" {
		t.Errorf("%d lines in %d files", lines, len(files))
	}
}

// TestHalfLine: what a crash left of a line is gone.
func TestHalfLine(t *testing.T) {
	for before, want := range map[string]int{"{}\n{\"ev": 2, "{\"ev": 1, "": 1, "{}\n": 2} {
		path := filepath.Join(t.TempDir(), "events.jsonl")
		if err := os.WriteFile(path, []byte(before), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := open(t, path, "1MiB").Publish(t.Context(), events(1)); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(path)
		if err != nil || strings.Count(string(b), "}\n") != want || strings.Contains(string(b), "{\"ev{") {
			t.Errorf("%q: %q %v", before, b, err)
		}
	}
}

func TestErrors(t *testing.T) {
	if _, err := libtest.New(t, publishjsonl.Plugin(), `{"path": "`+t.TempDir()+`"}`); !fault.Is(err, fault.Invalid) {
		t.Errorf("a folder: %v", err)
	}
}

func BenchmarkPublish(b *testing.B) {
	p := open(b, filepath.Join(b.TempDir(), "events.jsonl"), "1GiB")
	list := events(16)
	for b.Loop() {
		if err := p.Publish(b.Context(), list); err != nil {
			b.Fatal(err)
		}
	}
}
