package parseoffice

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gonutch/crawler/plugins/internal/libtest"
)

// writer makes ten workbooks of a table of time zones: each has the rows of some
// countries, a title, a link and a formula.
const writer = `
import sys, openpyxl, odf.opendocument, odf.table, odf.text, odf.dc
rows = [l.rstrip("\n").split("\t") for l in open("/usr/share/zoneinfo/zone.tab", encoding="utf-8") if not l.startswith("#")]
for i in range(10):
    part = rows[i*40:(i+1)*40]
    name = "%s/zones%d" % (sys.argv[1], i)
    wb = openpyxl.Workbook()
    wb.properties.title = "Zones %d" % i
    wb.properties.creator = "tz database"
    ws = wb.active
    ws.title = "Part %d" % i
    for r in part:
        ws.append(r)
    ws["F1"] = "home"
    ws["F1"].hyperlink = "https://www.iana.org/time-zones?part=%d" % i
    wb.save(name + ".xlsx")
    doc = odf.opendocument.OpenDocumentSpreadsheet()
    doc.meta.addElement(odf.dc.Title(text="Zones %d" % i))
    t = odf.table.Table(name="Part %d" % i)
    for n, r in enumerate(part):
        row = odf.table.TableRow()
        for v in r:
            cell = odf.table.TableCell()
            cell.addElement(odf.text.P(text=v))
            row.addElement(cell)
        if n == 0:
            cell = odf.table.TableCell()
            p = odf.text.P()
            p.addElement(odf.text.A(href="https://www.iana.org/time-zones?part=%d" % i, text="home"))
            cell.addElement(p)
            row.addElement(cell)
        t.addElement(row)
    doc.spreadsheet.addElement(t)
    doc.save(name + ".ods")
    from odf.opendocument import OpenDocumentPresentation
    from odf import draw, style
    pres = OpenDocumentPresentation()
    pres.meta.addElement(odf.dc.Title(text="Zones %d" % i))
    layout = style.PageLayout(name="L")
    pres.automaticstyles.addElement(layout)
    master = style.MasterPage(name="M", pagelayoutname=layout)
    pres.masterstyles.addElement(master)
    for r in part:
        page = draw.Page(masterpagename=master)
        frame = draw.Frame(width="9cm", height="9cm")
        box = draw.TextBox()
        p = odf.text.P(text=" ".join(r[:3]) + " ")
        p.addElement(odf.text.A(href="https://www.iana.org/time-zones?part=%d" % i, text="home"))
        box.addElement(p)
        frame.addElement(box)
        page.addElement(frame)
        pres.presentation.addElement(page)
    pres.save(name + ".odp")
`

