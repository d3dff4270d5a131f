package libhtml

import (
	"bytes"
	"net/url"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// benchPages are up to 400 pages of one corpus.
func benchPages(b *testing.B, pkg string) []page {
	all := pages(b, pkg, corpora()[pkg], 400)
	n := 0
	for _, p := range all {
		n += len(p.body)
	}
	b.SetBytes(int64(n))
	b.ReportAllocs()
	return all
}

func benchOptions() Options {
	opt := allOptions()
	opt.LinkTags = []string{"a", "area", "frame", "iframe", "link"}
	return opt
}

func forCorpora(b *testing.B, run func(b *testing.B, all []page)) {
	for _, pkg := range []string{"postgresql-doc-15", "python3-doc", "git-doc", "libboost1.81-doc"} {
		b.Run(pkg, func(b *testing.B) { run(b, benchPages(b, pkg)) })
	}
}

func benchExtract(b *testing.B, treeOnly bool) {
	x := newExtractor(b, benchOptions())
	forCorpora(b, func(b *testing.B, all []page) {
		trees := 0
		for b.Loop() {
			trees = 0
			for _, p := range all {
				got, err := x.Extract(Input{
					Body: p.body, URL: "http://host/dir/page.html", Base: "http://host/dir/page.html", TreeOnly: treeOnly,
				})
				if err != nil {
					b.Fatal(err)
				}
				if got.Way != ByStream {
					trees++
				}
			}
		}
		b.ReportMetric(100*float64(trees)/float64(len(all)), "%tree")
	})
}

// BenchmarkStream is the way pages go: links resolved, text, title, meta.
func BenchmarkStream(b *testing.B) { benchExtract(b, false) }

// BenchmarkTree is the same work by the tree's way.
func BenchmarkTree(b *testing.B) { benchExtract(b, true) }

// BenchmarkXNetDOM is the plain way: x/net/html's tree and a walk that gathers
// text and resolves links with net/url.
func BenchmarkXNetDOM(b *testing.B) {
	base, err := url.Parse("http://host/dir/page.html")
	if err != nil {
		b.Fatal(err)
	}
	forCorpora(b, func(b *testing.B, all []page) {
		for b.Loop() {
			for _, p := range all {
				doc, err := html.Parse(bytes.NewReader(p.body))
				if err != nil {
					b.Fatal(err)
				}
				plainWalk(doc, base)
			}
		}
	})
}

// BenchmarkXNetDOMUnresolved is BenchmarkXNetDOM without resolving links.
func BenchmarkXNetDOMUnresolved(b *testing.B) {
	forCorpora(b, func(b *testing.B, all []page) {
		for b.Loop() {
			for _, p := range all {
				doc, err := html.Parse(bytes.NewReader(p.body))
				if err != nil {
					b.Fatal(err)
				}
				plainWalk(doc, nil)
			}
		}
	})
}

// BenchmarkRatio measures the stream and the plain way turn by turn on the same
// pages, in processor time, which other work on the machine changes little.
func BenchmarkRatio(b *testing.B) {
	x := newExtractor(b, benchOptions())
	base, err := url.Parse("http://host/dir/page.html")
	if err != nil {
		b.Fatal(err)
	}
	forCorpora(b, func(b *testing.B, all []page) {
		var stream, plain, unresolved time.Duration
		timed := func(sum *time.Duration, f func(p page)) {
			runtime.GC()
			start := cpuTime(b)
			for _, p := range all {
				f(p)
			}
			*sum += cpuTime(b) - start
		}
		dom := func(base *url.URL) func(p page) {
			return func(p page) {
				doc, err := html.Parse(bytes.NewReader(p.body))
				if err != nil {
					b.Fatal(err)
				}
				plainWalk(doc, base)
			}
		}
		trees := 0
		for b.Loop() {
			trees = 0
			timed(&stream, func(p page) {
				got, err := x.Extract(Input{Body: p.body, URL: base.String(), Base: base.String()})
				if err != nil {
					b.Fatal(err)
				}
				if got.Way != ByStream {
					trees++
				}
			})
			timed(&plain, dom(base))
			timed(&unresolved, dom(nil))
		}
		n := 0
		for _, p := range all {
			n += len(p.body)
		}
		b.ReportMetric(float64(n)*float64(b.N)/stream.Seconds()/1e6, "stream-MB/cpu-s")
		b.ReportMetric(float64(plain)/float64(stream), "dom/stream")
		b.ReportMetric(float64(unresolved)/float64(stream), "dom-unresolved/stream")
		b.ReportMetric(100*float64(trees)/float64(len(all)), "%tree")
	})
}

func plainWalk(doc *html.Node, base *url.URL) (string, []string) {
	var text strings.Builder
	var links []string
	for n := range doc.Descendants() {
		switch {
		case n.Type == html.TextNode && n.Parent.DataAtom != atom.Script && n.Parent.DataAtom != atom.Style:
			text.WriteString(n.Data)
			text.WriteByte(' ')
		case n.DataAtom == atom.A:
			for _, a := range n.Attr {
				if a.Key != "href" {
					continue
				}
				link := a.Val
				if base != nil {
					u, err := base.Parse(a.Val)
					if err != nil {
						continue
					}
					link = u.String()
				}
				links = append(links, link)
			}
		}
	}
	return text.String(), links
}
