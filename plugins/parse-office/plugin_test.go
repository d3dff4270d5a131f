package parseoffice

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gonutch/crawler/plugins/internal/libtest"
	"github.com/gonutch/crawler/sdk/extension/parser"
	"github.com/gonutch/crawler/sdk/model"
	"github.com/gonutch/crawler/sdk/plugintest"
)

func parse(t testing.TB, p parser.Parser, body []byte) model.Parse {
	t.Helper()
	out, err := p.Parse(t.Context(), &parser.Input{Content: model.Content{URL: "http://host/dir/doc", Body: body}})
	if err != nil {
		t.Fatal(err)
	}
	return out.Parses[0]
}

const (
	wordHead  = `<?xml version="1.0"?><w:document xmlns:w="w" xmlns:r="r"><w:body>`
	wordRels  = `<Relationships><Relationship Id="r1" Type="x/hyperlink" Target="../up.html" TargetMode="External"/></Relationships>`
	wordCore  = `<cp:coreProperties><dc:title>A title</dc:title><dc:creator>Jane Doe</dc:creator><dc:language>en-GB</dc:language></cp:coreProperties>`
	wordText  = `<w:p><w:r><w:t>Hello </w:t></w:r><w:hyperlink r:id="r1"><w:r><w:t>the link</w:t></w:r></w:hyperlink><w:r><w:t xml:space="preserve"> end</w:t></w:r></w:p>`
	wordField = `<w:p><w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText>HYPERLINK "http://f.example/" \l "x"</w:instrText></w:r><w:r><w:fldChar w:fldCharType="separate"/></w:r><w:r><w:t>field</w:t></w:r><w:r><w:fldChar w:fldCharType="end"/></w:r></w:p>`
	wordCells = `<w:tbl><w:tr><w:tc><w:p><w:r><w:t>a</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>b</w:t></w:r></w:p></w:tc></w:tr></w:tbl><w:del><w:r><w:t>gone</w:t></w:r></w:del>`
)

