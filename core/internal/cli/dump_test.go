package cli

import (
	"bufio"
	"encoding/csv"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gonutch/crawler/core/internal/query"
	"github.com/gonutch/crawler/sdk/model"
)

// TestCSVRecords: quotes and line ends in values survive (Nutch doesn't quote them).
func TestCSVRecords(t *testing.T) {
	var b strings.Builder
	w := bufio.NewWriter(&b)
	write := csvRecords()
	row := query.Row{URL: `http://a/?q="x",y`, Record: query.Record{
		StatusCode: 2, StatusName: "db_fetched", FetchTime: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), IntervalSeconds: 86400, IntervalDays: 1,
		Score: 0.5, Signature: "ab", Metadata: model.Metadata{"k": {"one\ntwo", "three"}},
	}}
	for range 2 {
		if err := write(w, row); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	got, err := csv.NewReader(strings.NewReader(b.String())).ReadAll()
	if err != nil || len(got) != 3 || got[0][0] != "Url" {
		t.Fatal(got, err)
	}
	want := []string{`http://a/?q="x",y`, "2", "db_fetched", "2026-01-02T03:04:05Z", "", "0", "86400", "1", "0.5", "ab", "k:one\ntwo|||k:three"}
	if d := cmp.Diff(want, got[2]); d != "" {
		t.Error(d)
	}
}

// TestOutput: a file appears whole or not at all, and an older one stays.
func TestOutput(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "out")
	inv := &invocation{app: &App{}}
	write := func(text string, err error) error {
		return inv.output(name, func(w *bufio.Writer) error { _, _ = w.WriteString(text); return err })
	}
	if err := write("first", nil); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	if err := write("second", broken); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	files, err := os.ReadDir(dir)
	text, rerr := os.ReadFile(name)
	if errors.Join(err, rerr) != nil || len(files) != 1 || string(text) != "first" {
		t.Errorf("%q in %v", text, files)
	}
	if err := inv.output(filepath.Join(dir, "no", "out"), func(*bufio.Writer) error { return nil }); err == nil || !strings.Contains(err.Error(), "no/out") {
		t.Errorf("got %v", err)
	}
}
