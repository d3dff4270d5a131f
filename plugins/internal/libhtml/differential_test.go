package libhtml

import (
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gonutch/crawler/sdk/model"
)

// corpora are folders of real pages, from Debian packages that .ci/run
// installs.
func corpora() map[string]string {
	return map[string]string{
		"postgresql-doc-15":    "/usr/share/doc/postgresql-doc-15/html",
		"python3-doc":          "/usr/share/doc/python3.11/html",
		"git-doc":              "/usr/share/doc/git/html",
		"libboost1.81-doc":     "/usr/share/doc/libboost1.81-doc",
		"debian-reference-en":  "/usr/share/debian-reference",
		"developers-reference": "/usr/share/doc/developers-reference",
	}
}

// pages reads up to limit pages below dir, at most 1 MiB each; it skips t when
// the folder is not there.
func pages(t testing.TB, pkg, dir string, limit int) []page {
	t.Helper()
	var out []page
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Skipf("Debian package %s is not installed", pkg)
	}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || len(out) >= limit || d.IsDir() {
			return err
		}
		if ext := filepath.Ext(path); ext != ".html" && ext != ".htm" {
			return nil
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return nil //nolint:nilerr // dangling links are common in these packages
		}
		if len(b) <= 1<<20 {
			out = append(out, page{path, []byte(strings.ToValidUTF8(string(b), "\ufffd"))})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

type page struct {
	name string
	body []byte
}

// allOptions make everything the package does show in its output.
func allOptions() Options {
	return Options{
		Separators: strings.Fields(`article aside blockquote br canvas dd div dl dt fieldset figcaption figure
			footer form h1 h2 h3 h4 h5 h6 header hr li main nav noscript ol output p pre section table tfoot
			tr ul video dialog summary details address center caption`),
		TitleInText: true,
		LinkTags: []string{
			"a", "area", "link", "frame", "iframe", "img", "source", "video", "audio", "embed", "object",
			"script", "form",
		},
		LinkRels:   []string{"alternate", "canonical", "next", "prev", "stylesheet"},
		IgnoreRels: []string{"nofollow"},
		Srcset:     true,
		DataAttrs:  []string{"data-src", "data-href", "data-url", "data-srcset", "data-original", "data-lazy-src"},
	}
}

func allFacts() []model.Fact {
	return []model.Fact{
		{Kind: model.FactMeta, Arg: "*"},
		{Kind: model.FactHeading, Arg: "h1"},
		{Kind: model.FactHeading, Arg: "h2"},
		{Kind: model.FactRel, Arg: "next"},
		{Kind: model.FactScript},
		{Kind: model.FactJSONLD},
	}
}

// differ compares the stream's way with the tree's. It returns the stream's
// page.
func differ(t testing.TB, x *Extractor, name string, body []byte) *Page {
	t.Helper()
	in := Input{Body: body, URL: "http://host/dir/page.html", Base: "http://host/dir/page.html", Facts: allFacts()}
	got, err := x.Extract(in)
	if err != nil {
		t.Fatal(err)
	}
	if got.Way != ByStream {
		return got
	}
	in.TreeOnly = true
	want, err := x.Extract(in)
	if err != nil {
		t.Fatal(err)
	}
	if want.Way != ByTree {
		return got
	}
	if d := cmp.Diff(want, got, cmpopts.IgnoreFields(Page{}, "Way", "Why")); d != "" {
		t.Errorf("%s: stream differs from tree (-tree +stream):\n%s", name, d)
	}
	return got
}

func newExtractor(t testing.TB, opt Options) *Extractor {
	t.Helper()
	x, err := New(opt)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func TestStreamEqualsTreeOnRealPages(t *testing.T) {
	x := newExtractor(t, allOptions())
	limit := 1500
	if testing.Short() {
		limit = 200
	}
	for pkg, dir := range corpora() {
		t.Run(pkg, func(t *testing.T) {
			all := pages(t, pkg, dir, limit)
			why := map[string]int{}
			trees := 0
			for _, p := range all {
				if got := differ(t, x, p.name, p.body); got.Way != ByStream {
					trees++
					why[got.Why]++
				}
				if t.Failed() {
					return
				}
			}
			t.Logf("%d pages, %d by tree: %v", len(all), trees, why)
		})
	}
}

// TestStreamEqualsTreeOnMutatedPages breaks real pages: tags go, double, move
// or come from elsewhere, and the page may be cut.
func TestStreamEqualsTreeOnMutatedPages(t *testing.T) {
	x := newExtractor(t, allOptions())
	for _, pkg := range []string{"git-doc", "postgresql-doc-15"} {
		t.Run(pkg, func(t *testing.T) {
			streams, n := 0, 0
			for i, p := range pages(t, pkg, corpora()[pkg], 150*scale()) {
				if len(p.body) > 1<<17 {
					continue
				}
				for round := range 4 {
					n++
					body := mutate(p.body, rand.New(rand.NewPCG(uint64(i), uint64(round))))
					if differ(t, x, p.name, body).Way == ByStream {
						streams++
					}
					if t.Failed() {
						t.Fatalf("round %d of %s", round, p.name)
					}
				}
			}
			t.Logf("%d of %d pages by stream", streams, n)
			if streams*10 < n {
				t.Errorf("only %d of %d pages by stream: the test shows little", streams, n)
			}
		})
	}
}

// mutate changes one to five tags of a page and cuts every fourth page.
func mutate(page []byte, r *rand.Rand) []byte {
	tags := regexp.MustCompile(`<[^<>]*>`).FindAllIndex(page, -1)
	if len(tags) == 0 {
		return page
	}
	out := string(page)
	for range 1 + r.IntN(5) {
		a, b := tags[r.IntN(len(tags))], tags[r.IntN(len(tags))]
		tag, at := string(page[a[0]:a[1]]), min(b[0], len(out))
		switch r.IntN(4) {
		case 0:
			out = strings.Replace(out, tag, "", 1)
		case 1:
			out = out[:at] + tag + out[at:]
		case 2:
			name := elems.names[1+r.IntN(len(elems.names)-1)]
			out = out[:at] + "<" + name + ">" + out[at:]
		case 3:
			name := elems.names[1+r.IntN(len(elems.names)-1)]
			out = out[:at] + "</" + name + ">" + out[at:]
		}
	}
	if r.IntN(4) == 0 {
		out = out[:r.IntN(len(out))]
	}
	return []byte(strings.ToValidUTF8(out, "\ufffd"))
}

// cpuTime returns the processor time this process used.
func cpuTime(t testing.TB) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
