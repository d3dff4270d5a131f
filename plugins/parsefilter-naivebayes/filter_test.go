package parsefilternaivebayes_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gonutch/crawler/plugins/internal/libtest"
	naivebayes "github.com/gonutch/crawler/plugins/parsefilter-naivebayes"
	"github.com/gonutch/crawler/sdk/extension/parsefilter"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/model"
)

const (
	training = `"1\tcats purr and meow, a cat sleeps", "1\tThe kitten and its cat mother purr", "0\tstocks fell as banks sold bonds", "0\tthe bank raised rates on bonds"`
	own      = `{"training": [` + training + `], "words": ["Cat", "pets"]}`
)

// The rules are Nutch's: nutch.md 2.5, parsefilter-naivebayes, and the files' form
// nutch.md 4.
func TestFilterParse(t *testing.T) {
	for _, c := range []struct{ name, own, page, relevant, links string }{
		{"relevant", own, `a CAT and a kitten purr <a href=/x>x</a>`, "true", "http://a.example/x"},
		{"irrelevant", own, `banks and bonds and stocks <a href=/x>x</a>`, "false", ""},
		{"a word saves a link", own, `bonds fell <a href=/CATS>x</a><a href=/y>y</a><a href=http://pets.example/>z</a>`, "false", "http://a.example/CATS http://pets.example/"},
		{"unknown words are a tie", own, `zebra <a href=/x>x</a>`, "true", "http://a.example/x"},
		{"no text", own, `<a href=/x></a>`, "true", "http://a.example/x"},
		{"no links", own, `banks sold bonds`, "false", ""},
		{"nothing learned", `{}`, `banks sold bonds <a href=/x>x</a>`, "", "http://a.example/x"},
		{"prior", `{"training": ["0\ta", "0\ta", "0\ta", "1\ta"]}`, `zebra <a href=/x>x</a>`, "false", ""},
		{"likelihood beats prior", `{"training": ["0\tx", "0\tx", "0\tx", "1\ty y y y"]}`, `y y y <a href=/x>l</a>`, "true", "http://a.example/x"},
		{"letters of any language", `{"training": ["1\tкошка мяукает", "0\tбанк"]}`, `Кошка! <a href=/x>x</a>`, "true", "http://a.example/x"},
	} {
		in := libtest.Page(t, naivebayes.Plugin(), c.own, "http://a.example/", c.page)
		links := in.Parse.Outlinks
		patch, err := libtest.Must(t, naivebayes.Plugin(), c.own).ParseFilter.FilterParse(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		relevant := ""
		if patch != nil {
			relevant = patch.SetMeta.First("naivebayes.relevant")
			if patch.ReplaceLinks {
				links = patch.Outlinks
			}
		}
		var got []string
		for _, l := range links {
			got = append(got, l.URL)
		}
		if relevant != c.relevant || strings.Join(got, " ") != c.links {
			t.Errorf("%s: relevant %q, links %v", c.name, relevant, got)
		}
	}
}

func TestFiles(t *testing.T) {
	dir := t.TempDir()
	train, words := filepath.Join(dir, "naivebayes-train.txt"), filepath.Join(dir, "naivebayes-wordlist.txt")
	for name, text := range map[string]string{train: "# comment\n1\tcats purr\r\n0\tbanks sold bonds\n\n", words: "keep\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	conf := `{"train_file": "` + train + `", "wordlist": "` + words + `"}`
	p := libtest.FilterPage(t, naivebayes.Plugin(), conf, "http://a.example/", `bonds <a href=/x>x</a><a href=/keep>y</a>`)
	if len(p.Outlinks) != 1 || p.Outlinks[0].URL != "http://a.example/keep" || p.SetMeta.First("outlinks.dropped.irrelevant") != "1" {
		t.Errorf("%+v", p)
	}
}

func TestMistakes(t *testing.T) {
	for own, want := range map[string]string{
		`{"training": ["cats", "2\tx", "1\t", "x\ty"]}`: "training[0]: want 1 (relevant) or 0 (irrelevant), a tab and a text",
		`{"training": ["1\tcats"]}`:                     "there are 1 relevant and 0 irrelevant texts to learn from",
		`{"train_file": "/no/such/file"}`:               "/no/such/file",
	} {
		if _, err := libtest.New(t, naivebayes.Plugin(), own); !fault.Is(err, fault.Invalid) && !strings.Contains(own, "no/such") || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", own, err)
		}
	}
}

func FuzzFilterParse(f *testing.F) {
	f.Add("cats purr", "http://a.example/")
	p := libtest.Must(f, naivebayes.Plugin(), own).ParseFilter
	f.Fuzz(func(t *testing.T, text, url string) {
		if _, err := p.FilterParse(t.Context(), &parsefilter.Input{Parse: model.Parse{Text: text, Outlinks: []model.Outlink{{URL: url}}}}); err != nil {
			t.Fatal(err)
		}
	})
}

func BenchmarkFilterParse(b *testing.B) {
	p := libtest.Must(b, naivebayes.Plugin(), own).ParseFilter
	in := &parsefilter.Input{Parse: model.Parse{Text: strings.Repeat("The bank sold a cat and some bonds to the kitten. ", 100)}}
	b.SetBytes(int64(len(in.Parse.Text)))
	for b.Loop() {
		if _, err := p.FilterParse(b.Context(), in); err != nil {
			b.Fatal(err)
		}
	}
}
