package parsepdf

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	"github.com/gonutch/crawler/plugins/internal/libtest"
	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/extension/parser"
	"github.com/gonutch/crawler/sdk/model"
	"github.com/gonutch/crawler/sdk/plugintest"
)

var dataDir string // holds the engine's machine code for all tests

// builder writes small PDFs.
type builder struct {
	buf  bytes.Buffer
	offs []int
}

// pdf returns a document of objects, the first of which is its catalog; extra
// goes into the trailer.
func pdf(extra string, objects ...string) []byte {
	var b builder
	b.buf.WriteString("%PDF-1.7\n%\xe2\xe3\xcf\xd3\n")
	for i, o := range objects {
		b.offs = append(b.offs, b.buf.Len())
		fmt.Fprintf(&b.buf, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	at := b.buf.Len()
	fmt.Fprintf(&b.buf, "xref\n0 %d\n0000000000 65535 f \n", len(objects)+1)
	for _, o := range b.offs {
		fmt.Fprintf(&b.buf, "%010d 00000 n \n", o)
	}
	fmt.Fprintf(&b.buf, "trailer\n<< /Size %d /Root 1 0 R %s >>\nstartxref\n%d\n%%%%EOF\n", len(objects)+1, extra, at)
	return b.buf.Bytes()
}

func stream(dict, data string) string {
	return fmt.Sprintf("<< %s /Length %d >>\nstream\n%s\nendstream", dict, len(data), data)
}

const (
	catalog = "<< /Type /Catalog /Pages 2 0 R /Lang (en-GB) >>"
	font    = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"
)

// onePage returns a document with one page of that content and annotations.
func onePage(content, annots string) []byte {
	return pdf("/Info 6 0 R", catalog, "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
		"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R /Resources << /Font << /F 5 0 R >> >> /Annots ["+annots+"] >>",
		content, font,
		"<< /Title (A title) /Author (Jane Doe) /Keywords (one, two) /CreationDate (D:20240131120000+01'00') >>")
}

const words = "BT /F 20 Tf 50 700 Td (Hello world of documents) Tj 0 -30 Td (see http://other.example/page.) Tj ET"

// must returns a parser whose engine is compiled once for all tests.
func must(t testing.TB, own string) parser.Parser {
	t.Helper()
	ext, err := Plugin().New(sdk.Env{
		Settings: libtest.Settings(t, libtest.Manifest(t, Plugin()), own), Logger: hclog.NewNullLogger(), DataDir: dataDir,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := ext.Close(); err != nil {
			t.Error(err)
		}
	})
	return ext.Parser
}

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "parse-pdf")
	if err != nil {
		panic(err)
	}
	dataDir = dir
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

func parse(t testing.TB, p parser.Parser, body []byte) model.Parse {
	t.Helper()
	out, err := p.Parse(t.Context(), &parser.Input{Content: model.Content{URL: "http://host/dir/doc.pdf", Body: body}})
	if err != nil {
		t.Fatal(err)
	}
	return out.Parses[0]
}

func TestParse(t *testing.T) {
	p := must(t, "")
	got := parse(t, p, onePage(stream("", words),
		"<< /Type /Annot /Subtype /Link /Rect [50 690 97 720] /A << /S /URI /URI (../up.html) >> >> "+
			"<< /Type /Annot /Subtype /Link /Rect [50 690 110 720] /A << /S /URI /URI (mailto:x@y.example) >> >>"))
	want := model.Parse{
		URL: "http://host/dir/doc.pdf", Status: model.ParseStatus{Major: model.ParseSuccess}, Title: "A title", Language: "en-GB",
		Text: "Hello world of documents\nsee http://other.example/page.",
		Outlinks: []model.Outlink{
			{URL: "http://host/up.html", Anchor: "Hello", Tag: "a"}, {URL: "http://other.example/page", Tag: "a"},
		},
		ParseMeta: model.Metadata{
			"dc.creator": {"Jane Doe"}, "dc.subject": {"one, two"}, "dcterms.created": {"2024-01-31T12:00:00+01:00"},
			"pages": {"1"}, "outlinks.dropped.unusable": {"1"},
		},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestUnknownCharacters: what a font writes that does not tell which characters its codes are is
// left out and counted; the codes themselves would be other words.
func TestUnknownCharacters(t *testing.T) {
	p := must(t, "")
	document := func(info, content string) []byte {
		return pdf(info, catalog, "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
			"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R /Resources << /Font << /F 5 0 R /G 6 0 R >> >> /Annots ["+
				"<< /Type /Annot /Subtype /Link /Rect [50 660 200 690] /A << /S /URI /URI (http://other.example/) >> >>] >>",
			stream("", content), font,
			"<< /Type /Font /Subtype /Type0 /BaseFont /ABCDEF+Font /Encoding /Identity-H /DescendantFonts [7 0 R] >>",
			"<< /Type /Font /Subtype /CIDFontType2 /BaseFont /ABCDEF+Font /CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> /FontDescriptor 8 0 R >>",
			"<< /Type /FontDescriptor /FontName /ABCDEF+Font /Flags 4 /FontBBox [0 0 1000 1000] /ItalicAngle 0 /Ascent 800 /Descent -200 /CapHeight 700 /StemV 80 >>",
			"<< /Title (A title) >>")
	}
	const told, coded = "/F 20 Tf 50 700 Td (Hello world of documents) Tj ", "/G 20 Tf 0 -30 Td <00270052004600580050004800510057> Tj "
	got := parse(t, p, document("", "BT "+told+coded+"/F 20 Tf 0 -30 Td (and goodbye) Tj ET"))
	if want := "Hello world of documents\nand goodbye"; got.Text != want || got.ParseMeta.First("pdf.characters.unknown") != "8" {
		t.Errorf("in part: got %q, %v; want %q without 8 characters", got.Text, got.ParseMeta, want)
	}
	if why := got.ParseMeta.First("parse.degraded"); !strings.Contains(why, "8 of ") {
		t.Errorf("in part: degraded %q", why)
	}
	if len(got.Outlinks) != 1 || got.Outlinks[0].Anchor != "" {
		t.Errorf("in part: links %+v, want one without an anchor", got.Outlinks)
	}
	got = parse(t, p, document("", "BT "+told+"/G 20 Tf 0 -30 Td <002700520046> Tj /F 20 Tf 0 -30 Td (and goodbye) Tj ET"))
	if want := "Hello world of documents\nand goodbye"; got.Text != want || got.ParseMeta.First("pdf.characters.unknown") != "3" {
		t.Errorf("one short word: got %q, %v; want %q without 3 characters", got.Text, got.ParseMeta, want)
	}
	all := bytes.ReplaceAll(document("", "BT 50 700 Td "+coded+"ET"), []byte("/Annots"), []byte("/Nothing"))
	if got := parse(t, p, all); got.Status.OK() || !strings.Contains(got.Status.Message, "fonts") || got.Text != "" {
		t.Errorf("nothing else: got %+v", got)
	}
	titled := bytes.Replace(all, []byte("/Root"), []byte("/Info 9 0 R /Root"), 1)
	if got := parse(t, p, titled); !got.Status.OK() || got.Title != "A title" || got.Text != "" || got.ParseMeta.First("parse.degraded") == "" {
		t.Errorf("with a title: got %+v", got)
	}
}

func bomb(n int) string {
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	chunk := bytes.Repeat([]byte(words+"\n"), 1<<20/len(words))
	for ; n > 0; n -= len(chunk) {
		_, _ = z.Write(chunk)
	}
	_ = z.Close()
	return b.String()
}

// TestHostile: documents made to harm cost one answer each, and the parser goes
// on as before.
func TestHostile(t *testing.T) {
	p := must(t, `{"time_limit": "4s", "memory": "96MiB"}`)
	twoPages := func(second string) []byte {
		return pdf("", catalog, "<< /Type /Pages /Kids [3 0 R 6 0 R] /Count 2 >>",
			"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R /Resources << /Font << /F 5 0 R >> >> >>",
			stream("", words), font,
			"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 7 0 R /Resources << /Font << /F 5 0 R >> >> >>", second)
	}
	gig := stream("/Filter /FlateDecode", bomb(1<<30))
	for _, c := range []struct {
		name, fails, text, truncated string
		body                         []byte
	}{
		{name: "no PDF", body: []byte("<html>"), fails: "no PDF"},
		{name: "nothing", fails: "no PDF"},
		{name: "only a header", body: []byte("%PDF-1.4\n"), fails: "incorrect format"},
		{name: "a page of 1 GiB", body: onePage(gig, ""), fails: "out of"},
		{name: "a page of 1 GiB after another", body: twoPages(gig), text: "Hello world", truncated: "broken time"},
		{name: "deep nesting", body: onePage(strings.Repeat("[", 2<<20), ""), text: ""},
		{name: "deep dictionary", body: pdf("", "<< /Type /Catalog /Pages 2 0 R /X "+strings.Repeat("<</A[", 1<<18)+" >>"), fails: "o"}, // no PDF, or out of time
		{name: "pages in a circle", body: pdf("", catalog, "<< /Type /Pages /Kids [2 0 R 2 0 R] /Count 2000000 >>"), fails: "no pages"},
		{name: "outline in a circle", body: pdf("", "<< /Type /Catalog /Pages 2 0 R /Outlines 4 0 R >>", "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
			"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] >>", "<< /First 5 0 R /Last 5 0 R >>", "<< /Title (round) /Parent 4 0 R /Next 5 0 R /First 5 0 R >>")},
		{name: "millions of operators", body: onePage(stream("/Filter /FlateDecode", bomb(64<<20)), ""), text: "", truncated: "any"},
		{name: "page number from hell", body: pdf("", catalog, "<< /Type /Pages /Kids [] /Count 2147483647 >>"), fails: "no pages"},
	} {
		t.Run(c.name, func(t *testing.T) {
			begun := time.Now()
			got := parse(t, p, c.body)
			took := time.Since(begun)
			t.Logf("%v in %v, %d bytes of text, %v", got.Status, took.Round(time.Millisecond), len(got.Text), got.ParseMeta)
			switch {
			case c.fails != "" && (got.Status.OK() || !strings.Contains(got.Status.Message, c.fails)):
				t.Errorf("got %v, want it to fail with %q", got.Status, c.fails)
			case !got.Status.OK() && got.Status.Message == "":
				t.Error("failed without a reason")
			case !strings.Contains(got.Text, c.text):
				t.Errorf("text %.100q lacks %q", got.Text, c.text)
			}
			if got.Status.OK() && c.truncated != "" && c.truncated != "any" {
				why := got.ParseMeta.First("parse.truncated")
				if why == "" || !strings.Contains(c.truncated, why) {
					t.Errorf("truncated: %q, want one of %s", why, c.truncated)
				}
			}
			if took > 40*time.Second { // ten times the limit
				t.Errorf("took %v", took)
			}
			if again := parse(t, p, onePage(stream("", words), "")); again.Title != "A title" || !strings.HasPrefix(again.Text, "Hello world") {
				t.Fatalf("afterwards: %+v", again)
			}
		})
	}
}

// TestLimits: what is over a limit is left out, flagged and counted.
func TestLimits(t *testing.T) {
	body := pdf("", catalog, "<< /Type /Pages /Kids [3 0 R 3 0 R 3 0 R] /Count 3 >>",
		"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R /Resources << /Font << /F 5 0 R >> >> >>", stream("", words), font)
	got := parse(t, must(t, `{"max_pages": 2, "title_from_text": false, "text_outlinks": false}`), body)
	if strings.Count(got.Text, "Hello") != 2 || got.ParseMeta.First("parse.truncated") != "pages" || got.Title != "" || got.Outlinks != nil {
		t.Errorf("got %+v", got)
	}
	big := must(t, `{"memory": "32MiB"}`)
	if got := parse(t, big, append([]byte("%PDF-1.4\n"), make([]byte, 30<<20)...)); got.Status.OK() || !strings.Contains(got.Status.Message, "memory") {
		t.Errorf("too large: %v", got.Status)
	}
}

// realDocuments are of Debian packages, which .ci/run installs.
func realDocuments() []libtest.Real {
	const doc = "/usr/share/doc/"
	docs := []libtest.Real{
		{Path: "/usr/share/developers-reference/developers-reference.pdf", Title: "Debian Developer's Reference", Sentence: "When to do a source NMU if you are a porter", Link: "https://ftp-master.debian.org/#removed"},
		{Path: doc + "bash/bash.pdf", Title: "BASH(1) General Commands Manual BASH(1)", Sentence: "The full set of GNU Emacs style escape sequences is", Link: "ftp://ftp.gnu.org/pub/gnu/bash/"},
		{Path: doc + "bash/bashref.pdf", Title: "Bash Reference Manual", Sentence: "Redirection errors encountered by shell builtins will not cause the shell to exit.", Link: "http://git.savannah.gnu.org/cgit/bash.git/snapshot/bash-master.tar.gz"},
		{Path: doc + "debian-policy/fhs/fhs-3.0.pdf.gz", Title: "Filesystem Hierarchy Standard", Sentence: "reboot Command to reboot the system (optional)", Link: "https://lists.linux-foundation.org/mailman/listinfo/fhs-discuss"},
		{Path: doc + "debian/FAQ/debian-faq.en.pdf.gz", Title: "The Debian GNU/Linux FAQ", Sentence: "which are not formally part of the Debian system", Link: "http://www.tldp.org/"},
		{Path: doc + "gnuplot/gnuplot.pdf", Title: "gnuplot documentation", Sentence: "the surface needs to have ’grid structure’", Link: "http://www.gnuplot.info/demo/hidden.html"},
		{Path: doc + "libtasn1-doc/libtasn1.pdf", Title: "Libtasn1", Sentence: "element with values of a DER encoding string", Link: "https://www.gnu.org/software/libtasn1/"},
		{Path: doc + "shared-mime-info/shared-mime-info-spec.pdf", Title: "Shared MIME-info Database", Sentence: "The format does not allow a pattern to contain a literal newline character", Link: "http://rox.sourceforge.net"},
		{Path: doc + "bzip2/manual.pdf.gz", Title: "bzip2 and libbzip2, version 1.0.8", Sentence: "Lower values of workFactor reduce the amount of effort the standard algorithm will expend", Link: "http://www.nzdl.org"},
		{Path: doc + "fontconfig/fontconfig-user.pdf.gz", Title: "fonts-conf", Sentence: "validate all of the configuration files and directories", Link: "https://reproducible-builds.org/specs/source-date-epoch/"},
	}
	for i := range docs {
		docs[i].Format, docs[i].Type = "pdf", "application/pdf"
	}
	return docs
}

func TestRealDocuments(t *testing.T) {
	libtest.RealDocuments(t, must(t, `{"time_limit": "120s"}`), realDocuments(), 10)
}

// TestEncrypted uses Ghostscript, which .ci/run installs.
func TestEncrypted(t *testing.T) {
	gs, err := exec.LookPath("gs")
	if err != nil {
		t.Skip("Ghostscript is not installed")
	}
	dir := t.TempDir()
	plain, locked := filepath.Join(dir, "plain.pdf"), filepath.Join(dir, "locked.pdf")
	if err := os.WriteFile(plain, onePage(stream("", words), ""), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(gs, "-q", "-dBATCH", "-dNOPAUSE", "-sDEVICE=pdfwrite", "-sOwnerPassword=own", "-sUserPassword=usr",
		"-dEncryptionR=3", "-dKeyLength=128", "-sOutputFile="+locked, plain).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	body, err := os.ReadFile(locked)
	if err != nil {
		t.Fatal(err)
	}
	got := parse(t, must(t, ""), body)
	if got.Status.Minor != model.ParseFailedMissingContent || !strings.Contains(got.Status.Message, "encrypted") {
		t.Errorf("without password: %v", got.Status)
	}
	got = parse(t, must(t, `{"passwords": ["no", "usr"]}`), body)
	if !got.Status.OK() || !strings.HasPrefix(got.Text, "Hello world") {
		t.Errorf("with password: %+v", got)
	}
}

func TestConformance(t *testing.T) { plugintest.Run(t, Plugin(), plugintest.Options{DataDir: dataDir}) }

func TestDate(t *testing.T) {
	for in, want := range map[string]string{
		"D:20240131120000+01'00'": "2024-01-31T12:00:00+01:00", "D:20240131120000Z": "2024-01-31T12:00:00Z",
		"D:20240131120000-08'00": "2024-01-31T12:00:00-08:00", "D:20240131": "2024-01-31T00:00:00Z", "yesterday": "yesterday", "": "",
	} {
		if got := date(in); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
}

// BenchmarkParse is real documents by the page.
func BenchmarkParse(b *testing.B) {
	p := must(b, "")
	for _, d := range realDocuments() {
		body, err := libtest.ReadFile(d.Path)
		if err != nil || !strings.Contains(d.Path, "developers-reference") && !strings.Contains(d.Path, "bashref") {
			continue
		}
		b.Run(filepath.Base(d.Path), func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				if got := parse(b, p, body); !got.Status.OK() {
					b.Fatal(got.Status)
				}
			}
		})
	}
}
