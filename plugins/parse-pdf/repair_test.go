package parsepdf

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/gonutch/crawler/plugins/internal/libtest"
	"github.com/gonutch/crawler/sdk/extension/parser"
	"github.com/gonutch/crawler/sdk/model"
)

func parseCut(t testing.TB, p parser.Parser, body []byte) model.Parse {
	t.Helper()
	out, err := p.Parse(t.Context(), &parser.Input{Content: model.Content{URL: "http://host/dir/doc.pdf", Body: body, Truncated: "length"}})
	if err != nil {
		t.Fatal(err)
	}
	return out.Parses[0]
}

// wordsOf returns the words of text, of letters and digits.
func wordsOf(text string) []string {
	return strings.FieldsFunc(text, func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsDigit(c) })
}

// strangers returns those words of part that whole does not have as often.
func strangers(whole, part []string) []string {
	have := map[string]int{}
	for _, w := range whole {
		have[w]++
	}
	var out []string
	for _, w := range part {
		if have[w]--; have[w] < 0 {
			out = append(out, w)
		}
	}
	return out
}

// checkCut parses the beginning of a document, which must give a part of what the
// whole document has. It returns whether it gave text.
func checkCut(t *testing.T, p parser.Parser, name string, body []byte, share int, whole *model.Parse) model.Parse {
	t.Helper()
	got := parseCut(t, p, body[:len(body)*share/100])
	if !got.Status.OK() {
		if got.Status.Minor != model.ParseFailedTruncated || got.Status.Message == "" {
			t.Errorf("%s cut at %d %%: %v", name, share, got.Status)
		}
		return got
	}
	all, part := wordsOf(whole.Text), wordsOf(got.Text)
	// Where fonts are lost, some words have spaces too many or too few.
	if odd := strangers(all, part); len(odd) > len(part)/50+2 {
		t.Errorf("%s cut at %d %%: %d of %d words are not in the document: %.300q", name, share, len(odd), len(part), odd)
	}
	if !slices.Contains(got.ParseMeta["parse.truncated"], "broken") {
		t.Errorf("%s cut at %d %%: not flagged: %v", name, share, got.ParseMeta)
	}
	for _, l := range got.Outlinks {
		if !slices.ContainsFunc(whole.Outlinks, func(o model.Outlink) bool { return strings.HasPrefix(o.URL, l.URL) }) {
			t.Errorf("%s cut at %d %%: link %s is not the document's", name, share, l.URL)
		}
	}
	return got
}

// TestCutDocuments: real documents without their end give the text of the pages that are
// there, although programs write fonts and page tree last.
func TestCutDocuments(t *testing.T) {
	p, more := must(t, `{"max_pages": 8, "time_limit": "120s"}`), must(t, `{"max_pages": 40, "time_limit": "120s"}`)
	tried, read := 0, map[int]int{}
	var failed []string
	shares := []int{25, 50, 75, 90}
	for _, d := range realDocuments() {
		body, err := libtest.ReadFile(d.Path)
		if err != nil {
			continue
		}
		tried++
		name := filepath.Base(d.Path)
		whole := parse(t, more, body)
		for _, share := range shares {
			got := checkCut(t, p, name, body, share, &whole)
			switch {
			case got.Status.OK() && len(wordsOf(got.Text)) > 500:
				read[share]++
			case strings.HasPrefix(name, "debian-faq"): // codes of two bytes, and all fonts at the end
				failed = append(failed, fmt.Sprintf("%s at %d %%: %s", name, share, got.Status.Message))
			default:
				t.Errorf("%s cut at %d %%: %v, %d bytes of text", name, share, got.Status, len(got.Text))
			}
		}
	}
	if tried == 0 {
		t.Skip("none of the documents is on this machine; .ci/run installs them")
	}
	for _, share := range shares {
		t.Logf("cut at %d %%: %d tried, %d read", share, tried, read[share])
	}
	t.Logf("failed: %s", strings.Join(failed, "; "))
}