// workbooks makes spreadsheets and presentations with Python's libraries.
func workbooks(t testing.TB) []libtest.Real {
	t.Helper()
	const python = "/usr/bin/python3" // Debian's, which has Debian's libraries
	if err := exec.Command(python, "-c", "import openpyxl, odf").Run(); err != nil {
		t.Log("python3-openpyxl and python3-odf are not installed")
		return nil
	}
	dir := t.TempDir()
	if out, err := exec.Command(python, "-c", writer, dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	raw, err := os.ReadFile("/usr/share/zoneinfo/zone.tab")
	if err != nil {
		t.Fatal(err)
	}
	var rows [][]string
	for line := range strings.Lines(string(raw)) {
		if !strings.HasPrefix(line, "#") {
			rows = append(rows, strings.Split(strings.TrimSuffix(line, "\n"), "\t"))
		}
	}
	var docs []libtest.Real
	for i := range 10 {
		n := string(rune('0' + i))
		for _, format := range []string{"xlsx", "ods", "odp"} {
			docs = append(docs, libtest.Real{
				Format: format, Path: filepath.Join(dir, "zones"+n+"."+format), Title: "Zones " + n,
				Sentence: strings.Join(rows[i*40+20][:3], " "), Link: "https://www.iana.org/time-zones?part=" + n,
			})
		}
	}
	return docs
}

// moduleDocuments are test files of Go modules that this project uses, or that
// .ci/run downloads.
func moduleDocuments(t testing.TB) []libtest.Real {
	t.Helper()
	mimetype := filepath.Join(libtest.ModuleDir(t, "github.com/gabriel-vasile/mimetype"), "testdata")
	excelize := filepath.Join(libtest.ModuleCache(t), "github.com/xuri/excelize/v2@v2.11.1/test")
	return []libtest.Real{
		{Format: "docx", Path: mimetype + "/docx.docx", Title: "asdasdasdasd", Sentence: "asdasdasdasd"},
		{Format: "pptx", Path: mimetype + "/pptx.pptx", Title: "asdasd", Sentence: "asdasdasddd"}, // cut at 4 KiB
		{Format: "xlsx", Path: mimetype + "/xlsx.xlsx", Sentence: "this is an example spreadsheet"},
		{Format: "xlsx", Path: excelize + "/Book1.xlsx", Sentence: "> 23 Inch 19 HP 200", Link: "https://github.com/xuri/excelize"},
		{Format: "xlsx", Path: excelize + "/MergeCell.xlsx", Sentence: "A12 B12 C12 D12"},
		{Format: "xlsx", Path: excelize + "/SharedStrings.xlsx", Sentence: "Test Weight (Kgs)"},
		{Format: "xlsx", Path: excelize + "/OverflowNumericCell.xlsx", Sentence: "8595602512225"},
		{Format: "xlsx", Path: excelize + "/encryptAES.xlsx", Fails: "encrypted"},
		{Format: "xlsx", Path: excelize + "/encryptSHA1.xlsx", Fails: "encrypted"},
		{Format: "doc", Path: mimetype + "/doc.doc", Fails: "parse-tika"},
		{Format: "xls", Path: mimetype + "/xls.xls", Fails: "parse-tika"},
		{Format: "zip", Path: mimetype + "/jar.jar", Fails: "no office document"},
	}
}

// TestRealDocuments parses documents that this project did not make.
func TestRealDocuments(t *testing.T) {
	p := libtest.Must(t, Plugin(), "").Parser
	docs := libtest.Converted(t, []string{"docx", "odt", "rtf", "epub", "pptx"}, libtest.PythonPages())
	docs = append(docs, workbooks(t)...)
	libtest.RealDocuments(t, p, docs, 10)
	libtest.RealDocuments(t, p, moduleDocuments(t), 1)
}

// TestTruncatedDocuments: a document without its end gives the text up to there,
// flagged; or fails with a reason.
func TestTruncatedDocuments(t *testing.T) {
	p := libtest.Must(t, Plugin(), "").Parser
	docs := libtest.Converted(t, []string{"docx", "odt", "rtf", "epub", "pptx"}, libtest.PythonPages()[:1])
	if len(docs) == 0 {
		t.Skip("pandoc is not installed")
	}
	for _, d := range append(docs, workbooks(t)...) {
		body, err := os.ReadFile(d.Path)
		if err != nil {
			continue
		}
		for _, share := range []int{30, 60, 90} {
			got := parse(t, p, body[:len(body)*share/100])
			switch {
			case !got.Status.OK() && got.Status.Message == "":
				t.Errorf("%s: failed without a reason at %d %%", filepath.Base(d.Path), share)
			case got.Status.OK() && len(got.ParseMeta["parse.truncated"]) == 0:
				t.Errorf("%s: cut at %d %% and not flagged: %v", filepath.Base(d.Path), share, got.ParseMeta)
			case share == 90 && len(got.Text) == 0:
				t.Errorf("%s: no text at %d %%: %v", filepath.Base(d.Path), share, got.Status)
			}
		}
	}
}

// BenchmarkParse is one document of each format.
func BenchmarkParse(b *testing.B) {
	p := libtest.Must(b, Plugin(), "").Parser
	docs := append(libtest.Converted(b, []string{"docx", "odt", "rtf", "epub", "pptx"}, libtest.PythonPages()[:1]), workbooks(b)[:2]...)
	for _, d := range docs {
		body, err := os.ReadFile(d.Path)
		if err != nil {
			continue
		}
		b.Run(d.Format, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				if got := parse(b, p, body); !got.Status.OK() {
					b.Fatal(got.Status)
				}
			}
		})
	}
}
