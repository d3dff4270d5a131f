package urlfilter_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"google.golang.org/grpc"

	"github.com/gonutch/crawler/sdk/extension/urlfilter"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/internal/pb/urlfilterv1"
	"github.com/gonutch/crawler/sdk/internal/rpctest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type filterFunc func(url string) (urlfilter.Verdict, error)

func (f filterFunc) FilterURL(_ context.Context, url string) (urlfilter.Verdict, error) {
	return f(url)
}

func connect(t *testing.T, f urlfilter.Filter) *urlfilter.Client {
	return urlfilter.NewClient(rpctest.Connect(t, func(s grpc.ServiceRegistrar) {
		urlfilter.Register(s, func() (urlfilter.Filter, error) { return f, nil })
	}))
}

func bySuffix(url string) (urlfilter.Verdict, error) {
	switch {
	case strings.HasSuffix(url, "!panic"):
		panic("oops " + url)
	case strings.HasSuffix(url, "!denied"):
		return urlfilter.Verdict{}, fault.Errorf(fault.Denied, "no \xff")
	case strings.HasSuffix(url, ".gif"):
		return urlfilter.Verdict{Reason: "rules:1: -\\.gif$"}, nil
	}
	return urlfilter.Verdict{Accept: true, Reason: url}, nil
}

func TestRoundTrip(t *testing.T) {
	for name, urls := range map[string][]string{
		"none": nil,
		"one":  {"http://a/"},
		"full": {"http://a/x.gif", "", "http://b/\xff\xfe", "http://a/y.gif", "http://c/!panic", "http://d/!denied"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := rpctest.Context(t)
			want, wantErrs, err := urlfilter.Local(filterFunc(bySuffix)).FilterURLs(ctx, urls)
			if err != nil {
				t.Fatal(err)
			}
			got, errs, err := connect(t, filterFunc(bySuffix)).FilterURLs(ctx, urls)
			if err != nil {
				t.Fatal(err)
			}
			if len(got) != len(urls) {
				t.Fatalf("%d answers for %d urls", len(got), len(urls))
			}
			for i := range got {
				if d := cmp.Diff(want[i], got[i]); d != "" {
					t.Errorf("%q: in process and over the wire differ (-want +got):\n%s", urls[i], d)
				}
			}
			if d := cmp.Diff(rpctest.ErrorTexts(wantErrs), rpctest.ErrorTexts(errs)); d != "" {
				t.Errorf("errors differ (-want +got):\n%s", d)
			}
		})
	}
}

func TestItemErrors(t *testing.T) {
	_, errs, err := connect(t, filterFunc(bySuffix)).FilterURLs(rpctest.Context(t), []string{"a!panic", "b", "c!denied"})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"permanent: panic: oops a!panic", "", "denied: no \xff"}, rpctest.ErrorTexts(errs)); d != "" {
		t.Error(d)
	}
}

// batcher answers batches itself, and wrongly.
type batcher struct {
	filterFunc
	n   int
	err error
}

func (b batcher) FilterURLs(context.Context, []string) ([]urlfilter.Verdict, []error, error) {
	return make([]urlfilter.Verdict, b.n), nil, b.err
}

func TestBatchMethodIsUsed(t *testing.T) {
	_, _, err := connect(t, batcher{n: 3}).FilterURLs(rpctest.Context(t), []string{"a"})
	if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "urlfilter") {
		t.Errorf("3 answers for 1 url: %v", err)
	}
	_, _, err = connect(t, batcher{err: fault.Errorf(fault.Transient, "full \xff")}).FilterURLs(rpctest.Context(t), []string{"a"})
	if !fault.Is(err, fault.Transient) || !strings.HasSuffix(err.Error(), "full \xff") {
		t.Errorf("got %v", err)
	}
}

type rogue struct {
	urlfilterv1.UnimplementedURLFilterServiceServer
	answer *urlfilterv1.FilterURLsResponse
}

func (r rogue) FilterURLs(context.Context, *urlfilterv1.FilterURLsRequest) (*urlfilterv1.FilterURLsResponse, error) {
	return r.answer, nil
}

func TestMalformedAnswers(t *testing.T) {
	for name, a := range map[string]*urlfilterv1.FilterURLsResponse{
		"empty":        {},
		"short":        {Accept: []bool{true}},
		"long":         {Accept: make([]bool, 3)},
		"reasons":      {Accept: make([]bool, 2), Reason: []uint32{1}},
		"reason range": {Accept: make([]bool, 2), Reason: []uint32{0, 1}},
		"error range":  {Accept: make([]bool, 2), Errors: rpctest.ItemError(2)},
	} {
		t.Run(name, func(t *testing.T) {
			c := urlfilter.NewClient(rpctest.Connect(t, func(s grpc.ServiceRegistrar) {
				urlfilterv1.RegisterURLFilterServiceServer(s, rogue{answer: a})
			}))
			if _, _, err := c.FilterURLs(rpctest.Context(t), []string{"a", "b"}); !fault.Is(err, fault.Invalid) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(rpctest.Context(t))
	c := connect(t, filterFunc(func(string) (urlfilter.Verdict, error) { cancel(); <-ctx.Done(); return urlfilter.Verdict{}, ctx.Err() }))
	if _, _, err := c.FilterURLs(ctx, []string{"a"}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
