package parsefilterregex_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gonutch/crawler/plugins/internal/libtest"
	regex "github.com/gonutch/crawler/plugins/parsefilter-regex"
	"github.com/gonutch/crawler/sdk/extension/parsefilter"
	"github.com/gonutch/crawler/sdk/model"
	"github.com/gonutch/crawler/sdk/plugintest"
)

// Format and meaning: nutch.md 2.5 and 4, regex-parsefilter.txt.
func TestFilterParse(t *testing.T) {
	const page = `<p class="price">5 EUR</p><p>Stra&szlig;e für alle</p>`
	for _, c := range []struct {
		rules string
		want  model.Metadata
	}{
		{"priced\thtml\tclass=\"price\"", model.Metadata{"priced": {"true"}}},
		{"priced\ttext\tclass=\"price\"", model.Metadata{"priced": {"false"}}},
		{"street\ttext\tStraße", model.Metadata{"street": {"true"}}},
		{"u\thtml\tfür", model.Metadata{"u": {"true"}}},
		{"x text 5 EUR", model.Metadata{"x": {"true"}}},
		{"x\ttext\t^EUR", model.Metadata{"x": {"false"}}},
		{"x\ttext\t(?i)eur", model.Metadata{"x": {"true"}}},
		{"x\ttext\t(l)\\1", model.Metadata{"x": {"true"}}},
		{"x\ttext\tEUR(?! S)", model.Metadata{"x": {"true"}}},
		{"x\ttext\tno\nx\ttext\tEUR\nx\ttext\tnever", model.Metadata{"x": {"true"}}},
		{"# comment\n\na\ttext\t5\nb\thtml\tno", model.Metadata{"a": {"true"}, "b": {"false"}}},
		{"slow\ttext\t^(?=(.+)+$)(.+)+!$", nil},
		{"", nil},
	} {
		file := filepath.Join(t.TempDir(), "rules.txt")
		if err := os.WriteFile(file, []byte(c.rules), 0o600); err != nil {
			t.Fatal(err)
		}
		text := page
		if strings.HasPrefix(c.rules, "slow") {
			text = "<p>" + strings.Repeat("a", 5000)
		}
		for _, own := range []string{
			`{"time_limit": "5ms", "file": ` + strconv.Quote(file) + `}`,
			`{"time_limit": "5ms", "rules": [` + strconv.Quote(c.rules) + `]}`,
		} {
			p := libtest.FilterPage(t, regex.Plugin(), own, "http://a/", text)
			if d := cmp.Diff(c.want, p.SetMeta); d != "" {
				t.Errorf("%s (-want +got):\n%s", own, d)
			}
		}
	}
}

func TestMistakes(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rules.txt")
	if err := os.WriteFile(file, []byte("a\ttext\tx\nb\tbody\tx\nc\ttext\nd\thtml\t(\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := libtest.New(t, regex.Plugin(), `{"file": `+strconv.Quote(file)+`}`)
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		file + `:2: "body": a rule looks at html or text`,
		file + `:3: want a name, html or text, and a regular expression, separated by tabs`,
		file + `:4: regular expression "(": `,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("got %v\nwant %s", err, want)
		}
	}
}

func TestWithoutContent(t *testing.T) {
	p, err := libtest.Must(t, regex.Plugin(), `{"rules": ["a html x"]}`).ParseFilter.FilterParse(t.Context(), &parsefilter.Input{})
	if err != nil || p.SetMeta.First("a") != "false" {
		t.Errorf("got %v, %v", p, err)
	}
}

func TestConformance(t *testing.T) {
	plugintest.Run(t, regex.Plugin(), plugintest.Options{Settings: `{"rules": ["a html x", "b text (?!y)z"]}`})
}
