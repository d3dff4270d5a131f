package cycle

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestEvents: publishers hear of the start and end of each fetch and of each parsed
// page.
func TestEvents(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.jsonl")
	sets := []string{"plugin.add=publish-jsonl", "plugin.publish-jsonl.path=" + path, "indexer.enabled=false"}
	w := newWorld(t, map[string]http.HandlerFunc{"/": page("root", "/a", "/none"), "/a": page("a")}, sets...)
	if rep := w.run(); rep.EventsLost != 0 {
		t.Errorf("%d events lost", rep.EventsLost)
	}
	w.reopen(sets...) // closing sends what is queued
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for line := range strings.Lines(string(b)) {
		var ev struct {
			EventType string         `json:"eventType"`
			URL       string         `json:"url"`
			Data      map[string]any `json:"eventData"`
		}
		if err := json.Unmarshal([]byte(line), &ev); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		key := ev.EventType + " " + strings.TrimPrefix(ev.URL, w.site.URL)
		switch ev.EventType {
		case "END":
			key += " " + ev.Data["status"].(string)
		case "REPORT":
			links, _ := ev.Data["outlinks"].([]any)
			key += " " + ev.Data["title"].(string) + " " + ev.Data["content-type"].(string) + strings.Repeat(" link", len(links))
		}
		got[key]++
	}
	want := map[string]int{
		"START /": 1, "START /a": 1, "START /none": 1,
		"END / fetch_success": 1, "END /a fetch_success": 1, "END /none fetch_gone": 1,
		"REPORT / root text/html link link": 1, "REPORT /a a text/html": 1,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
