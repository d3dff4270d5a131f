//go:build unix

package sdk_test

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"google.golang.org/grpc"

	"github.com/gonutch/crawler/sdk/extension/parser"
	"github.com/gonutch/crawler/sdk/extension/urlfilter"
	"github.com/gonutch/crawler/sdk/host"
	"github.com/gonutch/crawler/sdk/model"
)

func configured(b *testing.B) *grpc.ClientConn {
	_, cc := start(b)
	if err := host.NewBase(cc).Configure(context.Background(), host.Configuration{Own: []byte(`{"words": ["spam"]}`)}); err != nil {
		b.Fatal(err)
	}
	return cc
}

// run calls fn from 8 callers and reports the CPU of this process for each item;
// the plugin's own is what the machine shows beside it.
func run(b *testing.B, items int, fn func() error) {
	var before, after syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &before); err != nil {
		b.Fatal(err)
	}
	b.SetParallelism(4)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := fn(); err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.StopTimer()
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &after); err != nil {
		b.Fatal(err)
	}
	cpu := after.Utime.Nano() + after.Stime.Nano() - before.Utime.Nano() - before.Stime.Nano()
	b.ReportMetric(float64(cpu)/float64(b.N)/float64(items), "host-cpu-ns/item")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(items), "ns/item")
}

func BenchmarkFilterURLs(b *testing.B) {
	for _, n := range []int{1, 100, 500} {
		urls := make([]string, n)
		for i := range urls {
			urls[i] = fmt.Sprintf("http://host%d.example.org/some/folder/of/some/length/page%d.html?query=%d", i%17, i, i)
		}
		b.Run(fmt.Sprintf("process/%d", n), func(b *testing.B) {
			cc := configured(b)
			c := urlfilter.NewClient(cc)
			run(b, n, func() error { _, _, err := c.FilterURLs(context.Background(), urls); return err })
		})
		b.Run(fmt.Sprintf("local/%d", n), func(b *testing.B) {
			c := urlfilter.Local(words{Words: []string{"spam"}})
			run(b, n, func() error { _, _, err := c.FilterURLs(context.Background(), urls); return err })
		})
	}
}

// links is a parser that does nothing but answer with the links of a usual page.
type links struct{ out *parser.Output }

func (l links) Parse(context.Context, *parser.Input) (*parser.Output, error) { return l.out, nil }

func usualParse() *parser.Output {
	p := model.Parse{URL: "http://example.org/", Status: model.ParseStatus{Major: model.ParseSuccess}, Title: "Title", Text: strings.Repeat("some words ", 900)}
	for i := range 54 {
		p.Outlinks = append(p.Outlinks, model.Outlink{URL: fmt.Sprintf("http://example.org/folder/page%d.html", i), Anchor: fmt.Sprintf("Link number %d", i), Tag: "a"})
	}
	return &parser.Output{Parses: []model.Parse{p}}
}

func BenchmarkParseDocuments(b *testing.B) {
	for _, n := range []int{1, 4, 16} {
		in := make([]*parser.Input, n)
		for i := range in {
			in[i] = &parser.Input{Content: model.Content{URL: "http://example.org/", Body: []byte(strings.Repeat("<p>some page ", 3900))}}
		}
		b.Run(fmt.Sprintf("process/%d", n), func(b *testing.B) {
			cc := configured(b)
			c := parser.NewClient(cc)
			run(b, n, func() error { _, _, err := c.ParseDocuments(context.Background(), in); return err })
		})
	}
}