// TestCutForms: the same document in the forms that programs give it.
func TestCutForms(t *testing.T) {
	qpdf, err := exec.LookPath("qpdf")
	if err != nil {
		t.Skip("qpdf is not on this machine; .ci/run installs it")
	}
	const from = "/usr/share/doc/shared-mime-info/shared-mime-info-spec.pdf"
	if _, err := os.Stat(from); err != nil {
		t.Skip("Debian package shared-mime-info's documentation is not installed")
	}
	p := must(t, `{"time_limit": "120s"}`)
	for _, c := range []struct {
		name string
		args []string
		at   int // from which share on there is text
	}{
		{"plain", []string{"--object-streams=disable"}, 25},
		{"packed", []string{"--object-streams=generate"}, 25},
		{"not compressed", []string{"--qdf"}, 50},
		{"linearised", []string{"--linearize"}, 25},
		{"linearised and packed", []string{"--linearize", "--object-streams=generate"}, 25},
		{"linearised and encrypted", []string{"--linearize", "--object-streams=disable", "--encrypt", "", "own", "256", "--"}, 25},
		{"encrypted", []string{"--encrypt", "", "own", "256", "--"}, 101},
	} {
		to := filepath.Join(t.TempDir(), "x.pdf")
		args := append(slices.Clone(c.args), from, to)
		if c.args[len(c.args)-1] == "--" { // options of encryption stand before the files
			args = append(slices.Clone(c.args), from, to)
		}
		if out, err := exec.CommandContext(t.Context(), qpdf, args...).CombinedOutput(); err != nil { //nolint:gosec // found by its name
			t.Fatalf("qpdf %v: %v: %s", args, err, out)
		}
		body, err := os.ReadFile(to)
		if err != nil {
			t.Fatal(err)
		}
		whole := parse(t, p, body)
		if n := len(wordsOf(whole.Text)); n < 5000 {
			t.Fatalf("%s: only %d words", c.name, n)
		}
		for _, share := range []int{25, 50, 75, 90} {
			got := checkCut(t, p, c.name, body, share, &whole)
			if words := len(wordsOf(got.Text)); (words > 100) != (share >= c.at) {
				t.Errorf("%s cut at %d %%: %d words, %v", c.name, share, words, got.Status)
			}
		}
	}
}

// packed returns an object stream.
func packed(num int, objects ...string) string {
	var head, body strings.Builder
	for i, o := range objects {
		fmt.Fprintf(&head, "%d %d ", num+i, body.Len())
		body.WriteString(o + " ")
	}
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	_, _ = z.Write([]byte(head.String() + body.String()))
	_ = z.Close()
	return stream(fmt.Sprintf("/Type /ObjStm /N %d /First %d /Filter /FlateDecode", len(objects), head.Len()), b.String())
}

const pageOf = "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents %d 0 R /Resources << /Font << /F 5 0 R >> >> >>"

// line is a page's content.
func line(text string) string { return stream("", "BT /F 20 Tf 50 700 Td ("+text+") Tj ET") }

// written returns objects as a file has them, without a table and trailer; numbers count
// from 1, and "" leaves one out.
func written(objects ...string) []byte {
	var b bytes.Buffer
	b.WriteString("%PDF-1.7\n")
	for i, o := range objects {
		if o != "" {
			fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
		}
	}
	return b.Bytes()
}

func TestRepair(t *testing.T) {
	p := must(t, "")
	tree := "<< /Type /Pages /Kids [6 0 R 3 0 R] /Count 2 >>"
	page := func(content int) string { return fmt.Sprintf(pageOf, content) }
	for _, c := range []struct {
		name, text, fails string
		body              []byte
	}{
		{name: "all but the table", body: written(catalog, tree, page(4), line("second"), font, page(7), line("first")), text: "first\nsecond"},
		{name: "no catalog, no tree", body: written("", "", page(4), line("one"), font, page(7), line("two")), text: "one\ntwo"},
		{name: "a tree without a catalog", body: written("", tree, page(4), line("one"), font, page(7), line("two")), text: "one\ntwo"},
		{name: "a page of the tree is missing", body: written(catalog, tree, page(4), line("here"), font), text: "here"},
		{name: "a page that the tree has not", body: written(catalog, "<< /Type /Pages /Kids [3 0 R] /Count 1 >>", page(4), line("kept"), font, page(7), line("removed")), text: "kept"},
		{name: "junk before the header", body: append([]byte("junk\n"), written(catalog, tree, page(4), line("x"), font, page(4))...), text: "x\nx"},
		{name: "no font", body: written(catalog, tree, page(4), line("e\\014gy \\014 o\\000x"), "", page(7), line("\\033ab \\214n")), text: "ffab fin"},
		{name: "no resources", body: written("", "", "<< /Type /Page /Contents 4 0 R /Resources 9 0 R >>", line("o\\013 ice")), text: "off ice"},
		{name: "only contents", body: written("", "", "", line("one"), "", "", line("two")), text: "one\ntwo"},
		{name: "packed objects", body: written("", "", "", line("one"), "", "", line("two"), packed(10, catalog, page(4), page(7), font)), text: "one\ntwo"},
		{name: "newer objects count", body: append(written(catalog, tree, page(4), line("old"), font, page(4)), "4 0 obj "+line("new")+" endobj"...), text: "new\nnew"},
		{name: "a content cut off", body: []byte(strings.TrimSuffix(string(written(catalog, "", page(4), line("begun"), font, page(7), line("and on"))), "ET\nendstream\nendobj\n")), text: "begun\nand on"},
		{name: "an object cut off", body: []byte(strings.TrimSuffix(string(written(catalog, "", page(4), line("whole"), font, page(4))), ">>\nendobj\n")), text: "whole"},
		{name: "a number in a stream is no object", body: written(catalog, tree, page(4), line("text \\(3 0 obj null endobj\\)"), font, page(4)), text: "text (3 0 obj null endobj)\ntext (3 0 obj null endobj)"},
		{name: "a tree in a circle", body: written(catalog, "<< /Type /Pages /Kids [2 0 R 3 0 R 2 0 R] /Count 3 >>", page(4), line("x"), font), text: "x"},
		{name: "two bytes and no font", body: written("", "", page(4), line("\\000A\\000B"), ""), fails: "fonts"},
		{name: "nothing", body: []byte("%PDF-1.7\n" + strings.Repeat("words ", 100)), fails: "incorrect format"},
	} {
		got := parseCut(t, p, c.body)
		switch {
		case c.fails != "":
			if got.Status.Minor != model.ParseFailedTruncated || !strings.Contains(got.Status.Message, c.fails) {
				t.Errorf("%s: got %v, want it to fail with %q", c.name, got.Status, c.fails)
			}
		case !got.Status.OK() || got.Text != c.text:
			t.Errorf("%s: got %v, %q, want %q", c.name, got.Status, got.Text, c.text)
		}
		// Documents that are broken without having been cut off by the crawler.
		if again := parse(t, p, c.body); again.Status.OK() != (c.fails == "") {
			t.Errorf("%s, not known to be cut off: %v", c.name, again.Status)
		}
	}
}

