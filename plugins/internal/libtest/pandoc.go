package libtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// PythonPages are pages of Debian's python3-doc that pandoc makes documents of.
func PythonPages() []Real {
	const title = " — Python 3.11.2 documentation"
	return []Real{
		{Path: "fnmatch", Title: "fnmatch — Unix filename pattern matching" + title, Sentence: "For a literal match, wrap the meta-characters in brackets.", Link: "https://github.com/python/cpython/tree/3.11/Lib/fnmatch.py"},
		{Path: "atexit", Title: "atexit — Exit handlers" + title, Sentence: "Register func as a function to be executed at termination.", Link: "https://www.python.org/psf/donations/"},
		{Path: "tomllib", Title: "tomllib — Parse TOML files" + title, Sentence: "The TOML Kit package is a style-preserving TOML library with both read and write capability.", Link: "https://toml.io/en/"},
		{Path: "netrc", Title: "netrc — netrc file processing" + title, Sentence: "Added the POSIX permission check.", Link: "https://github.com/python/cpython/tree/3.11/Lib/netrc.py"},
		{Path: "quopri", Title: "quopri — Encode and decode MIME quoted-printable data" + title, Sentence: "By default, it sends a False value to quotetabs parameter", Link: "https://datatracker.ietf.org/doc/html/rfc1521.html"},
		{Path: "linecache", Title: "linecache — Random access to text lines" + title, Sentence: "Use this function if you no longer need lines from files previously read using", Link: "https://peps.python.org/pep-0302/"},
		{Path: "colorsys", Title: "colorsys — Conversions between color systems" + title, Sentence: "Convert the color from YIQ coordinates to RGB coordinates.", Link: "https://poynton.ca/ColorFAQ.html"},
		{Path: "copy", Title: "copy — Shallow and deep copy operations" + title, Sentence: "The difference between shallow and deep copying is only relevant for compound objects", Link: "https://github.com/python/cpython/tree/3.11/Lib/copy.py"},
		{Path: "pwd", Title: "pwd — The password database" + title, Sentence: "Password database entries are reported as a tuple-like object", Link: "https://www.sphinx-doc.org/"},
		{Path: "getpass", Title: "getpass — Portable password input" + title, Sentence: "A UserWarning subclass issued when password input may be echoed.", Link: "https://www.python.org/"},
	}
}

// Converted makes a document of each page in each format, with pandoc, into a
// temporary folder. Pages and programs that are not there give no documents.
func Converted(t testing.TB, formats []string, pages []Real) []Real {
	t.Helper()
	pandoc, err := exec.LookPath("pandoc")
	if err != nil {
		t.Log("pandoc is not installed")
		return nil
	}
	dir := t.TempDir()
	slots := make(chan struct{}, 2)
	var wg sync.WaitGroup
	var docs []Real
	for _, format := range formats {
		for _, p := range pages {
			from := filepath.Join("/usr/share/doc/python3.11/html/library", p.Path+".html")
			p.Format, p.Path = format, filepath.Join(dir, p.Path+"."+format)
			docs = append(docs, p)
			if _, err := os.Stat(from); err != nil {
				continue // the document will be missing
			}
			wg.Go(func() {
				slots <- struct{}{}
				defer func() { <-slots }()
				if out, err := exec.Command(pandoc, "-f", "html", "-s", "-o", p.Path, from).CombinedOutput(); err != nil {
					t.Errorf("pandoc %s: %v: %s", from, err, out)
				}
			})
		}
	}
	wg.Wait()
	return docs
}
