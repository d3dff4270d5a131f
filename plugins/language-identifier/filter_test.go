package languageidentifier_test

import (
	"os"
	"strings"
	"testing"

	"github.com/gonutch/crawler/plugins/internal/libtest"
	languageidentifier "github.com/gonutch/crawler/plugins/language-identifier"
	"github.com/gonutch/crawler/sdk/extension/indexingfilter"
	"github.com/gonutch/crawler/sdk/extension/parsefilter"
	"github.com/gonutch/crawler/sdk/model"
)

const (
	german  = "<p>Das Museum ist jeden Tag außer Montag geöffnet und Besucher können Karten am Eingang kaufen."
	english = "<p>The museum is open every day except Monday and visitors can buy tickets at the entrance."
)

// Nutch's rule: nutch.md 2.5, language-identifier.
func TestFilterParse(t *testing.T) {
	for _, c := range []struct{ name, own, page, want string }{
		{"html element before text", ``, "<html lang=en>" + german, "en"},
		{"region is cut", ``, "<html lang=pt-BR>", "pt"},
		{"underscore", ``, "<html lang=en_US>", "en"},
		{"three letters", ``, "<html lang=deu>", "de"},
		{"a name", ``, "<html lang=English>", "en"},
		{"several", ``, "<html><meta http-equiv=content-language content='fr, en'>", "fr"},
		{"Dublin Core", ``, "<html><meta name=DC.Language content=it>", "it"},
		{"html element before Dublin Core", ``, "<html lang=es><meta name=DC.Language content=it>", "es"},
		{"nonsense is passed over", ``, "<html lang='x-default'>" + german, "de"},
		{"undetermined is passed over", ``, "<html lang=und>" + german, "de"},
		{"odd words after the language", ``, "<html lang='en-the queen''s english'>", "en"},
		{"text", ``, "<html>" + german, "de"},
		{"text first", `{"extraction_policy": ["identify", "detect"]}`, "<html lang=en>" + german, "de"},
		{"only what is said", `{"extraction_policy": ["detect"]}`, "<html>" + german, ""},
		{"too little text", ``, "<html><p>Hallo du", ""},
		{"only letters count", ``, "<html><p>1234567890 1234567890 1234567890", ""},
		{"only so many characters", `{"max_length": 80}`, "<html>" + german + strings.Repeat(english, 9), "de"},
		{"all characters", `{"max_length": -1}`, "<html>" + german + strings.Repeat(english, 9), "en"},
		{"short Russian is no Bulgarian", ``, "<p>Выставка закрыта до четверга.", "ru"},
		{"unless that is all there is", `{"candidates": ["bg"]}`, "<p>Выставка закрыта до четверга.", "bg"},
		{"Bulgarian with a foreign name", ``, "<p>Музеят е отворен всеки ден освен понеделник и посетителите могат да купят билети на входа. Художникът Крымов е роден в Москва и е живял там през целия си живот, както пише в каталога на изложбата.", "bg"},
		{"candidates", `{"candidates": ["en", "fr"]}`, "<html>" + english, "en"},
		{"no page", ``, "", ""},
	} {
		p := libtest.FilterPage(t, languageidentifier.Plugin(), c.own, "http://a/", c.page)
		if got := p.SetMeta.First("language"); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

// TestSentences: one sentence is enough for most languages.
func TestSentences(t *testing.T) {
	b, err := os.ReadFile("testdata/sentences.txt")
	if err != nil {
		t.Fatal(err)
	}
	certain, all := libtest.Must(t, languageidentifier.Plugin(), `{"only_certain": true}`).ParseFilter, libtest.Must(t, languageidentifier.Plugin(), "").ParseFilter
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	wrong := 0
	for _, line := range lines {
		want, text, _ := strings.Cut(line, " ")
		in := &parsefilter.Input{Parse: model.Parse{Text: text}}
		p, err := all.FilterParse(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		if p == nil || p.SetMeta.First("language") != want {
			wrong++
		}
		if p, err = certain.FilterParse(t.Context(), in); err != nil || p != nil && p.SetMeta.First("language") != want {
			t.Errorf("certain of a wrong language for %s: %v, %v", line, p, err)
		}
	}
	if wrong > 1 {
		t.Errorf("%d of %d sentences wrong", wrong, len(lines))
	}
}

func TestFilterDocument(t *testing.T) {
	doc := func(lang, header string) *indexingfilter.Input {
		in := &indexingfilter.Input{Headers: model.Metadata{"Content-Language": {header}}}
		if lang != "" {
			in.Parse.ParseMeta = model.Metadata{"language": {lang}}
		}
		return in
	}
	for _, c := range []struct{ own, lang, header, field, drop string }{
		{``, "de", "", "de", ""},
		{``, "", "fr-CA", "fr", ""},
		{``, "", "", "unknown", ""},
		{`{"index_languages": ["EN", "German"]}`, "de", "", "de", ""},
		{`{"index_languages": ["en", "de"]}`, "fr", "", "", "language fr is not in index_languages"},
		{`{"index_languages": ["en"]}`, "", "", "", "language unknown is not in index_languages"},
		{`{"index_languages": ["en", "unknown"]}`, "", "", "unknown", ""},
	} {
		p := libtest.FilterDocument(t, languageidentifier.Plugin(), c.own, doc(c.lang, c.header))
		if got := strings.Join(p.Set["lang"], "|"); got != c.field || p.Drop != c.drop {
			t.Errorf("%s %q %q: got %q, %q", c.own, c.lang, c.header, got, p.Drop)
		}
	}
	for own, want := range map[string]string{
		`{"candidates": ["klingon"]}`:       `candidates: "klingon" is no language that identify knows`,
		`{"index_languages": ["nonsense"]}`: `index_languages: "nonsense" is no language`,
	} {
		if _, err := libtest.New(t, languageidentifier.Plugin(), own); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", own, err)
		}
	}
}

func FuzzLanguage(f *testing.F) {
	f.Add("en-US", "Some text of a page that is long enough.")
	f.Add("\xff,", "\xff\x00 日本")
	p := libtest.Must(f, languageidentifier.Plugin(), `{"min_length": 0}`).ParseFilter
	f.Fuzz(func(t *testing.T, tag, text string) {
		patch, err := p.FilterParse(t.Context(), &parsefilter.Input{Parse: model.Parse{Language: tag, Text: text}})
		if err != nil || patch != nil && len(patch.SetMeta.First("language")) < 2 {
			t.Errorf("%q %q: %v, %v", tag, text, patch, err)
		}
	})
}

func BenchmarkIdentify(b *testing.B) {
	p := libtest.Must(b, languageidentifier.Plugin(), "").ParseFilter
	in := &parsefilter.Input{Parse: model.Parse{Text: strings.Repeat("The museum is open every day except Monday. ", 100)}}
	for b.Loop() {
		if _, err := p.FilterParse(b.Context(), in); err != nil {
			b.Fatal(err)
		}
	}
}
