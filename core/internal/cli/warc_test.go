package cli

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/gzip"
	"github.com/nlnwa/gowarc/v3"

	"github.com/gonutch/crawler/sdk/testsite"
	"github.com/gonutch/crawler/sdk/testsite/ftpsite"
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

// TestWARCHeads: the heads of request and response are in the records as they went over the
// wire, in their order and letter case and with the lines that repeat. Where they were no
// text, HTTP/1.1's stands for them; a file has neither.
func TestWARCHeads(t *testing.T) {
	const fields = "x-Second: 2\r\nX-FIRST: 1\r\nSet-Cookie: s=1\r\nset-cookie: t=2\r\nx-Second: 3\r\nX-Folded: a\r\n b\r\ncontent-TYPE: text/html\r\n"
	asked := make(chan string, 10)
	raw := testsite.StartRaw(t, func(c net.Conn) {
		in, head := bufio.NewReader(c), ""
		for !strings.HasSuffix(head, "\r\n\r\n") {
			line, err := in.ReadString('\n')
			if head += line; err != nil {
				return
			}
		}
		if !strings.HasPrefix(head, "GET /raw ") {
			_, _ = io.WriteString(c, "HTTP/1.1 404 None\r\nContent-Length: 0\r\n\r\n")
			return
		}
		asked <- head
		_, _ = io.WriteString(c, "HTTP/1.1 200 Fine by me\r\n"+fields+"CONTENT-length: 6\r\n\r\n<p>raw")
	})
	h2 := testsite.Start(t, testsite.Options{TLS: true, HTTP2: true})
	answer := func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["X-Twice"] = []string{"1", "2"}
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<p>by "+"HTTP")
	}
	h2.Site().Handle("/two", answer)
	shown := testsite.Start(t, testsite.Options{Addrs: []string{"127.0.0.2"}})
	shown.Site().Handle("/shown", answer)
	files := ftpsite.Start(t, ftpsite.Plain, map[string]string{"a.txt": "content of a"})

	tmp := t.TempDir()
	dir, out := filepath.Join(tmp, "crawl"), filepath.Join(tmp, "out")
	seeds := []string{raw.URL("/raw"), h2.Site().URL("/two"), files.URL("ftp", "/a.txt")}
	sets := []string{
		`http.allow_private=["127.0.0.0/8"]`, "http.tls_certificates_check=false", "cycle.rounds=1", `plugin.urlfilter-regex.rules=["+."]`,
	}
	add := `"protocol-ftp"`
	if _, err := exec.LookPath("chromium"); err != nil {
		t.Log("protocol-browser is left out: no Chromium on this machine; .ci/run installs it")
	} else {
		add += `, "protocol-browser"`
		seeds = append(seeds, shown.Site().URL("/shown"))
		sets = append(sets, fmt.Sprintf("plugin.protocol-browser.sandbox=%t", os.Getuid() != 0), `protocol.rules=["protocol-browser ^http://127\\.0\\.0\\.2"]`)
	}
	crawlSeeds(t, dir, seeds, append(sets, "plugin.add=["+add+"]")...)
	runLine(t, "", "warc", "export", out, "--prefix", "all", "--dir", dir).wants(t, ExitDone, "^[34] answers, ")

	if len(asked) != 1 {
		t.Fatalf("%s was asked for %d times", seeds[0], len(asked))
	}
	agent := "User-Agent: tester/1.0 (http://example.org/)\r\n"
	got := map[string]string{}
	for _, r := range warcRecords(t, filepath.Join(out, "all-00000.warc.gz")) {
		name, block, _ := strings.Cut(r, "\n")
		got[name] = block
	}
	for name, want := range map[string]string{
		"request " + seeds[0]:  <-asked,
		"response " + seeds[0]: "HTTP/1.1 200 Fine by me\r\n" + fields + "X-Crawler-CONTENT-length: 6\r\nContent-Length: 6\r\n\r\n<p>raw",
		"resource " + seeds[2]: "content of a",
	} {
		if d := cmp.Diff(want, got[name]); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
	if got["request "+seeds[2]] != "" {
		t.Errorf("a request of FTP: %q", got["request "+seeds[2]])
	}
	for i, path := range []string{1: "/two", 3: "/shown"} {
		if path == "" || i >= len(seeds) {
			continue
		}
		request, response := got["request "+seeds[i]], got["response "+seeds[i]]
		if !strings.HasPrefix(request, "GET "+path+" HTTP/1.1\r\nHost: 127.0.0.") || !strings.Contains(request, agent) || !strings.HasSuffix(request, "\r\n\r\n") {
			t.Errorf("request of %s: %q", path, request)
		}
		if !strings.HasPrefix(response, "HTTP/1.1 200 OK\r\n") || !strings.Contains(strings.ToLower(response), "x-twice: 1\r\nx-twice: 2\r\n") || !strings.Contains(response, "<p>by HTTP") {
			t.Errorf("response of %s: %q", path, response)
		}
	}
	runLine(t, "", "warc", "list", "--dir", dir).wants(t, ExitDone, seeds[0]+"$", seeds[2]+"$")
}
