package liblist

import (
	"bytes"
	"net/url"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// links returns the targets and texts of a page's links.
func links(t *testing.T, page []byte) (hrefs, texts []string) {
	t.Helper()
	z := html.NewTokenizer(bytes.NewReader(page))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return hrefs, texts
		case html.StartTagToken:
			tok := z.Token()
			if tok.Data == "a" {
				hrefs = append(hrefs, tok.Attr[0].Val)
				z.Next()
				texts = append(texts, z.Token().Data)
			}
		}
	}
}

func TestPage(t *testing.T) {
	names := []string{"a b", "<script>", `"x"`, "..x", "a:b", "?q#f", "100%", "\xff", "sub/", "é"}
	body, cut := Page("/f<o>/", true, names, 1<<20)
	hrefs, texts := links(t, body)
	if cut || len(hrefs) != len(names)+1 || hrefs[0] != "../" || !bytes.Contains(body, []byte("<title>Index of /f&lt;o&gt;/</title>")) {
		t.Fatalf("%q, cut %t: %s", hrefs, cut, body)
	}
	base, _ := url.Parse("ftp://h/f/")
	for i, n := range names {
		u, err := base.Parse(hrefs[i+1])
		if err != nil || u.Path != "/f/"+n || texts[i+1] != strings.ToValidUTF8(n, "\uFFFD") {
			t.Errorf("%q: link %q, text %q, %v", n, hrefs[i+1], texts[i+1], err)
		}
	}
	whole := int64(len(body))
	for limit := range whole {
		b, cut := Page("/f<o>/", true, names, limit)
		if !cut || int64(len(b)) > limit {
			t.Fatalf("limit %d: %d bytes, cut %t", limit, len(b), cut)
		}
	}
	if _, cut := Page("/f<o>/", true, names, whole); cut {
		t.Error("cut at just enough")
	}
}
