package parsetext

import (
	"path/filepath"
	"testing"

	"github.com/gonutch/crawler/plugins/internal/libtest"
)

// TestRealDocuments reads licences that every Debian has, and descriptions of Go modules.
func TestRealDocuments(t *testing.T) {
	const dir = "/usr/share/common-licenses/"
	var docs []libtest.Real
	for _, d := range [][4]string{
		{"Apache-2.0", "Apache License", "TERMS AND CONDITIONS FOR USE, REPRODUCTION, AND DISTRIBUTION", "http://www.apache.org/licenses/LICENSE-2.0"},
		{"Artistic", "The \"Artistic License\"", "The intent of this document is to state the conditions", ""},
		{"BSD", "Copyright (c) The Regents of the University of California.", "Redistribution and use in source and binary forms", ""},
		{"CC0-1.0", "Creative Commons Legal Code", "CREATIVE COMMONS CORPORATION IS NOT A LAW FIRM", ""},
		{"GFDL-1.3", "GNU Free Documentation License", "to make a manual, textbook, or other functional and useful document", "https://fsf.org/"},
		{"GPL-1", "GNU GENERAL PUBLIC LICENSE", "The license agreements of most software companies", ""},
		{"GPL-2", "GNU GENERAL PUBLIC LICENSE", "When we speak of free software, we are referring to freedom, not price.", ""},
		{"GPL-3", "GNU GENERAL PUBLIC LICENSE", "The precise terms and conditions for copying, distribution and modification follow.", "https://www.gnu.org/licenses/"},
		{"LGPL-2.1", "GNU LESSER GENERAL PUBLIC LICENSE", "When we speak of free software, we are referring to freedom of use, not price.", ""},
		{"MPL-2.0", "Mozilla Public License Version 2.0", "means Covered Software of a particular Contributor", "http://mozilla.org/MPL/2.0/"},
	} {
		docs = append(docs, libtest.Real{Format: "text", Path: dir + d[0], Type: "text/plain", Title: d[1], Sentence: d[2], Link: d[3]})
	}
	for module, d := range map[string][3]string{
		"github.com/mmcdole/gofeed":       {"gofeed", "gofeed includes native support for parsing certain well-known extensions", "https://github.com/mmcdole/gofeed/actions/workflows/ci.yml"},
		"github.com/andybalholm/cascadia": {"cascadia", "The Cascadia package implements CSS selectors for use with the parse trees", "https://github.com/suntong/cascadia"},
		"github.com/google/go-cmp":        {"Package for equality of Go values", "This package is intended to be a more powerful and safer alternative to", "https://github.com/google/go-cmp/actions"},
		"github.com/tetratelabs/wazero":   {"wazero: the zero dependency WebAssembly runtime for Go developers", "WebAssembly is a way to safely run code compiled in other languages.", "https://pkg.go.dev/github.com/tetratelabs/wazero"},
		"github.com/chromedp/chromedp":    {"About chromedp", "drives browsers that speak the", ""},
		"github.com/hashicorp/go-hclog":   {"go-hclog", "It provides logging levels that provide decreased output based upon the", ""},
		"github.com/klauspost/compress":   {"compress", "This package provides various compression algorithms.", "https://github.com/klauspost/compress/tree/master/s2#s2-compression"},
		"github.com/maxmind/mmdbwriter":   {"Go MaxMind DB Writer", "This is still a work in progress and does not support all of the features", "https://pkg.go.dev/github.com/maxmind/mmdbwriter"},
		"github.com/cespare/xxhash/v2":    {"xxhash", "This package provides a straightforward API:", "https://pkg.go.dev/github.com/cespare/xxhash/v2"},
		"github.com/dlclark/regexp2":      {"regexp2 - full featured regular expressions for Go", "Regexp2 is a feature-rich RegExp engine for Go.", ""},
	} {
		docs = append(docs, libtest.Real{Format: "markdown", Path: filepath.Join(libtest.ModuleDir(t, module), "README.md"), Type: "text/markdown", Title: d[0], Sentence: d[1], Link: d[2]})
	}
	libtest.RealDocuments(t, libtest.Must(t, Plugin(), "").Parser, docs, 10)
}
