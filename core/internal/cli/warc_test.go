package cli

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/nlnwa/gowarc/v3"
)

// warcRecords reads a file with an independent reader, which checks every record.
func warcRecords(t *testing.T, name string) (records []string) {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	um := gowarc.NewUnmarshaler(gowarc.WithStrictValidation())
	in := bufio.NewReader(f)
	for {
		rec, _, validation, err := um.Unmarshal(in)
		if errors.Is(err, io.EOF) {
			return records
		}
		if err != nil || len(validation) > 0 {
			t.Fatalf("%s, record %d: %v %v", name, len(records), err, validation)
		}
		body, err := rec.Block().RawBytes()
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(body)
		if err = errors.Join(err, rec.Close()); err != nil {
			t.Fatal(err)
		}
		h := rec.WarcHeader()
		records = append(records, fmt.Sprintf("%s %s\n%s", h.Get("WARC-Type"), h.Get("WARC-Target-URI"), b))
	}
}

func TestWARCExport(t *testing.T) {
	tmp := t.TempDir()
	dir, out := filepath.Join(tmp, "crawl"), filepath.Join(tmp, "out")
	root := smallCrawl(t, dir)
	line := func(args ...string) outcome { return runLine(t, "", append(args, "--dir", dir)...) }
	line("warc", "list").wants(t, ExitDone, `^SEGMENT\tFILE`, `\t200\ttext/html\t\d+\t`+root+`/blue$`, `\t404\t.*`+root+`/gone$`)
	line("warc", "export", out, "-onlySuccessfulResponses", "--wat", "--wet", "--cdxj", "--prefix", "small").wants(t, ExitDone,
		`^2 answers, 4 WARC records in `, `^  small-00000.warc.gz$`, `^  small.cdxj$`)
	line("warc", "export", out, "--prefix", "small").wants(t, ExitError, `!is there already`)
	line("warc", "export", out, "--prefix", "pdf", "--mimetype", "application/pdf").wants(t, ExitNothing)
	line("warc", "export", out, "20000101000000").wants(t, ExitError, `!there is no segment "20000101000000"`)
	line("warc", "export", out, "--max-file-size", "x").wants(t, ExitUsage, `!want a size`)
	line("warc", "exprot", out).wants(t, ExitUsage, `!did you mean "export"`)
	line("warc").wants(t, ExitUsage, `!say what to do`)
	line("warc", "export", filepath.Join(out, "each"), "--max-file-size", "1B", "--json").wants(t, ExitDone, `"crawl-00002.warc.gz"`)

	base := filepath.Join(out, "small-00000.warc")
	var kinds []string
	for _, r := range warcRecords(t, base+".gz") {
		kinds = append(kinds, strings.SplitN(r, "\n", 2)[0])
	}
	want := []string{"warcinfo ", "response " + root + "/", "request " + root + "/", "response " + root + "/blue", "request " + root + "/blue"}
	if !slices.Equal(kinds, want) {
		t.Errorf("records %q, want %q", kinds, want)
	}
	text := warcRecords(t, base+".wet.gz")
	if len(text) != 3 || !strings.HasPrefix(text[2], "conversion "+root+"/blue\n") || !strings.Contains(text[2], "The blue whale is large.") {
		t.Errorf("texts: %q", text)
	}
	meta := warcRecords(t, base+".wat.gz")
	if len(meta) != 3 {
		t.Fatalf("metadata: %q", meta)
	}
	checkWAT(t, meta[2])
	checkCDXJ(t, out, root)
	dumpFiles(t, line, root)
	if left, _ := filepath.Glob(filepath.Join(out, ".*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func checkWAT(t *testing.T, record string) {
	t.Helper()
	_, body, _ := strings.Cut(record, "\n")
	var v struct {
		Envelope struct {
			Payload struct {
				HTTP struct {
					Message struct{ Status string } `json:"Response-Message"`
					HTML    struct {
						Head  struct{ Title string }
						Links []struct{ URL, Text string }
					} `json:"HTML-Metadata"`
				} `json:"HTTP-Response-Metadata"`
			} `json:"Payload-Metadata"`
		}
	}
	if err := json.Unmarshal([]byte(body), &v); err != nil {
		t.Fatal(err)
	}
	h := v.Envelope.Payload.HTTP
	if h.Message.Status != "200" || h.HTML.Head.Title != "Blue whales" || len(h.HTML.Links) != 1 || h.HTML.Links[0].Text != "home" {
		t.Errorf("WAT: %+v\n%s", h, body)
	}
}

// checkCDXJ follows each line of the index to its record.
func checkCDXJ(t *testing.T, out, root string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(out, "small.cdxj"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	if len(lines) != 2 || !slices.IsSorted(lines) {
		t.Fatalf("index: %q", lines)
	}
	for i, url := range []string{root + "/", root + "/blue"} {
		var e struct{ URL, Offset, Length, Filename, Status string }
		f := strings.SplitN(lines[i], " ", 3)
		if err := json.Unmarshal([]byte(f[2]), &e); err != nil {
			t.Fatal(err)
		}
		offset, err1 := strconv.ParseInt(e.Offset, 10, 64)
		length, err2 := strconv.ParseInt(e.Length, 10, 64)
		file, err3 := os.Open(filepath.Join(out, e.Filename))
		if err := errors.Join(err1, err2, err3); err != nil {
			t.Fatal(err)
		}
		zr, err := gzip.NewReader(io.NewSectionReader(file, offset, length))
		if err != nil {
			t.Fatal(err)
		}
		raw, err := io.ReadAll(zr)
		if err = errors.Join(err, file.Close()); err != nil {
			t.Fatal(err)
		}
		if e.URL != url || e.Status != "200" || !strings.Contains(string(raw), "\r\nWARC-Type: response\r\n") || !strings.Contains(string(raw), "WARC-Target-URI: "+url+"\r\n") {
			t.Errorf("line %s leads to\n%s", lines[i], raw)
		}
	}
}

// dumpFiles writes the documents of the crawl as files.
func dumpFiles(t *testing.T, line func(...string) outcome, root string) {
	t.Helper()
	dir := t.TempDir()
	line("dump", "-mimeStats").wants(t, ExitDone, `^2\t.*\ttext/html$`)
	line("dump").wants(t, ExitUsage, "!name a folder")
	line("dump", dir, "--mimetype", "image/png").wants(t, ExitNothing)
	for range 2 { // files of an earlier dump are replaced
		line("dump", dir, "--mimetype", "text/html").wants(t, ExitDone, `^2\t.*\ttext/html$`)
	}
	found, err := filepath.Glob(filepath.Join(dir, "127.*", "*_blue"))
	if err != nil || len(found) != 1 {
		t.Fatalf("%v %v", found, err)
	}
	if b, err := os.ReadFile(found[0]); err != nil || string(b) != `<title>Blue whales</title><p>The blue whale is large. <a href=/>home</a>` {
		t.Errorf("%s: %q %v", root, b, err)
	}
}