func TestWord(t *testing.T) {
	got := parse(t, libtest.Must(t, Plugin(), "").Parser, libtest.Zip(t, "docProps/core.xml", wordCore, "word/_rels/document.xml.rels", wordRels,
		"word/document.xml", wordHead+wordText+wordField+wordCells, "word/footnotes.xml", `<w:footnotes><w:p><w:t>a note</w:t></w:p>`))
	want := model.Parse{
		URL: "http://host/dir/doc", Status: model.ParseStatus{Major: model.ParseSuccess}, Title: "A title", Language: "en-GB",
		Text: "Hello the link end\nfield\na\nb\na note",
		Outlinks: []model.Outlink{
			{URL: "http://host/up.html", Anchor: "the link", Tag: "a"}, {URL: "http://f.example/", Anchor: "field", Tag: "a"},
		},
		ParseMeta: model.Metadata{"dc.creator": {"Jane Doe"}},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestWorkbook(t *testing.T) {
	body := libtest.Zip(t, "xl/workbook.xml", `<workbook xmlns:r="r"><sheets><sheet name="Prices" r:id="r1"/></sheets></workbook>`,
		"xl/_rels/workbook.xml.rels", `<Relationships><Relationship Id="r1" Type="x/worksheet" Target="worksheets/a.xml"/><Relationship Id="r2" Type="x/sharedStrings" Target="s.xml"/><Relationship Id="r3" Type="x/styles" Target="st.xml"/></Relationships>`,
		"xl/s.xml", `<sst><si><t>Apple</t><rPh><t>ap</t></rPh></si><si><r><t>Pe</t></r><r><t>ar</t></r></si></sst>`,
		"xl/st.xml", `<styleSheet><numFmts><numFmt numFmtId="170" formatCode="&quot;day&quot;0"/><numFmt numFmtId="171" formatCode="yyyy"/></numFmts><cellStyleXfs><xf numFmtId="14"/></cellStyleXfs><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="170"/><xf numFmtId="171"/></cellXfs></styleSheet>`,
		"xl/worksheets/a.xml", `<worksheet xmlns:r="r"><sheetData><row><c t="s"><v>0</v></c><c><v>1.5</v></c><c s="1"><v>45322</v></c></row>`+
			`<row><c t="s"><v>1</v></c><c t="b"><v>1</v></c><c s="2"><v>45322</v></c><c s="3"><v>45322.5</v></c><c t="inlineStr"><is><t>in line</t></is></c></row>`+
			`<row><c t="str"><f>HYPERLINK("http://f.example/","go")</f><v>go</v></c><c t="s"><v>99</v></c></row></sheetData></worksheet>`)
	got := parse(t, libtest.Must(t, Plugin(), "").Parser, body)
	if want := "Prices\nApple\t1.5\t2024-01-31\nPear\tTRUE\t45322\t2024-01-31 12:00:00\tin line\ngo"; got.Text != want {
		t.Errorf("got %q, want %q (%v)", got.Text, want, got.Status)
	}
	if d := cmp.Diff([]model.Outlink{{URL: "http://f.example/", Anchor: "go", Tag: "a"}}, got.Outlinks); d != "" {
		t.Error(d)
	}
}

func TestRTF(t *testing.T) {
	p := libtest.Must(t, Plugin(), "").Parser
	for _, c := range []struct{ body, text, title, link string }{
		{`{\rtf1\ansi{\info{\title T\'e9}{\author A}}Hello\par {\b w}orld\tab x}`, "Hello\nworld\tx", "Té", ""},
		{`{\rtf1\ansi\ansicpg1251 \'cf\'f0}`, "Пр", "Пр", ""},
		{`{\rtf1\ansi\uc1 \u8212- \u-10179?\u-8704?}`, "— 😀", "— 😀", ""},
		{`{\rtf1{\fonttbl{\f0\fcharset0 A;}{\f1\fcharset128 B;}}\f1 \'82\'a0\f0 b}`, "あb", "あb", ""},
		{`{\rtf1{\field{\*\fldinst{HYPERLINK "http://a.example/"}}{\fldrslt{link}}} {\*\unknown gone}{\pict ffd8}x}`, "link x", "link x", "http://a.example/"},
		{`{\rtf1{\stylesheet{\s0 Normal;}}a\{b\}\\c{\pict\bin4 }}}}}d}`, `a{b}\cd`, `a{b}\cd`, ""},
	} {
		got := parse(t, p, []byte(c.body))
		link := ""
		if len(got.Outlinks) > 0 {
			link = got.Outlinks[0].URL
		}
		if got.Text != c.text || got.Title != c.title || link != c.link {
			t.Errorf("%s: got %q, title %q, link %q (%v)", c.body, got.Text, got.Title, link, got.Status)
		}
	}
}

func TestFlatODF(t *testing.T) {
	const doc = `<?xml version="1.0"?><office:document xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0"><office:meta><dc:title>Flat</dc:title></office:meta>` +
		`<office:body><office:text><text:h>Head</text:h><text:p>a<text:s/>b<text:tracked-changes><text:p>gone</text:p></text:tracked-changes></text:p></office:text></office:body></office:document>`
	if got := parse(t, libtest.Must(t, Plugin(), "").Parser, []byte(doc)); got.Title != "Flat" || got.Text != "Head\na b" {
		t.Errorf("got %+v", got)
	}
}

// huge is a part that unpacks to n bytes of rows.
func huge(t testing.TB, name, head, row string, n int, rest ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	w, err := z.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(w, head)
	chunk := []byte(strings.Repeat(row, max(1, (1<<20)/len(row))))
	for ; n > 0; n -= len(chunk) {
		_, _ = w.Write(chunk)
	}
	for i := 0; i < len(rest); i += 2 {
		w, err := z.Create(rest[i])
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(w, rest[i+1])
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// manySheets is a workbook of n sheets with one cell each; last says that the workbook
// itself comes after its sheets, as some programs write it.
func manySheets(t testing.TB, n int, last bool) []byte {
	t.Helper()
	var book, rels strings.Builder
	var parts []string
	book.WriteString(`<workbook xmlns:r="r"><sheets>`)
	rels.WriteString("<Relationships>")
	for i := range n {
		fmt.Fprintf(&book, `<sheet name="Sheet %d" r:id="r%d"/>`, i, i)
		fmt.Fprintf(&rels, `<Relationship Id="r%d" Type="x/worksheet" Target="worksheets/sheet%d.xml"/>`, i, i)
		parts = append(parts, fmt.Sprintf("xl/worksheets/sheet%d.xml", i), fmt.Sprintf(`<worksheet><sheetData><row><c t="str"><v>cell of %d</v></c></row></sheetData></worksheet>`, i))
	}
	table := []string{"xl/workbook.xml", book.String() + "</sheets></workbook>", "xl/_rels/workbook.xml.rels", rels.String() + "</Relationships>"}
	if last {
		return libtest.Zip(t, append(parts, table...)...)
	}
	return libtest.Zip(t, append(table, parts...)...)
}

// TestHostile: documents made to harm cost one answer each: little time, little
// memory, and a reason where something is missing.
func TestHostile(t *testing.T) {
	p := libtest.Must(t, Plugin(), `{"time_limit": "120s", "max_unpacked": "32MiB", "max_strings": "4MiB"}`).Parser
	const book = `<workbook xmlns:r="r"><sheets><sheet name="S" r:id="r1"/></sheets></workbook>`
	const rels = `<Relationships><Relationship Id="r1" Type="x/worksheet" Target="worksheets/a.xml"/><Relationship Id="r2" Type="x/sharedStrings" Target="s.xml"/></Relationships>`
	bomb := `<?xml version="1.0"?><!DOCTYPE l [<!ENTITY a "lol">`
	for c := 'b'; c <= 'z'; c++ {
		bomb += fmt.Sprintf("<!ENTITY %c %q>", c, strings.Repeat(fmt.Sprintf("&%c;", c-1), 10))
	}
	bomb += `<!ENTITY file SYSTEM "file:///etc/passwd">]><w:document><w:p><w:t>start &z; &file; end</w:t></w:p></w:document>`
	var many []string
	for i := range 20_000 {
		many = append(many, fmt.Sprintf("word/header%d.xml", i), `<w:p><w:t>x</w:t></w:p>`)
	}
	var stored []byte // headers of files of unknown size in a container without its end
	for i := range 200_000 {
		name := fmt.Sprintf("word/%d", i)
		stored = append(stored, "PK\x03\x04\x14\x00\x08\x00"+strings.Repeat("\x00", 18)...)
		stored = append(binary.LittleEndian.AppendUint16(stored, uint16(len(name))), 0, 0) //nolint:gosec // some letters
		stored = append(stored, name...)
	}
	for _, c := range []struct {
		name, text, truncated, fails string
		body                         []byte
	}{
		{name: "workbook of 100,000 sheets", body: manySheets(t, 100_010, false), text: "Sheet 60000\ncell of 60000", truncated: "parts"},
		{name: "workbook of 100,000 sheets, its table last", body: manySheets(t, 100_010, true), text: "Sheet 60000\ncell of 60000", truncated: "parts"},
		{name: "200,000 parts of unknown size", body: stored, fails: "nothing of it"},
		{name: "entity bomb", body: libtest.Zip(t, "word/document.xml", bomb), text: "start"},
		{name: "zip bomb in the text", body: huge(t, "word/document.xml", wordHead, "<w:p/>", 256<<20), fails: "max_unpacked"},
		{name: "sheet of 256 MiB, 100,000 pages of paper", body: huge(t, "xl/worksheets/a.xml", `<worksheet>`, `<row><c><v>123456</v></c><c><v>7890</v></c></row>`, 256<<20, "xl/workbook.xml", book, "xl/_rels/workbook.xml.rels", rels), text: "123456\t7890", truncated: "size"},
		{name: "table of texts of 16 MiB", body: huge(t, "xl/s.xml", "<sst>", "<si><t>"+strings.Repeat("long ", 100)+"</t></si>", 16<<20, "xl/workbook.xml", book, "xl/_rels/workbook.xml.rels", rels, "xl/worksheets/a.xml", `<row><c t="s"><v>1</v></c><c t="s"><v>500000</v></c></row>`), text: "long", truncated: "strings"},
		{name: "deep nesting", body: huge(t, "content.xml", "<office:document-content><text:p>start", "<text:span>", 64<<20), text: "start", truncated: "size"},
		{name: "one text of 64 MiB", body: huge(t, "word/document.xml", wordHead+"<w:p><w:t>", strings.Repeat("x", 1000), 64<<20), text: "xxx", truncated: "broken"},
		{name: "one tag of 64 MiB", body: huge(t, "word/document.xml", wordHead+"<w:p a='", strings.Repeat("x", 1000), 64<<20), fails: "4 MiB"},
		{name: "20,000 parts", body: libtest.Zip(t, append(many, "word/document.xml", wordHead+wordText)...), text: "Hello"},
		{name: "groups in groups", body: []byte(`{\rtf1 start ` + strings.Repeat("{", 1<<20)), text: "start", truncated: "broken"},
		{name: "nothing but fields", body: []byte(`{\rtf1 start ` + strings.Repeat(`{\field{\*\fldinst HYPERLINK "http://a/"}`, 1<<17)), text: "start", truncated: "broken"},
		{name: "binary of 2 GiB", body: []byte(`{\rtf1 start \bin2000000000 x`), text: "start", truncated: "broken"},
		{name: "not what it says", body: []byte("<html>"), fails: "neither"},
		{name: "empty", fails: "neither"},
		{name: "empty container", body: libtest.Zip(t), fails: "no office document"},
		{name: "noise after the signature", body: append([]byte("PK\x03\x04"), bytes.Repeat([]byte("PK\x03\x04\x14\x00"), 1<<16)...), fails: ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			begun := time.Now()
			before := libtest.Heap()
			got := parse(t, p, c.body)
			took, grown := time.Since(begun), int64(libtest.Heap())-int64(before)
			t.Logf("%v in %v, %d bytes of text, heap +%d MiB, %v", got.Status, took.Round(time.Millisecond), len(got.Text), grown>>20, got.ParseMeta)
			switch {
			case c.fails != "" && (got.Status.OK() || !strings.Contains(got.Status.Message, c.fails)):
				t.Errorf("got %v, want it to fail with %q", got.Status, c.fails)
			case !got.Status.OK() && got.Status.Message == "":
				t.Error("failed without a reason")
			case c.text != "" && (!got.Status.OK() || !strings.Contains(got.Text, c.text)):
				t.Errorf("%v: text %.100q lacks %q", got.Status, got.Text, c.text)
			case c.truncated != "" && !strings.Contains(strings.Join(got.ParseMeta["parse.truncated"], " "), c.truncated):
				t.Errorf("truncated: %v, want %s", got.ParseMeta, c.truncated)
			case strings.Contains(got.Text, "root:"):
				t.Error("a file of this machine was read")
			}
			if took > 150*time.Second { // far above the limit: the machine may be busy
				t.Errorf("took %v", took)
			}
			if grown > 512<<20 {
				t.Errorf("heap grew by %d MiB", grown>>20)
			}
		})
	}
}

// TestLimits: what is over a limit is left out and counted.
func TestLimits(t *testing.T) {
	p := libtest.Must(t, Plugin(), `{"outlinks_max": 1, "title_from_text": false}`).Parser
	got := parse(t, p, libtest.Zip(t, "word/_rels/document.xml.rels", wordRels, "word/document.xml", wordHead+wordText+wordField))
	if len(got.Outlinks) != 1 || got.ParseMeta.First("outlinks.dropped.limit") != "1" || got.Title != "" {
		t.Errorf("got %+v", got)
	}
}

// TestBrokenBytes changes bytes of sound documents: none may be a crash.
func TestBrokenBytes(t *testing.T) {
	p := libtest.Must(t, Plugin(), "").Parser
	r := rand.New(rand.NewPCG(1, 2))
	for _, body := range [][]byte{
		libtest.Zip(t, "docProps/core.xml", wordCore, "word/_rels/document.xml.rels", wordRels, "word/document.xml", wordHead+wordText+wordField),
		[]byte(`{\rtf1\ansi{\info{\title T\'e9}}{\field{\*\fldinst{HYPERLINK "http://a/"}}{\fldrslt x}}\u8212-\bin3 abc}`),
	} {
		for range 3000 {
			b := bytes.Clone(body)
			for range 1 + r.IntN(8) {
				b[r.IntN(len(b))] = byte(r.IntN(256))
			}
			parse(t, p, b[:len(b)-r.IntN(len(b)/2)])
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{\rtf1\ansi{\field{\*\fldinst{HYPERLINK "http://a/"}}{\fldrslt x}}\u8212-}`))
	f.Add(libtest.Zip(f, "word/document.xml", wordHead+wordText))
	f.Add(libtest.Zip(f, "mimetype", "application/vnd.oasis.opendocument.text", "content.xml", "<text:p>a<text:a href='b'>c</text:a></text:p>"))
	p := libtest.Must(f, Plugin(), `{"time_limit": "2s"}`).Parser
	f.Fuzz(func(t *testing.T, body []byte) {
		if got := parse(t, p, body); !got.Status.OK() && got.Status.Message == "" {
			t.Error("failed without a reason")
		}
	})
}

func TestConformance(t *testing.T) { plugintest.Run(t, Plugin(), plugintest.Options{}) }
