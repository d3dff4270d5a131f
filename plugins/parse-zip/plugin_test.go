package parsezip_test

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"github.com/gonutch/crawler/plugins/internal/libtest"
	parsezip "github.com/gonutch/crawler/plugins/parse-zip"
	"github.com/gonutch/crawler/sdk/extension/parser"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/model"
)

const url = "http://a.example/d/x.zip"

func parse(t testing.TB, own string, c model.Content) *parser.Output {
	t.Helper()
	if c.URL == "" {
		c.URL = url
	}
	out, err := libtest.Must(t, parsezip.Plugin(), own).Parser.Parse(t.Context(), &parser.Input{Content: c})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// members writes a document's members as "name=text".
func members(out *parser.Output) []string {
	var s []string
	for _, m := range out.Members {
		_, name, _ := strings.Cut(m.URL, "#")
		s = append(s, name+"="+string(m.Body))
	}
	return s
}

func zst(t testing.TB, b []byte) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return w.EncodeAll(b, nil)
}

// bz is "hello\n" by bzip2.
const bz = "BZh91AY&SY\xc1\xc0\x80\xe2\x00\x00\x01\x41\x00\x00\x10\x02\x44\xa0\x00\x30\xcd\x00\xc3\x46\x29\x97\x17\x72\x45\x38\x50\x90\xc1\xc0\x80\xe2"

func TestParse(t *testing.T) {
	for _, c := range []struct {
		name, own, url, body string
		want                 []string
		meta                 string
	}{
		{name: "zip", body: string(libtest.Zip(t, "a.txt", "one", "d/", "", "d/b c.html", "two")), want: []string{"a.txt=one", "d/b%20c.html=two"}, meta: "archive=zip archive.entries=2"},
		{name: "tar", body: string(libtest.Tar(t, "a", "one", "link", "-> /etc/passwd", "d/b", "two")), want: []string{"a=one", "d/b=two"}, meta: "archive=tar archive.entries=2"},
		{name: "tar.gz", body: string(libtest.Gzip(t, libtest.Tar(t, "a", "one"))), want: []string{"a=one"}, meta: "archive=gzip+tar archive.entries=1"},
		{name: "tar.zst", body: string(zst(t, libtest.Tar(t, "a", "one"))), want: []string{"a=one"}, meta: "archive=zstd+tar archive.entries=1"},
		{name: "gzip of a file", url: "http://a.example/doc.html.gz?x", body: string(libtest.Gzip(t, []byte("<p>x"))), want: []string{"doc.html=<p>x"}, meta: "archive=gzip archive.entries=1"},
		{name: "bzip2 of a file", url: "http://a.example/h.txt.bz2", body: bz, want: []string{"h.txt=hello\n"}, meta: "archive=bzip2 archive.entries=1"},
		{name: "zstd of a file", url: "http://a.example/h.txt.zst", body: string(zst(t, []byte("hi"))), want: []string{"h.txt=hi"}, meta: "archive=zstd archive.entries=1"},
		{name: "names that lead out", body: string(libtest.Zip(t, "../../etc/x", "1", "/abs", "2", "..\\dos", "3", "a/../b", "4")), want: []string{"etc/x=1", "abs=2", "dos=3", "b=4"}, meta: "archive=zip archive.entries=4"},
		{name: "the same name twice", body: string(libtest.Zip(t, "a", "1", "a", "2")), want: []string{"a=1", "a.2=2"}, meta: "archive=zip archive.entries=2"},
		{name: "a name of DOS", body: string(libtest.Zip(t, "caf\x82", "1")), want: []string{"caf%C3%A9=1"}, meta: "archive=zip archive.entries=1"},
		{name: "skipped", body: string(libtest.Zip(t, "__MACOSX/x", "1", "d/y.exe", "2", "z", "3")), want: []string{"z=3"}, meta: "archive=zip archive.entries=3 archive.skipped=2"},
		{name: "max_entries", own: `{"max_entries": 1}`, body: string(libtest.Zip(t, "a", "1", "b", "2")), want: []string{"a=1"}, meta: "archive=zip archive.entries=2 archive.over=1"},
		{name: "max_size", own: `{"max_size": "1KiB"}`, body: string(libtest.Tar(t, "a", strings.Repeat("x", 1000), "b", strings.Repeat("y", 100), "c", "3")), want: []string{"a=" + strings.Repeat("x", 1000), "c=3"}, meta: "archive=tar archive.entries=3 archive.over=1"},
		{name: "max_file", own: `{"max_file": "1KiB"}`, body: string(libtest.Zip(t, "a", strings.Repeat("x", 2000), "b", "1")), want: []string{"a=" + strings.Repeat("x", 1024), "b=1"}, meta: "archive=zip archive.entries=2 parse.truncated=size"},
		{name: "an archive in it", body: string(libtest.Tar(t, "in.gz", string(libtest.Gzip(t, []byte("x"))))), want: []string{"in.gz=" + string(libtest.Gzip(t, []byte("x")))}, meta: "archive=tar archive.entries=1"},
		{name: "empty", body: string(libtest.Zip(t)), meta: "archive=zip archive.entries=0"},
	} {
		out := parse(t, c.own, model.Content{URL: c.url, Body: []byte(c.body)})
		p := out.Parses[0]
		if !p.Status.OK() {
			t.Errorf("%s: %v", c.name, p.Status)
			continue
		}
		if d := cmp.Diff(c.want, members(out)); d != "" {
			t.Errorf("%s: %s", c.name, d)
		}
		var meta []string
		for _, k := range p.ParseMeta.Keys() {
			meta = append(meta, k+"="+strings.Join(p.ParseMeta[k], ","))
		}
		if got := strings.Join(meta, " "); got != c.meta {
			t.Errorf("%s: metadata %s, want %s", c.name, got, c.meta)
		}
	}
}