// TestLostLines: what can't be told of a document that is readable otherwise is counted.
func TestLostLines(t *testing.T) {
	other := strings.Replace(fmt.Sprintf(pageOf, 7), "5 0 R", "9 0 R", 1)
	body := written(catalog, "<< /Type /Pages /Kids [6 0 R 3 0 R] /Count 2 >>", fmt.Sprintf(pageOf, 4), line("kept"), font, other, line("\\000A\\000B"))
	if got := parseCut(t, must(t, ""), body); got.Text != "kept" || got.ParseMeta.First("pdf.lines.lost") != "1" {
		t.Errorf("got %v, %q, %v", got.Status, got.Text, got.ParseMeta)
	}
}

// TestRepairBounds: what is made to cost much is given up.
func TestRepairBounds(t *testing.T) {
	big := strings.Repeat("/K 1 ", 100_000)
	pages := strings.Builder{}
	for i := range 20_000 {
		fmt.Fprintf(&pages, "%d 0 obj<</Type/Page/Parent 2 0 R>>endobj\n", i+10)
	}
	for name, body := range map[string]string{
		"open strings":      strings.Repeat("1 0 obj (", 500_000),
		"open dictionaries": strings.Repeat("1 0 obj <<", 500_000),
		"deep arrays":       "1 0 obj " + strings.Repeat("[", 4<<20),
		"open trailers":     strings.Repeat("trailer<</A(", 400_000),
		"open streams":      strings.Repeat("1 0 obj<<>>stream\n", 200_000),
		"large parent":      "2 0 obj<</Resources<<" + big + ">>/Parent 2 0 R>>endobj " + pages.String(),
		"many kids":         "3 0 obj [" + strings.Repeat("9 0 R ", 100_000) + "] endobj " + strings.ReplaceAll(pages.String(), "/Type/Page/Parent 2 0 R", "/Kids 3 0 R"),
		"bomb in a packed":  "1 0 obj" + stream("/Type/ObjStm/N 9/First 9/Filter/FlateDecode", bomb(256<<20)),
	} {
		before := libtest.Heap()
		out, _, err := repair([]byte("%PDF-1.7\n"+body), 64<<20)
		if grown := int64(libtest.Heap() - before); grown > 600<<20 {
			t.Errorf("%s: the heap grew by %d MiB", name, grown>>20)
		}
		t.Logf("%s: %d bytes of %d, %v", name, len(out), len(body), err)
	}
}

// FuzzRepair: whatever comes, repair ends, and what it writes has a table that begins
// where it says.
func FuzzRepair(f *testing.F) {
	f.Add(written(catalog, "<< /Type /Pages /Kids [3 0 R] /Count 1 >>", fmt.Sprintf(pageOf, 4), line("x"), font))
	f.Add(written("", packed(10, catalog, fmt.Sprintf(pageOf, 4)), "", line("x")))
	f.Add(onePage(stream("", words), ""))
	f.Add([]byte("%PDF-1 trailer<</Root 1 0 R/Encrypt 2 0 R>> 1 0 obj<</Pages 1 0 R/Kids[1 0 R]>>"))
	f.Fuzz(func(t *testing.T, body []byte) {
		out, _, err := repair(body, 1<<20)
		if err != nil {
			return
		}
		var at int
		tail := out[bytes.LastIndex(out, []byte("startxref")):]
		if _, err := fmt.Sscanf(string(tail), "startxref\n%d", &at); err != nil || !bytes.Contains(out[at:], []byte("/Type /XRef")) || bytes.Index(out[at:], []byte(" 0 obj")) > 8 {
			t.Fatalf("table at %d: %v", at, err)
		}
	})
}
