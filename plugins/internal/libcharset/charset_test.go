package libcharset

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/encoding/htmlindex"
)

func encode(t testing.TB, charset, text string) []byte {
	t.Helper()
	enc, err := htmlindex.Get(charset)
	if err != nil {
		t.Fatal(err)
	}
	out, err := enc.NewEncoder().Bytes([]byte(text))
	if err != nil {
		t.Fatalf("%s can't carry %q: %v", charset, text, err)
	}
	return out
}

func TestDecode(t *testing.T) {
	utf16 := func(s string) string {
		var b strings.Builder
		for _, c := range s {
			b.WriteString(string([]byte{byte(c), byte(c >> 8)}))
		}
		return b.String()
	}
	pad := strings.Repeat(" ", 5000)
	for _, c := range []struct {
		name, body, contentType string
		charset, text           string
		clue                    Clue
	}{
		{"mark beats header", "\xef\xbb\xbfé", "text/html; charset=iso-8859-1", "utf-8", "é", ByBOM},
		{"UTF-16 mark", "\xff\xfea\x00", "", "utf-16le", "a", ByBOM},
		{"UTF-16 big-endian mark", "\xfe\xff\x00a", "", "utf-16be", "a", ByBOM},
		{"UTF-16 markup without mark", utf16("<p>é"), "", "utf-16le", "<p>é", ByBytes},
		{"header", "\xe9", "text/html; charset=ISO-8859-1", "windows-1252", "é", ByHeader},
		{"header beats meta", "<meta charset=utf-8>\xe9", "text/html; charset=latin1", "windows-1252", "<meta charset=utf-8>é", ByHeader},
		{"malformed header", "\xe9", "text/html; charset=latin1; x y", "windows-1252", "é", ByHeader},
		{"quoted header", "\xe9", `text/html; charset="latin1"`, "windows-1252", "é", ByHeader},
		{"unknown header", "é", "text/html; charset=klingon", "utf-8", "é", ByBytes},
		{"meta", "<meta charset=koi8-r>\xc1", "", "koi8-r", "<meta charset=koi8-r>а", ByMeta},
		{"meta far down", pad + "<meta charset=koi8-r>\xc1", "", "koi8-r", pad + "<meta charset=koi8-r>а", ByMeta},
		{"meta by http-equiv", `<META content="text/html; Charset = 'koi8-r'" HTTP-EQUIV=Content-Type>` + "\xc1", "", "koi8-r", `<META content="text/html; Charset = 'koi8-r'" HTTP-EQUIV=Content-Type>а`, ByMeta},
		{"meta without http-equiv", `<meta content="x; charset=koi8-r">é`, "", "utf-8", `<meta content="x; charset=koi8-r">é`, ByBytes},
		{"meta in comment", "<!-- <meta charset=koi8-r> -->é", "", "utf-8", "<!-- <meta charset=koi8-r> -->é", ByBytes},
		{"meta in attribute", `<a title="<meta charset=koi8-r>">é`, "", "utf-8", `<a title="<meta charset=koi8-r>">é`, ByBytes},
		{"meta of UTF-16 is UTF-8", "<meta charset=utf-16>é", "", "utf-8", "<meta charset=utf-16>é", ByMeta},
		{"XML declaration", "<?xml version='1.0' encoding='koi8-r'?>\xc1", "", "koi8-r", "<?xml version='1.0' encoding='koi8-r'?>а", ByMeta},
		{"Chinese as its superset", "<meta charset=gb2312>\xd6\xd0", "", "gb18030", "<meta charset=gb2312>中", ByMeta},
		{"Korean", "\xb0\xa1", "text/html; charset=x-windows-949", "euc-kr", "가", ByHeader},
		{"declared UTF-8 that is not", "a\xffb", "text/html; charset=utf-8", "utf-8", "a\ufffdb", ByHeader},
		{"cut off in a character", "Grüße \xc3", "", "utf-8", "Grüße \ufffd", ByBytes},
		{"nothing tells", "\x81\x8d\x90", "", "windows-1252", "\ufffd\ufffd\ufffd", ByDefault},
		{"empty", "", "", "utf-8", "", ByBytes},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Decode([]byte(c.body), Options{ContentType: c.contentType, HTML: true, MinConfidence: 50, Default: "windows-1252"})
			if got.Charset != c.charset || string(got.Text) != c.text || got.Clue != c.clue {
				t.Errorf("got %s %q by %s, want %s %q by %s", got.Charset, got.Text, got.Clue, c.charset, c.text, c.clue)
			}
		})
	}
}

