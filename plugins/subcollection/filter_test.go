package subcollection_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gonutch/crawler/plugins/internal/libtest"
	"github.com/gonutch/crawler/plugins/subcollection"
	"github.com/gonutch/crawler/sdk/extension/indexingfilter"
	"github.com/gonutch/crawler/sdk/model"
)

// Format and meaning: nutch.md 2.7 and 4, subcollections.xml.
func TestFilterDocument(t *testing.T) {
	const file = `{"config": "testdata/subcollections.xml"`
	both := map[string][]string{"subcollection": {"docs"}, "company": {"Ex & Co"}}
	for _, c := range []struct {
		own, url string
		meta     model.Metadata
		want     map[string][]string
	}{
		{file + `}`, "http://www.example.org/docs/a", nil, both},
		{file + `}`, "http://www.example.org/docs/old/a", nil, map[string][]string{"company": {"Ex & Co"}}},
		{file + `}`, "http://other.example/Manual/", nil, map[string][]string{"subcollection": {"docs"}}},
		{file + `}`, "http://other.example/manual/", nil, nil},
		{file + `, "case_insensitive": true}`, "http://OTHER.example/manual/", nil, map[string][]string{"subcollection": {"docs"}}},
		{file + `, "case_insensitive": true}`, "http://other.example/manual/OLD/", nil, nil},
		{file + `, "default_fieldname": "set"}`, "http://other.example/Manual/", nil, map[string][]string{"set": {"docs"}}},
		{file + `}`, "http://www.example.org/docs/a", model.Metadata{"subcollection": {"a", "b"}}, map[string][]string{"subcollection": {"a", "b"}}},
		{file + `, "metadata_source": "set"}`, "http://x/", model.Metadata{"set": {"a"}}, map[string][]string{"subcollection": {"a"}}},
		{file + `, "metadata_source": ""}`, "http://x/", model.Metadata{"": {"a"}}, nil},
		{`{"whitelist": {"a": "/x/ /y/", "b": "example"}, "blacklist": {"b": "/y/"}}`, "http://example/y/", nil, map[string][]string{"subcollection": {"a"}}},
		{`{"whitelist": {"a": "/x/ /y/", "b": "example"}, "blacklist": {"b": "/y/"}}`, "http://example/x/", nil, map[string][]string{"subcollection": {"a", "b"}}},
		{``, "http://example/x/", nil, nil},
	} {
		in := &indexingfilter.Input{URL: c.url, Datum: model.CrawlDatum{Metadata: c.meta}}
		if d := cmp.Diff(c.want, libtest.FilterDocument(t, subcollection.Plugin(), c.own, in).Add); d != "" {
			t.Errorf("%s %s (-want +got):\n%s", c.own, c.url, d)
		}
	}
}

func TestMistakes(t *testing.T) {
	for src, want := range map[string]string{
		"<subcollections>\n<subcollection>\n<whitelist>x</whitelist></subcollection></subcollections>":                 ":2: the subcollection has no name",
		"<subcollections>\n<subcollection><name>a</name></subcollection></subcollections>":                             `:2: subcollection "a" has no whitelist, so no URL is in it`,
		"<subcollections>\n\n<name>a</name></subcollections>":                                                          ":3: name stands outside of subcollection",
		"<subcollections>\n<subcollection><name>a</name><white>x</white><whitelist/></subcollection></subcollections>": ":2: element white is not known",
		"<subcollections>\n<subcollection>":                                                                            ":2: XML syntax error",
	} {
		file := filepath.Join(t.TempDir(), "s.xml")
		if err := os.WriteFile(file, []byte(src), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := libtest.New(t, subcollection.Plugin(), `{"config": `+strconv.Quote(file)+`}`)
		if err == nil || !strings.Contains(err.Error(), file+want) {
			t.Errorf("%s: got %v, want %s", src, err, want)
		}
	}
	for own, want := range map[string]string{
		`{"blacklist": {"a": "x"}}`:  `blacklist: there is no collection "a" in whitelist`,
		`{"default_fieldname": ""}`:  "default_fieldname must not be empty",
		`{"config": "no/such/file"}`: "read rule file",
	} {
		if _, err := libtest.New(t, subcollection.Plugin(), own); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", own, err)
		}
	}
}
