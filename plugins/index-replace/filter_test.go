package indexreplace_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	indexreplace "github.com/gonutch/crawler/plugins/index-replace"
	"github.com/gonutch/crawler/plugins/internal/libtest"
	"github.com/gonutch/crawler/sdk/extension/indexingfilter"
	"github.com/gonutch/crawler/sdk/model"
)

func settings(t *testing.T, rules string) string {
	t.Helper()
	b, err := json.Marshal(map[string]string{"regexp": rules, "time_limit": "5ms"})
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Form and meaning: nutch.md 2.7, index-replace.
func TestFilterDocument(t *testing.T) {
	in := &indexingfilter.Input{URL: "http://www.Example.org/a/b", Doc: model.Document{Fields: map[string][]string{
		"title": {"My Site - News"}, "tag": {"One", "two"}, "path": {"a/b"}, "long": {strings.Repeat("a", 3000)},
	}}}
	type fields = map[string][]string
	for _, c := range []struct {
		name, rules string
		set         fields
		remove      []string
	}{
		{"replace", "title=/My Site - //", fields{"title": {"News"}}, nil},
		{"groups", "title=/(\\w+) - (\\w+)/$2: ${1}/", fields{"title": {"My News: Site"}}, nil},
		{"every match", "title=/s/z/2", fields{"title": {"My zite - Newz"}}, nil},
		{"case counts", "title=/SITE/x/", nil, nil},
		{"flag: ignore case", "title=/SITE/x/2", fields{"title": {"My x - News"}}, nil},
		{"flag: plain text", "title=/e - N/./16", fields{"title": {"My Sit.ews"}}, nil},
		{"flag: plain text, any case", "title=/E - n/./18", fields{"title": {"My Sit.ews"}}, nil},
		{"flag: comments, on the other engine", "title=/Site # x/y/4", fields{"title": {"My y - News"}}, nil},
		{"escaped dollar", "title=/News/\\$1/", fields{"title": {"My Site - $1"}}, nil},
		{"other delimiter", "path=#/#:#", fields{"path": {"a:b"}}, nil},
		{"other delimiter, two bytes", "path=§/§:§", fields{"path": {"a:b"}}, nil},
		{"other values stay", "tag=/One/1/", fields{"tag": {"1", "two"}}, nil},
		{"target", "title:section=/^.* - //", fields{"section": {"News"}}, nil},
		{"target gets only what is found", "tag:num=/One/1/", fields{"num": {"1"}}, nil},
		{"target stays without a match", "title:path=/nothing/x/", nil, nil},
		{"blank values go", "tag=/One/ /", fields{"tag": {"two"}}, nil},
		{"empty field goes", "tag=/.*//", fields{}, []string{"tag"}},
		{"one after another", "title=/My/Our/\ntitle=/Our Site/X/\ntitle:first=/^(\\w).*/$1/", fields{"title": {"X - News"}, "first": {"X"}}, nil},
		{"host", "hostmatch=^www\\.example\\.org$\ntitle=/My/Our/", fields{"title": {"Our Site - News"}}, nil},
		{"other host", "hostmatch=example\\.com$\ntitle=/My/Our/", nil, nil},
		{"url", "urlmatch=/a/\ntitle=/My/Our/", fields{"title": {"Our Site - News"}}, nil},
		{"other url", "urlmatch=/c/\ntitle=/My/Our/", nil, nil},
		{"a section ends the one before", "hostmatch=nowhere\ntitle=/My/Our/\nurlmatch=/a/\ntag=/One/1/", fields{"tag": {"1", "two"}}, nil},
		{"comments and empty lines", "# x\n\n  # y\n title = /My/Our/ ", fields{"title": {"Our Site - News"}}, nil},
		{"= in the expression", "title=/My=?/Our=/", fields{"title": {"Our= Site - News"}}, nil},
		{"look-ahead", "title=/Site(?= - N)/X/", fields{"title": {"My X - News"}}, nil},
		{"time limit", "long=/^(?=(a+)+$)(a+)+!/x/", nil, nil},
		{"missing field", "nothing=/a/b/", nil, nil},
		{"no rules", "", nil, nil},
	} {
		p := libtest.FilterDocument(t, indexreplace.Plugin(), settings(t, c.rules), in)
		if d := cmp.Diff(c.set, p.Set); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, d)
		}
		if d := cmp.Diff(c.remove, p.Remove); d != "" {
			t.Errorf("%s: removed (-want +got):\n%s", c.name, d)
		}
	}
}

func TestMistakes(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rules.txt")
	text := "title=/My/Our/\ntitle\n:x=/a/b/\ntitle=/a/b\ntitle=/a/b/c/d\ntitle=//x/\ntitle=/(/x/\ntitle=/a/b/z\ntitle=/a/b/128\nhostmatch=[\ntitle="
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := libtest.New(t, indexreplace.Plugin(), `{"file": `+strconv.Quote(file)+`}`)
	if err == nil {
		t.Fatal("no error")
	}
	got := strings.Split(err.Error(), "\n")
	want := []string{
		`:2: want field=/regex/replacement/, hostmatch=regex or urlmatch=regex, not "title"`,
		`:3: ":x": a name is missing beside the colon`, `:4: "/a/b": want /regex/replacement/ and flags`, `:5: "/a/b/c/d": want`,
		`:6: "//x/": the regular expression is empty`, `:7: regular expression "(": `, `:8: flags "z": want a number`,
		`:9: flags 128: 128 is not supported`, `:10: regular expression "["`, `:11: want /regex/replacement/`,
	}
	i := 0
	for _, w := range want {
		for i < len(got) && !strings.Contains(got[i], file+w) {
			i++
		}
		if i == len(got) {
			t.Fatalf("want %s in\n%v", w, err)
		}
	}
}

func FuzzRules(f *testing.F) {
	f.Add("a=/b/$1/2", "xbx")
	f.Add("hostmatch=x\na:b=#(.)#\\$$1#", "\xff")
	f.Fuzz(func(t *testing.T, rules, value string) {
		b, err := json.Marshal(map[string]string{"regexp": rules, "time_limit": "1ms"})
		if err != nil {
			t.Skip()
		}
		ext, err := libtest.New(t, indexreplace.Plugin(), string(b))
		if err != nil {
			return
		}
		in := &indexingfilter.Input{Doc: model.Document{Fields: map[string][]string{"a": {value}}}}
		if _, err := ext.IndexingFilter.FilterDocument(t.Context(), in); err != nil {
			t.Error(err)
		}
	})
}
