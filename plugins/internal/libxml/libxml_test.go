package libxml

import (
	"encoding/xml"
	"errors"
	"strings"
	"testing"

	"github.com/gonutch/crawler/sdk/model"
)

func TestScan(t *testing.T) {
	for _, c := range []struct{ in, want, root string }{
		{"<a><b/>x</a>", "", "a"},
		{"<a><b>x", "<a><b>x</b></a>", "a"},
		{"<a><b>x</b><c d='>", "<a><b>x</b></a>", "a"},
		{"<a><b>x</b", "<a><b>x</b></a>", "a"},
		{"<a><!-- <b> --><![CDATA[</a>]]>", "<a><!-- <b> --><![CDATA[</a>]]></a>", "a"},
		{"<a><![CDATA[half", "<a></a>", "a"},
		{"<a x='<b>' y=\">\"/>", "", "a"},
		{"<!DOCTYPE a [<!ELEMENT a (b)> <!-- > -->]><x:a/>", "", "x:a"},
		{"<a>1 < 2</a>", "", "a"},
		{"<a></b></a>", "", "a"},
		{"<a><p>x<p>y</a>", "", "a"},
		{"words", "", ""},
		{"", "", ""},
	} {
		d, err := Scan([]byte(c.in), Limits{})
		if err != nil {
			t.Errorf("%s: %v", c.in, err)
			continue
		}
		want := c.want
		if want == "" {
			want = c.in
		}
		if string(d.Body) != want || d.Root != c.root || d.Open != (c.want != "") {
			t.Errorf("%s: %q, root %q, open %v", c.in, d.Body, d.Root, d.Open)
		}
	}
}

func TestScanRefuses(t *testing.T) {
	for in, want := range map[string]string{
		"<!DOCTYPE l [<!ENTITY lol 'lol'><!ENTITY lol2 '&lol;&lol;'>]><l>&lol2;</l>": "declares entities",
		"<!DOCTYPE l [<!ENTITY x SYSTEM 'file:///etc/passwd'>]><l>&x;</l>":           "declares entities",
		"<!DOCTYPE l [<!ENTITY % p SYSTEM 'http://a/'> %p;]><l/>":                    "declares entities",
		"<x>" + strings.Repeat("<a>", 256):                                           "nested more than 256 deep",
	} {
		var r *Refused
		if _, err := Scan([]byte(in), Limits{}); !errors.As(err, &r) || !strings.Contains(r.Reason, want) {
			t.Errorf("%.60s: %v", in, err)
		}
	}
	if _, err := Scan([]byte(strings.Repeat("<a>", 256)+strings.Repeat("</a>", 256)), Limits{}); err != nil {
		t.Error(err)
	}
}

func TestDecode(t *testing.T) {
	for _, c := range []struct{ name, header, body, want string }{
		{"utf-8 by default", "text/xml", "<a>é</a>", "<a>é</a>"},
		{"declared", "", "<?xml version='1.0' encoding='iso-8859-1'?>\n<a>\xe9</a>", "<a>é</a>"},
		{"declared before header", "text/xml; charset=us-ascii", "<?xml version=\"1.0\" encoding=\"utf-8\"?><a>é</a>", "<a>é</a>"},
		{"header", "text/xml; charset=windows-1251", "<a>\xcf</a>", "<a>П</a>"},
		{"utf-16 with mark", "text/xml", "\xff\xfe<\x00a\x00>\x00\xe9\x00<\x00/\x00a\x00>\x00", "<a>é</a>"},
		{"mark", "text/xml", "\xef\xbb\xbf <?xml version='1.0'?><a>é</a>", "<a>é</a>"},
		{"white space first", "text/xml", "\n\n<?xml version='1.0'?>\n<a/>", "<a/>"},
	} {
		got, _ := Decode(&model.Content{ContentType: c.header, Body: []byte(c.body)}, "windows-1252", 50)
		if string(got) != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func FuzzScan(f *testing.F) {
	f.Add([]byte("<!DOCTYPE a [<!ELEMENT a (b)>]><a b='c'><d/>x</a>"))
	f.Add([]byte("<a><![CDATA[x]]><!-- c --><b>"))
	f.Fuzz(func(t *testing.T, b []byte) {
		d, err := Scan(b, Limits{Depth: 20})
		if err != nil {
			return
		}
		again, err := Scan(d.Body, Limits{Depth: 20})
		if err != nil || again.Open {
			t.Fatalf("%q is closed as %q, which is open: %v", b, d.Body, err)
		}
		dec := xml.NewDecoder(strings.NewReader(string(d.Body)))
		dec.Strict = false
		for { // must end
			if _, err := dec.RawToken(); err != nil {
				break
			}
		}
	})
}

func BenchmarkScan(b *testing.B) {
	body := []byte("<urlset>" + strings.Repeat("<url><loc>http://example.org/some/page</loc><lastmod>2024-01-01</lastmod></url>", 10_000) + "</urlset>")
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		if _, err := Scan(body, Limits{}); err != nil {
			b.Fatal(err)
		}
	}
}
