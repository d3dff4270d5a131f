package libtest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/extension/indexwriter"
	"github.com/gonutch/crawler/sdk/manifest"
	"github.com/gonutch/crawler/sdk/model"
)

// Instance is the name under which Writer opens an index writer.
const Instance = "main"

// Writer is an index writer plugin with one opened instance.
type Writer struct {
	indexwriter.Writer
	Dir string // the plugin's data folder
	ext *sdk.Extensions
}

// OpenWriter builds the index writer p over the data folder dir and opens an
// instance; the error is that of New or Open.
func OpenWriter(t testing.TB, p sdk.Plugin, dir string, params indexwriter.Params) (*Writer, error) {
	t.Helper()
	settings := Settings(t, Manifest(t, p), "")
	if settings.Sections["indexer"] != nil {
		settings.Sections["indexer"] = json.RawMessage(`{"batch_size": 250}`) // as the defaults have it
	}
	ext, err := p.New(sdk.Env{Settings: settings, Logger: hclog.NewNullLogger(), DataDir: dir})
	if err != nil {
		return nil, err
	}
	w := &Writer{Writer: ext.IndexWriter, Dir: dir, ext: ext}
	t.Cleanup(w.Kill)
	all := indexwriter.Params{}
	for _, s := range Manifest(t, p).Parameters {
		all[s.Name] = paramText(s.Default)
	}
	for k, v := range params {
		all[k] = v
	}
	return w, w.Open(t.Context(), Instance, all)
}

// Kill ends the plugin without a commit.
func (w *Writer) Kill() {
	if w.ext.Close != nil {
		_ = w.ext.Close()
	}
}

// MustWrite writes ops, which must all be accepted.
func (w *Writer) MustWrite(t testing.TB, ops ...indexwriter.Op) {
	t.Helper()
	results, err := w.Write(t.Context(), Instance, ops)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range results {
		if r.Rejected != "" {
			t.Errorf("%s: %s", ops[i].Doc.ID, r.Rejected)
		}
	}
}

// MustCommit commits.
func (w *Writer) MustCommit(t testing.TB) {
	t.Helper()
	if err := w.Commit(t.Context(), Instance); err != nil {
		t.Fatal(err)
	}
}

// Add is the operation that adds a document; fields are names and values in turn,
// one name may come several times.
func Add(id string, fields ...string) indexwriter.Op {
	d := model.Document{ID: id, Boost: 1, Fields: map[string][]string{"id": {id}}}
	for i := 0; i+1 < len(fields); i += 2 {
		d.Fields[fields[i]] = append(d.Fields[fields[i]], fields[i+1])
	}
	return indexwriter.Op{Doc: d}
}

// Delete is the operation that deletes a document.
func Delete(id string) indexwriter.Op {
	return indexwriter.Op{Kind: indexwriter.Delete, Doc: model.Document{ID: id}}
}

// Files returns the contents of the files in dir by their names.
func Files(t testing.TB, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		out[e.Name()] = string(b)
	}
	return out
}

// Batch returns n documents with a content of about size bytes, numbered from
// from, for benchmarks.
func Batch(from, n, size int) []indexwriter.Op {
	text := strings.Repeat("the quick brown fox jumps over the lazy dog and runs away ", size/58+1)[:size]
	out := make([]indexwriter.Op, n)
	for i := range out {
		id := "http://example.org/" + strings.Repeat("x", 20) + string(rune('a'+(from+i)%26)) + strconv.Itoa(from+i)
		out[i] = Add(id, "title", "A title of the usual length", "content", text, "host", "example.org", "url", id, "digest", "0123456789abcdef0123456789abcdef")
	}
	return out
}

// BenchWrite measures a writer that open opens, in documents of 4 KB, for batches of several
// sizes, committing every 10,000 documents: documents a second, processor time of this process for
// 1,000, and the most memory it had, what a test adds to a plugin's process included. "make
// bench-writers" makes a table of it.
func BenchWrite(b *testing.B, open func(b *testing.B) *Writer) {
	for _, size := range []int{50, 250, 1000, 4000} {
		b.Run(strconv.Itoa(size), func(b *testing.B) {
			w := open(b)
			n, since := 0, 0
			peak := startPeak()
			cpu := CPUTime()
			for b.Loop() {
				ops := Batch(n, size, 4096)
				w.MustWrite(b, ops...)
				n += size
				if since += size; since >= 10_000 {
					w.MustCommit(b)
					since = 0
				}
			}
			w.MustCommit(b)
			b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "docs/s")
			b.ReportMetric((CPUTime()-cpu).Seconds()/float64(n)*1000, "cpu-s/1000docs")
			b.ReportMetric(float64(peak())/(1<<20), "peak-MiB")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// CPUTime is the processor time that this process has used so far, servers in it included.
func CPUTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// startPeak forgets the most memory that this process had and returns a function that tells what
// it is from then on; 0 where the system does not say.
func startPeak() func() int64 {
	debug.FreeOSMemory()
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0o200)
	return func() int64 {
		status, _ := os.ReadFile("/proc/self/status")
		for line := range strings.Lines(string(status)) {
			if kb, ok := strings.CutPrefix(line, "VmHWM:"); ok {
				n, _ := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(kb), "kB")), 10, 64)
				return n << 10
			}
		}
		return 0
	}
}

func paramText(v any) string {
	switch x := v.(type) {
	case nil:
		return ""
	case string:
		return x
	case []string:
		return strings.Join(x, ",")
	case map[string]string:
		return ""
	}
	return manifest.Literal(v)
}
