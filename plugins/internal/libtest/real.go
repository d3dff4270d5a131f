package libtest

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/gonutch/crawler/sdk/extension/parser"
	"github.com/gonutch/crawler/sdk/model"
)

// Real is a document that this project did not make, and what a parser must find
// in it.
type Real struct {
	Format   string // row of the table
	Path     string // may be compressed (.gz)
	Type     string // MIME type
	Title    string
	Sentence string            // part of the text
	Link     string            // one of the outlinks
	Meta     map[string]string // parse metadata
	Fails    string            // part of the reason why it can't be parsed; "" when it can
}

// RealDocuments parses documents and logs a table: format, files tried, parsed,
// failed with the reasons. Documents that this machine lacks are skipped, each
// with a line. At least atLeast of each format must have been tried, unless
// none of the documents is there.
func RealDocuments(t *testing.T, p parser.Parser, docs []Real, atLeast int) {
	t.Helper()
	type row struct {
		tried, parsed int
		bytes         int64
		time          time.Duration
		failed        []string
	}
	rows := map[string]*row{}
	missing := map[string]int{}
	for _, d := range docs {
		body, err := ReadFile(d.Path)
		if err != nil {
			missing[d.Format]++
			t.Logf("%s: not on this machine: %s", d.Format, d.Path)
			continue
		}
		r := rows[d.Format]
		if r == nil {
			r = &row{}
			rows[d.Format] = r
		}
		r.tried++
		r.bytes += int64(len(body))
		begun := time.Now()
		got := parseReal(t, p, d, body)
		r.time += time.Since(begun)
		if got.Status.OK() {
			r.parsed++
		} else {
			r.failed = append(r.failed, filepath.Base(d.Path)+": "+got.Status.Message)
		}
	}
	if len(rows) == 0 {
		t.Skip("none of the documents is on this machine; .ci/run installs them")
	}
	var out bytes.Buffer
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "format\ttried\tparsed\tMB/s\tfailed")
	formats := make([]string, 0, len(rows))
	for f := range rows {
		formats = append(formats, f)
	}
	slices.Sort(formats)
	for _, f := range formats {
		r := rows[f]
		fmt.Fprintf(w, "%s\t%d\t%d\t%.1f\t%s\n", f, r.tried, r.parsed, float64(r.bytes)/1e6/r.time.Seconds(), strings.Join(r.failed, "; "))
		if r.tried < atLeast && missing[f] == 0 {
			t.Errorf("%s: only %d documents", f, r.tried)
		}
	}
	_ = w.Flush()
	t.Log("\n" + out.String())
}

func parseReal(t *testing.T, p parser.Parser, d Real, body []byte) *model.Parse {
	t.Helper()
	url := "http://host/docs/" + filepath.Base(d.Path)
	out, err := p.Parse(t.Context(), &parser.Input{Content: model.Content{URL: url, Base: url, Body: body, MIMEType: d.Type, ContentType: d.Type}})
	if err != nil {
		t.Fatalf("%s: %v", d.Path, err)
	}
	got := &out.Parses[0]
	name := filepath.Base(d.Path)
	if d.Fails != "" {
		if got.Status.OK() || !strings.Contains(got.Status.Message, d.Fails) {
			t.Errorf("%s: %v, want it to fail with %q", name, got.Status, d.Fails)
		}
		return got
	}
	if !got.Status.OK() {
		t.Errorf("%s: %v", name, got.Status)
		return got
	}
	if got.Title != d.Title {
		t.Errorf("%s: title %q, want %q", name, got.Title, d.Title)
	}
	if !strings.Contains(strings.Join(strings.Fields(got.Text), " "), d.Sentence) {
		t.Errorf("%s: no %q in the text:\n%.1500s", name, d.Sentence, got.Text)
	}
	for k, v := range d.Meta {
		if got.ParseMeta.First(k) != v {
			t.Errorf("%s: %s is %q, want %q", name, k, got.ParseMeta.First(k), v)
		}
	}
	if d.Link != "" && !slices.ContainsFunc(got.Outlinks, func(l model.Outlink) bool { return l.URL == d.Link }) {
		t.Errorf("%s: no link to %s among %d: %v", name, d.Link, len(got.Outlinks), got.Outlinks[:min(len(got.Outlinks), 40)])
	}
	return got
}

// ReadFile reads a file, unpacked when its name ends in .gz.
func ReadFile(path string) ([]byte, error) {
	b, err := os.ReadFile(path)
	if err != nil || !strings.HasSuffix(path, ".gz") {
		return b, err
	}
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}

// Heap returns the bytes this process has got from the system for its heap.
func Heap() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapSys
}