func TestValidUTF8IsNotCopied(t *testing.T) {
	body := []byte("Grüße")
	if got := Decode(body, Options{Default: "windows-1252"}); &got.Text[0] != &body[0] {
		t.Error("valid UTF-8 was copied")
	}
}

// samples are texts of the kind and length a small page has.
func samples() map[string]string {
	return map[string]string{
		"russian":  "Поисковый робот обходит страницы сети, читает их и запоминает ссылки, чтобы потом вернуться и проверить, изменилось ли что-нибудь.",
		"japanese": "検索エンジンのクローラーはウェブページを巡回し、文書を取得して索引を作成します。リンクをたどりながら新しいページを見つけます。",
		"korean":   "검색 엔진의 크롤러는 웹 페이지를 돌아다니며 문서를 수집하고 색인을 만듭니다. 링크를 따라가며 새로운 페이지를 찾습니다.",
		"chinese":  "搜索引擎的爬虫程序会访问网页，读取文档内容并建立索引，同时沿着链接发现新的页面，定期检查页面是否发生变化。",
		"taiwan":   "搜尋引擎的爬蟲程式會造訪網頁，讀取文件內容並建立索引，同時沿著連結發現新的頁面，定期檢查頁面是否發生變化。",
		"greek":    "Ο ανιχνευτής επισκέπτεται τις σελίδες του ιστού, διαβάζει το περιεχόμενο και ακολουθεί τους συνδέσμους για να βρει νέες σελίδες.",
		"english":  "A search engine’s crawler visits the pages of a site, reads them and follows the links — “politely”, as they say — to find what’s new.",
		"french":   "Le robot d'indexation parcourt les pages du réseau, lit leur contenu et suit les liens à la recherche de nouveautés déjà publiées à l'été.",
		"polish":   "Robot przegląda strony sieci, czyta ich treść i podąża za łączami, żeby znaleźć nowe strony oraz sprawdzić, czy się zmieniły.",
		"hebrew":   "הסורק עובר על דפי הרשת, קורא את תוכנם ועוקב אחר הקישורים כדי למצוא דפים חדשים ולבדוק אם משהו השתנה מאז הביקור האחרון.",
		"arabic":   "يزور الزاحف صفحات الشبكة ويقرأ محتواها ويتبع الروابط للعثور على صفحات جديدة والتحقق مما إذا كان قد تغير أي شيء.",
	}
}

// TestGuess shows what undeclared charsets are recognized: a guess must give
// the text back, by whatever name.
func TestGuess(t *testing.T) {
	for _, c := range [][2]string{
		{"russian", "windows-1251"},
		{"russian", "koi8-r"},
		{"russian", "iso-8859-5"},
		{"japanese", "shift_jis"},
		{"japanese", "euc-jp"},
		{"japanese", "iso-2022-jp"},
		{"korean", "euc-kr"},
		{"chinese", "gb18030"},
		{"taiwan", "big5"},
		{"greek", "iso-8859-7"},
		{"french", "windows-1252"},
		{"polish", "iso-8859-2"},
		{"polish", "windows-1250"},
		{"hebrew", "windows-1255"},
		{"arabic", "windows-1256"},
	} {
		t.Run(c[0]+" "+c[1], func(t *testing.T) {
			text := samples()[c[0]]
			body := append([]byte("<html><body><p class=x>"), encode(t, c[1], text)...)
			body = append(body, "</p></body></html>"...)
			got := Decode(body, Options{HTML: true, MinConfidence: 50, Default: "windows-1252"})
			if !bytes.Contains(got.Text, []byte(text)) {
				t.Errorf("decoded by %s (%s) to %q", got.Charset, got.Clue, got.Text)
			}
		})
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte("<meta charset=koi8-r>\xc1"), "text/html")
	f.Add([]byte("<?xml encoding='big5'?>\xa4"), "text/html; charset=")
	f.Add([]byte("\xff\xfea"), "")
	f.Add([]byte("\x1b$B%F%9"), "text/html; charset=iso-2022-jp")
	f.Fuzz(func(t *testing.T, body []byte, contentType string) {
		got := Decode(body, Options{ContentType: contentType, HTML: true, MinConfidence: 10, Default: "windows-1252"})
		if !utf8.Valid(got.Text) || !Known(got.Charset) {
			t.Errorf("%s: %q", got.Charset, got.Text)
		}
	})
}
