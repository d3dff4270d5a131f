package mimetypefilter_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/gonutch/crawler/plugins/internal/libtest"
	mimetypefilter "github.com/gonutch/crawler/plugins/mimetype-filter"
	"github.com/gonutch/crawler/sdk/extension/indexingfilter"
	"github.com/gonutch/crawler/sdk/model"
)

// Format and meaning: nutch.md 2.7 and 4, mimetype-filter.txt.
func TestFilterDocument(t *testing.T) {
	for _, c := range []struct {
		rules, detected, header string
		keep                    bool
	}{
		{"", "text/html", "", true},
		{"", "", "", true},
		{"-\ntext/html", "text/html", "", true},
		{"-\ntext/html", "", "Text/HTML; charset=utf-8", true},
		{"-\ntext/html", "application/pdf", "text/html", false},
		{"-\ntext/html", "", "", false},
		{"-\n# comment\n\ntext/\nimage/", "image/png", "", true},
		{"-\nTEXT/", "text/plain", "", true},
		{"-", "text/html", "", false},
		{"+\nimage/", "image/png", "", false},
		{"+\nimage/", "text/html", "", true},
		{"+\nimage/", "", "", true},
		{"+", "text/html", "", true},
		{"+\r\nimage/\r\n", "image/png", "", false},
	} {
		file := filepath.Join(t.TempDir(), "mimetype-filter.txt")
		if err := os.WriteFile(file, []byte(c.rules), 0o600); err != nil {
			t.Fatal(err)
		}
		in := &indexingfilter.Input{Parse: model.Parse{ContentMeta: model.Metadata{"Content-Type": {c.detected}}}, Headers: model.Metadata{"Content-Type": {c.header}}}
		for _, own := range []string{`{"file": ` + strconv.Quote(file) + `}`, `{"rules": [` + strconv.Quote(c.rules) + `]}`} {
			if p := libtest.FilterDocument(t, mimetypefilter.Plugin(), own, in); (p.Drop == "") != c.keep {
				t.Errorf("%s %q %q: drop %q", own, c.detected, c.header, p.Drop)
			}
		}
	}
	for own, want := range map[string]string{
		`{"rules": ["text/html"]}`:     `rules[0]: want a line with +`,
		`{"rules": ["-", "x/y", "+"]}`: `rules[2]: the mode was set before, at rules[0]`,
		`{"file": "no/such/file"}`:     `read rule file: open no/such/file`,
	} {
		if _, err := libtest.New(t, mimetypefilter.Plugin(), own); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", own, err)
		}
	}
}