// TestTruncated: archives that were cut off count as far as they go.
func TestTruncated(t *testing.T) {
	noise := make([]byte, 4000) // does not pack
	r := rand.New(rand.NewPCG(1, 1))
	for i := range noise {
		noise[i] = byte('a' + r.IntN(26))
	}
	files := []string{"a", "one", "b", "two", "c", string(noise)}
	for name, body := range map[string][]byte{"zip": libtest.Zip(t, files...), "tar": libtest.Tar(t, files...), "tar.gz": libtest.Gzip(t, libtest.Tar(t, files...))} {
		out := parse(t, "", model.Content{Body: body[:len(body)*2/3], Truncated: "length"})
		p := out.Parses[0]
		if !p.Status.OK() || len(out.Members) < 2 || string(out.Members[0].Body) != "one" || string(out.Members[1].Body) != "two" {
			t.Errorf("%s: %v %.100v", name, p.Status, members(out))
		}
		if got := p.ParseMeta["parse.truncated"]; len(got) == 0 || got[0] != "length" {
			t.Errorf("%s: %v", name, p.ParseMeta)
		}
	}
	if out := parse(t, "", model.Content{Body: []byte("PK\x03\x04"), Truncated: "length"}); out.Parses[0].Status.Minor != model.ParseFailedTruncated {
		t.Errorf("nothing left of it: %v", out.Parses[0].Status)
	}
}

