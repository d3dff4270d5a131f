package parsetika

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gonutch/crawler/plugins/internal/libtest"
	"github.com/gonutch/crawler/sdk/extension/parser"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/model"
	"github.com/gonutch/crawler/sdk/plugintest"
)

// own is a JSON object of settings.
func own(t testing.TB, kv ...any) string {
	t.Helper()
	m := map[string]any{}
	for i := 0; i < len(kv); i += 2 {
		m[kv[i].(string)] = kv[i+1]
	}
	b, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func ask(t testing.TB, p parser.Parser, c model.Content) (model.Parse, error) {
	t.Helper()
	if c.URL == "" {
		c.URL = "http://host/dir/doc.bin"
	}
	out, err := p.Parse(t.Context(), &parser.Input{Content: c})
	if err != nil {
		return model.Parse{}, err
	}
	return out.Parses[0], nil
}

// double is a strict stand-in for a Tika server: it takes what tika-server's
// documentation says and nothing else.
func double(t testing.TB, answer func(w http.ResponseWriter, body string)) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("PUT /rmeta/xml", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Accept") != "application/json" || r.Header.Get("Content-Type") == "" || !strings.HasPrefix(r.Header.Get("Content-Disposition"), `attachment; filename="`) {
			http.Error(w, fmt.Sprintf("bad request: %v", r.Header), http.StatusBadRequest)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		answer(w, string(body))
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.URL
}

func TestParse(t *testing.T) {
	addr := double(t, func(w http.ResponseWriter, _ string) {
		_, _ = io.WriteString(w, `[{"dc:title":"A title","dc:creator":["Jane","Joe"],"X-TIKA:Parsed-By":["x"],"Content-Type":"application/x",`+
			`"X-TIKA:content":"<html xmlns=\"http://www.w3.org/1999/xhtml\"><head><title>A title</title></head><body><p>Hello <a href=\"../up\">up</a></p><p/><p>end</p></body></html>"},`+
			`{"X-TIKA:content":"<html><body><p>inside</p></body></html>","X-TIKA:EXCEPTION:embedded_exception":"bad zip"}]`)
	})
	got, err := ask(t, libtest.Must(t, Plugin(), own(t, "url", addr+"/")).Parser, model.Content{Body: []byte("x"), MIMEType: "application/x"})
	if err != nil {
		t.Fatal(err)
	}
	want := model.Parse{
		URL: "http://host/dir/doc.bin", Status: model.ParseStatus{Major: model.ParseSuccess}, Title: "A title", Text: "Hello up\nend\ninside",
		Outlinks: []model.Outlink{{URL: "http://host/up", Anchor: "up", Tag: "a"}},
		ParseMeta: model.Metadata{
			"dc:title": {"A title"}, "dc:creator": {"Jane", "Joe"}, "dc.creator": {"Jane"}, "Content-Type": {"application/x"},
			"parse.truncated": {"broken"}, "parse.degraded": {"bad zip"},
		},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestAnswers: what the document is to blame for fails the document, the rest is
// an error of the plugin's.
func TestAnswers(t *testing.T) {
	for _, c := range []struct {
		status int
		body   string
		fails  string
		minor  model.ParseMinor
		kind   fault.Kind
	}{
		{status: 415, fails: "can't retrieve Tika parser", minor: model.ParseFailedInvalidFormat},
		{status: 422, body: "org.apache.tika.exception.EncryptedDocumentException: x", fails: "encrypted", minor: model.ParseFailedMissingContent},
		{status: 422, body: "bad", fails: "bad", minor: model.ParseFailedInvalidFormat},
		{status: 500, body: "oops", fails: "oops", minor: model.ParseFailedException},
		{status: 200, body: `[{"X-TIKA:content":"` + strings.Repeat("x", 100<<10) + `"}]`, fails: "max_answer", minor: model.ParseFailedException},
		{status: 503, kind: fault.Transient},
		{status: 404, kind: fault.Permanent},
		{status: 200, body: "<html>", kind: fault.Permanent},
		{status: 200, body: "[]", kind: fault.Permanent},
	} {
		addr := double(t, func(w http.ResponseWriter, _ string) {
			w.WriteHeader(c.status)
			_, _ = io.WriteString(w, c.body)
		})
		got, err := ask(t, libtest.Must(t, Plugin(), own(t, "url", addr, "max_answer", "64KiB")).Parser, model.Content{Body: []byte("x")})
		switch {
		case c.fails == "" && !fault.Is(err, c.kind):
			t.Errorf("%d %.20s: got %v, %v", c.status, c.body, got.Status, err)
		case c.fails != "" && (err != nil || got.Status.Minor != c.minor || !strings.Contains(got.Status.Message, c.fails)):
			t.Errorf("%d %.20s: got %v, %v", c.status, c.body, got.Status, err)
		}
	}
}

func TestSlowServer(t *testing.T) {
	gone := make(chan struct{})
	addr := double(t, func(http.ResponseWriter, string) { <-gone })
	defer close(gone)
	got, err := ask(t, libtest.Must(t, Plugin(), own(t, "url", addr, "time_limit", "100ms")).Parser, model.Content{Body: []byte("x")})
	if err != nil || got.Status.OK() || !strings.Contains(got.Status.Message, "did not answer") {
		t.Errorf("got %v, %v", got.Status, err)
	}
}

// TestSettings: what is wrong is said at the start, not at the first document.
func TestSettings(t *testing.T) {
	jar := filepath.Join(t.TempDir(), "x.jar")
	if err := os.WriteFile(jar, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ own, want string }{
		{own(t), "neither url nor jar"},
		{own(t, "url", "localhost"), "no address"},
		{own(t, "jar", "/no/such.jar"), "is no file"},
		{own(t, "jar", jar, "java", "no-such-java"), "there is no Java"},
	} {
		_, err := libtest.New(t, Plugin(), c.own)
		if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v", c.own, err)
		}
	}
}

// TestNoServerInJar: a program that is no server is told with its last words.
func TestNoServerInJar(t *testing.T) {
	dir := t.TempDir()
	fake := filepath.Join(dir, "java")
	if err := os.WriteFile(fake, []byte("#!/bin/sh\necho 'Error: no main manifest attribute'\nexit 1\n"), 0o700); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	p := libtest.Must(t, Plugin(), own(t, "jar", fake, "java", fake)).Parser
	for i := range maxDeaths + 1 {
		_, err := ask(t, p, model.Content{Body: []byte("x")})
		want, kind := "no main manifest attribute", fault.Transient
		if i == maxDeaths {
			want, kind = "times in a row", fault.Permanent
		}
		if !fault.Is(err, kind) || !strings.Contains(err.Error(), want) {
			t.Errorf("start %d: got %v", i, err)
		}
	}
}

func TestConformance(t *testing.T) {
	addr := double(t, func(w http.ResponseWriter, body string) {
		b, err := json.Marshal([]map[string]string{{"X-TIKA:content": "<p>" + url.QueryEscape(body) + "</p>"}})
		if err != nil {
			t.Error(err)
		}
		_, _ = w.Write(b)
	})
	plugintest.Run(t, Plugin(), plugintest.Options{Settings: own(t, "url", addr)})
}

// serverJar makes a jar that "java -jar" runs of what "make engines" fetched:
// Tika's own parsers, behind a server of this project's that has the part of
// tika-server's interface used here.
func serverJar(t testing.TB) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", "..", ".bin", "engines", "tika"))
	if err != nil {
		t.Fatal(err)
	}
	libs, err := filepath.Glob(filepath.Join(dir, "lib", "*.jar"))
	if err != nil || len(libs) == 0 {
		t.Skip(`no Tika: "make engines" fetches its parsers`)
	}
	if _, err := exec.LookPath("java"); err != nil {
		t.Skip("no Tika: there is no java")
	}
	line := "Class-Path: file:" + dir + "/classes/"
	for _, l := range libs {
		line += " file:" + l
	}
	manifest := "Manifest-Version: 1.0\nMain-Class: TikaServer\n"
	for len(line) > 70 { // lines are at most 72 bytes
		manifest += line[:70] + "\n"
		line = " " + line[70:]
	}
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	w, err := z.Create("META-INF/MANIFEST.MF")
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(w, manifest+line+"\n")
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	jar := filepath.Join(t.TempDir(), "tika-server.jar")
	if err := os.WriteFile(jar, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return jar
}

// oldWorkbooks makes workbooks of Excel's old format with a library of Python's, each of some lines of a table of time zones.
func oldWorkbooks(t testing.TB) (docs []libtest.Real) {
	t.Helper()
	const python = "/usr/bin/python3" // Debian's, which has Debian's libraries
	const script = `
import sys, xlwt
rows = [l.rstrip("\n").split("\t") for l in open("/usr/share/zoneinfo/zone.tab", encoding="utf-8") if not l.startswith("#")]
for i in range(10):
    book = xlwt.Workbook()
    sheet = book.add_sheet("Part %d" % i)
    for n, r in enumerate(rows[i*40:(i+1)*40]):
        for k, v in enumerate(r):
            sheet.write(n, k, v)
    sheet.write(50, 0, xlwt.Formula('HYPERLINK("https://www.iana.org/time-zones?part=%d";"home")' % i))
    book.save("%s/%d.xls" % (sys.argv[1], i))
`
	dir := t.TempDir()
	if out, err := exec.Command(python, "-c", script, dir).CombinedOutput(); err != nil {
		t.Logf("no workbooks: python3-xlwt, which .ci/run installs: %v: %.300s", err, out)
		return nil
	}
	for i := range 10 {
		docs = append(docs, libtest.Real{Format: "xls", Path: filepath.Join(dir, fmt.Sprintf("%d.xls", i)), Type: "application/vnd.ms-excel", Sentence: fmt.Sprintf("Part %d", i)})
	}
	return docs
}

// TestRealTika has documents parsed by Tika itself, in a server that the plugin
// starts.
func TestRealTika(t *testing.T) {
	jar := serverJar(t)
	ext, err := libtest.New(t, Plugin(), own(t, "jar", jar, "start_limit", "180s", "time_limit", "120s"))
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(libtest.ModuleDir(t, "github.com/gabriel-vasile/mimetype"), "testdata")
	const doc = "/usr/share/doc/"
	libtest.RealDocuments(t, ext.Parser, append(oldWorkbooks(t), []libtest.Real{
		{Format: "doc", Path: dir + "/doc.doc", Type: "application/msword", Fails: "Tika can't parse it"},            // cut at 4 KiB
		{Format: "xls", Path: dir + "/xls.xls", Type: "application/vnd.ms-excel", Fails: "Tika can't parse it"},      // cut at 4 KiB
		{Format: "ppt", Path: dir + "/ppt.ppt", Type: "application/vnd.ms-powerpoint", Fails: "Tika can't parse it"}, // cut at 4 KiB
		{Format: "docx", Path: dir + "/docx.docx", Sentence: "asdasdasdasd"},
		{Format: "xlsx", Path: dir + "/xlsx.xlsx", Sentence: "example"},
		{Format: "msg", Path: dir + "/msg.msg", Fails: "Tika can't parse it"}, // cut at 4 KiB
		{Format: "tar", Path: dir + "/tar.tar", Sentence: ""},
		{Format: "pdf", Path: doc + "shared-mime-info/shared-mime-info-spec.pdf", Type: "application/pdf", Sentence: "The format does not allow a pattern to contain a literal newline character", Link: "http://rox.sourceforge.net"},
		{Format: "html", Path: doc + "python3.11/html/library/copy.html", Type: "text/html", Title: "copy — Shallow and deep copy operations — Python 3.11.2 documentation", Sentence: "The difference between shallow and deep copying is only relevant", Link: "https://www.python.org/"},
	}...), 1)
	// A crash and a hang cost one document each: the next has a new server.
	if _, err := ask(t, ext.Parser, model.Content{Body: []byte("crash")}); !fault.Is(err, fault.Transient) {
		t.Errorf("crash: got %v", err)
	}
	if got, err := ask(t, ext.Parser, model.Content{URL: "http://host/a.txt", Body: []byte("words after the crash"), MIMEType: "text/plain"}); err != nil || got.Text != "words after the crash" {
		t.Errorf("after the crash: %+v, %v", got, err)
	}
	hasty := libtest.Must(t, Plugin(), own(t, "jar", jar, "start_limit", "180s", "time_limit", "3s")).Parser
	begun := time.Now()
	if got, err := ask(t, hasty, model.Content{Body: []byte("hang")}); err != nil || got.Status.OK() || !strings.Contains(got.Status.Message, "did not answer") {
		t.Errorf("hang: %v, %v", got.Status, err)
	}
	if d := time.Since(begun); d > 183*time.Second {
		t.Errorf("the hang took %v", d)
	}
	if err := ext.Close(); err != nil {
		t.Error(err)
	}
}
