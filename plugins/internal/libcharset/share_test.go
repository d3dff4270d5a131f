package libcharset

import (
	"fmt"
	"strings"
	"testing"
	"text/tabwriter"

	"golang.org/x/text/encoding/htmlindex"
)

// encodings20 are twenty encodings of the web, each with languages written in it
// whose translations of one text Debian ships (or that samples has).
func encodings20() [][2]string {
	return [][2]string{
		{"utf-8", "ru"},
		{"utf-16le", "ru"},
		{"utf-16be", "ja"},
		{"windows-1252", "fr"},
		{"windows-1252", "en"},
		{"iso-8859-15", "fr"},
		{"windows-1250", "pl"},
		{"iso-8859-2", "pl"},
		{"windows-1251", "ru"},
		{"koi8-r", "ru"},
		{"iso-8859-5", "ru"},
		{"windows-1253", "el"},
		{"iso-8859-7", "el"},
		{"windows-1255", "he"},
		{"windows-1256", "ar"},
		{"shift_jis", "ja"},
		{"euc-jp", "ja"},
		{"iso-2022-jp", "ja"},
		{"euc-kr", "ko"},
		{"gb18030", "zh"},
		{"big5", "tw"},
	}
}

// pagesOf returns pages in a language: its sample as a page, a short one and one
// with much markup.
func pagesOf(lang string) []string {
	name := map[string]string{
		"ru": "russian", "ja": "japanese", "fr": "french", "pl": "polish", "el": "greek", "he": "hebrew", "ar": "arabic",
		"ko": "korean", "en": "english", "zh": "chinese", "tw": "taiwan",
	}[lang]
	text := samples()[name]
	words := strings.FieldsFunc(text, func(c rune) bool { return c == ',' || c == '.' || c == '、' || c == '。' || c == '，' })
	var menu strings.Builder
	for i, w := range words {
		fmt.Fprintf(&menu, "<li class=\"menu-item item-%d\"><a href=\"/section/%d/index.html\" title=\"x\">%s</a></li>\n", i, i, w)
	}
	half := []rune(text)
	return []string{
		"<title>" + words[0] + "</title><p>" + text + "</p>",
		"<p>" + string(half[:len(half)/2]) + "</p>",
		"<style>p { color: red }</style><script>var a = 'b';</script><ul>" + menu.String() + "</ul><p>" + text + "</p>",
		"<p>" + text + "</p>\n<p>" + text + " Copyright 2026 Example Inc. All rights reserved.</p>",
	}
}

// TestShareRight measures how many pages in twenty encodings get their text
// back, by what tells the encoding, and logs a table.
func TestShareRight(t *testing.T) {
	ways := []string{"header", "meta", "http-equiv", "unknown header", "none"}
	right, tried := map[string]int{}, map[string]int{}
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "encoding\t"+strings.Join(ways, "\t"))
	for _, e := range encodings20() {
		row := make([]string, 0, len(ways))
		for _, way := range ways {
			good, all := 0, 0
			for _, page := range pagesOf(e[1]) {
				body, contentType, ok := dressed(t, e[0], way, page)
				if !ok {
					continue
				}
				got := Decode(body, Options{ContentType: contentType, HTML: true, MinConfidence: 30, Default: "windows-1252"})
				all++
				if strings.Contains(string(got.Text), page) {
					good++
				}
			}
			right[way] += good
			tried[way] += all
			if all == 0 {
				row = append(row, "-")
				continue
			}
			row = append(row, fmt.Sprintf("%d/%d", good, all))
		}
		fmt.Fprintln(w, e[0]+"\t"+strings.Join(row, "\t"))
	}
	total := make([]string, 0, len(ways))
	for _, way := range ways {
		total = append(total, fmt.Sprintf("%.0f %%", 100*float64(right[way])/float64(tried[way])))
	}
	fmt.Fprintln(w, "share right\t"+strings.Join(total, "\t"))
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	t.Log("\n" + table.String())
	for _, way := range ways {
		least := 1.0
		if way == "none" || way == "unknown header" {
			least = 0.95 // guesses from some hundred letters
		}
		if share := float64(right[way]) / float64(tried[way]); share < least {
			t.Errorf("%s: %.3f right, want %.2f", way, share, least)
		}
	}
}

// dressed encodes a page with what tells its encoding; ok is false for what can't be.
func dressed(t *testing.T, charset, way, page string) (body []byte, contentType string, ok bool) {
	t.Helper()
	head := ""
	wide := strings.HasPrefix(charset, "utf-16")
	switch way {
	case "header":
		contentType = "text/html; charset=" + charset
	case "unknown header":
		contentType = "text/html; charset=klingon" // unknown names are passed over
	case "meta":
		head = `<meta charset="` + charset + `">`
	case "http-equiv":
		head = `<meta http-equiv="Content-Type" content="text/html; charset=` + charset + `">`
	}
	if wide && head != "" {
		return nil, "", false // such a declaration can't be read before the encoding is known
	}
	enc, err := htmlindex.Get(charset)
	if err != nil {
		t.Fatal(err)
	}
	out, err := enc.NewEncoder().Bytes([]byte("<!DOCTYPE html><html><head>" + head + "</head><body>" + page + "</body></html>"))
	if err != nil {
		t.Fatalf("%s can't carry the page: %v", charset, err)
	}
	return out, contentType, true
}