// bomb packs size zero bytes.
func bomb(t testing.TB, size int64) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	w, err := z.Create("zeros")
	if err == nil {
		_, err = io.CopyN(w, zeros{}, size)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

func TestRefused(t *testing.T) {
	big := bomb(t, 64<<20)
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := io.CopyN(w, zeros{}, 64<<20); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	lying := bytes.Clone(big) // says that it is small
	i := bytes.LastIndex(lying, []byte("PK\x01\x02"))
	copy(lying[i+24:], []byte{1, 0, 0, 0})
	before := libtest.Heap()
	for name, c := range map[string]struct {
		body []byte
		want string
	}{
		"zip bomb":         {big, "it is a bomb: a file says that it unpacks to more than 200 times its packed size"},
		"lying zip bomb":   {lying, "none of its 1 files can be read"},
		"gzip bomb":        {packed.Bytes(), "it is a bomb"},
		"tar in gzip bomb": {libtest.Gzip(t, append(libtest.Tar(t, "a", "1")[:1024], make([]byte, 32<<20)...)), ""},
		"words":            {[]byte("just words"), "it is no zip, tar, gzip, bzip2 or zstd archive"},
		"empty":            {nil, "it is no zip, tar, gzip, bzip2 or zstd archive"},
		"damaged":          {[]byte("PK\x03\x04 and nothing"), "not a valid zip file"},
		"bad zstd":         {[]byte("\x28\xb5\x2f\xfd\xff\xff\xff"), "archive: "},
	} {
		out := parse(t, `{"max_file": "48MiB", "max_size": "48MiB"}`, model.Content{Body: c.body})
		if p := out.Parses[0]; p.Status.OK() != (c.want == "") || !strings.Contains(p.Status.Message, c.want) || len(out.Members) > 1 {
			t.Errorf("%s: %v, %d members", name, p.Status, len(out.Members))
		}
	}
	if grown := libtest.Heap() - before; grown > 512<<20 {
		t.Errorf("bombs took %d MiB of heap", grown>>20)
	}
}

// quine is the zip file that holds itself, from the tests of Go's own archive/zip.
func quine(t *testing.T) []byte {
	t.Helper()
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(root)), "src", "archive", "zip", "reader_test.go"))
	_, dump, found := strings.Cut(string(text), "func rZipBytes() []byte {\n\ts := `")
	if err != nil || !found {
		t.Skip("this Go has no zip file that holds itself")
	}
	dump, _, _ = strings.Cut(dump, "`")
	var body []byte
	for line := range strings.Lines(dump) {
		if _, bytes, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			b, err := hex.DecodeString(strings.ReplaceAll(bytes, " ", ""))
			if err != nil {
				t.Fatal(err)
			}
			body = append(body, b...)
		}
	}
	return body
}

// TestQuine: an archive that holds itself gives one file, which is the same archive again: no level of it
// ends, so it is the limit parser.members_depth that ends it.
func TestQuine(t *testing.T) {
	body := quine(t)
	for level := range 5 {
		out := parse(t, "", model.Content{Body: body})
		if len(out.Members) != 1 || !bytes.Equal(out.Members[0].Body, body) || out.Members[0].MIMEType != "" && out.Members[0].MIMEType != "application/zip" {
			t.Fatalf("level %d: %v, %d members", level, out.Parses[0].Status, len(out.Members))
		}
		body = out.Members[0].Body
	}
}

func TestSettingMistake(t *testing.T) {
	if _, err := libtest.New(t, parsezip.Plugin(), `{"skip": ["[a"]}`); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), `skip: "[a" is no pattern`) {
		t.Error(err)
	}
}

// TestRealArchives opens archives that Python and zstd made of the
// documentation of modules, where these tools are.
func TestRealArchives(t *testing.T) {
	dir := libtest.ModuleDir(t, "github.com/mmcdole/gofeed")
	out := t.TempDir()
	py := "import sys,zipfile,tarfile,os\nfor i in range(10):\n" +
		" z=zipfile.ZipFile(f'{sys.argv[1]}/{i}.zip','w',[0,8][i%2])\n z.write('README.md'); z.write('LICENSE'); z.close()\n" +
		" for kind in ['','gz','bz2']:\n  with tarfile.open(f'{sys.argv[1]}/{i}.tar.'+(kind or 'plain'),'w:'+kind,format=i%3) as t: t.add('README.md'); t.add('LICENSE')\n"
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not on this machine")
	}
	cmd := exec.CommandContext(t.Context(), python, "-c", py, out) //nolint:gosec // found by its name
	cmd.Dir = dir
	if msg, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, msg)
	}
	readme, err := os.ReadFile(filepath.Join(dir, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(out, "*"))
	if err != nil {
		t.Fatal(err)
	}
	if zstd, err := exec.LookPath("zstd"); err != nil {
		t.Log("no zstd on this machine; .ci/run installs it")
	} else {
		for i := range 10 {
			plain := filepath.Join(out, fmt.Sprintf("%d.tar.plain", i))
			if msg, err := exec.Command(zstd, "-q", fmt.Sprintf("-%d", i+1), plain, "-o", filepath.Join(out, fmt.Sprintf("%d.tar.zst", i))).CombinedOutput(); err != nil { //nolint:gosec // found by its name
				t.Fatalf("%v: %s", err, msg)
			}
		}
		files, _ = filepath.Glob(filepath.Join(out, "*"))
	}
	tried := map[string]int{}
	for _, f := range files {
		body, err := os.ReadFile(f) //nolint:gosec // made above
		if err != nil {
			t.Fatal(err)
		}
		tried[filepath.Base(f)[1:]]++
		got := parse(t, "", model.Content{Body: body})
		if !got.Parses[0].Status.OK() || len(got.Members) != 2 || got.Members[0].URL != url+"#README.md" || !bytes.Equal(got.Members[0].Body, readme) {
			t.Errorf("%s: %v, %d members", f, got.Parses[0].Status, len(got.Members))
		}
	}
	for _, kind := range []string{".zip", ".tar.plain", ".tar.gz", ".tar.bz2", ".tar.zst"} {
		if tried[kind] != 10 && (kind != ".tar.zst" || tried[kind] > 0) {
			t.Errorf("%s: %d archives", kind, tried[kind])
		}
		t.Logf("%-10s %d tried, all parsed", kind, tried[kind])
	}
	for _, f := range []string{"/usr/share/doc/bash/examples/complete/bashcc-1.0.1.tar.gz"} {
		body, err := os.ReadFile(f)
		if err != nil {
			continue
		}
		got := parse(t, "", model.Content{Body: body})
		if !slices.ContainsFunc(got.Members, func(m model.Content) bool { return strings.Contains(string(m.Body), "complete") }) {
			t.Errorf("%s: %v, %d members", f, got.Parses[0].Status, len(got.Members))
		}
	}
}

// TestRealGzip unpacks the changelogs of Debian's packages, gzip files with one document each.
func TestRealGzip(t *testing.T) {
	files, err := filepath.Glob("/usr/share/doc/*/changelog.Debian.gz")
	if err != nil || len(files) < 10 {
		t.Skip("fewer than ten changelogs of packages are on this machine")
	}
	read := 0
	for _, f := range files {
		body, err := os.ReadFile(f) //nolint:gosec // named above
		if err != nil {
			continue // a dangling link
		}
		got := parse(t, "", model.Content{URL: "http://host/" + filepath.Base(filepath.Dir(f)) + "/changelog.Debian.gz", Body: body})
		if len(got.Members) != 1 || !strings.Contains(string(got.Members[0].Body), " -- ") {
			t.Errorf("%s: %v, %d members", f, got.Parses[0].Status, len(got.Members))
			continue
		}
		if read++; read == 50 {
			break
		}
	}
	t.Logf("gzip %d tried, all parsed", read)
}

func FuzzParse(f *testing.F) {
	f.Add(libtest.Zip(f, "a", "1", "b", "2"))
	f.Add(libtest.Zip(f, "a", "1", "b", "2")[:40])
	f.Add(libtest.Gzip(f, libtest.Tar(f, "a", "1")))
	f.Add([]byte(bz))
	p := libtest.Must(f, parsezip.Plugin(), `{"max_size": "64KiB", "max_file": "32KiB"}`).Parser
	f.Fuzz(func(t *testing.T, body []byte) {
		out, err := p.Parse(t.Context(), &parser.Input{Content: model.Content{URL: url, Body: body}})
		if err != nil {
			t.Fatal(err)
		}
		n, names := 0, map[string]bool{}
		for _, m := range out.Members {
			n += len(m.Body)
			if names[m.URL] || !strings.HasPrefix(m.URL, url+"#") || strings.Contains(m.URL, "#..") {
				t.Fatalf("member %q", m.URL)
			}
			names[m.URL] = true
		}
		if n > 64<<10 {
			t.Fatalf("%d bytes", n)
		}
	})
}

func BenchmarkParse(b *testing.B) {
	var files []string
	for i := range 50 {
		files = append(files, fmt.Sprintf("f%d.html", i), strings.Repeat("<p>Some words of a page, and more.</p>\n", 200+i))
	}
	body := libtest.Zip(b, files...)
	p := libtest.Must(b, parsezip.Plugin(), "").Parser
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		if _, err := p.Parse(b.Context(), &parser.Input{Content: model.Content{URL: url, Body: body}}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "pages/s")
}
