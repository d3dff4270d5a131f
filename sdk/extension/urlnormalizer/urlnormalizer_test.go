package urlnormalizer_test

import (
	"context"
	"errors"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/grpc"

	"github.com/gonutch/crawler/sdk/extension/urlnormalizer"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/internal/pb/urlnormalizerv1"
	"github.com/gonutch/crawler/sdk/internal/rpctest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// table answers from a map; what it does not know stays as it is.
type table map[string]urlnormalizer.Result

func (m table) NormalizeURL(_ context.Context, scope urlnormalizer.Scope, url string) (urlnormalizer.Result, error) {
	switch {
	case scope == "bad\xff":
		return urlnormalizer.Result{}, fault.Errorf(fault.Transient, "scope %s", scope)
	case url == "panic":
		panic(errors.New("oops"))
	}
	if r, ok := m[url]; ok {
		return r, nil
	}
	return urlnormalizer.Result{URL: url}, nil
}

func connect(t *testing.T, n urlnormalizer.Normalizer) *urlnormalizer.Client {
	return urlnormalizer.NewClient(rpctest.Connect(t, func(s grpc.ServiceRegistrar) {
		urlnormalizer.Register(s, func() (urlnormalizer.Normalizer, error) { return n, nil })
	}))
}

var answers = table{
	"http://A/": {URL: "http://a/"},
	"drop":      {Reason: "no scheme \xff"},
	"bare drop": {},
	"\xff":      {URL: "\xfe", Reason: "why"},
	"kept":      {URL: "kept", Reason: "looked at"},
}

func TestRoundTrip(t *testing.T) {
	in := []string{"http://A/", "same", "drop", "", "bare drop", "\xff", "kept", "panic", "http://A/"}
	for _, scope := range []urlnormalizer.Scope{urlnormalizer.ScopeOutlink, "", "bad\xff"} {
		ctx := rpctest.Context(t)
		want, wantErrs, err := urlnormalizer.Local(answers).NormalizeURLs(ctx, scope, in)
		if err != nil {
			t.Fatal(err)
		}
		got, errs, err := connect(t, answers).NormalizeURLs(ctx, scope, in)
		if err != nil {
			t.Fatal(err)
		}
		if d := rpctest.Diff(rpctest.ErrorTexts(wantErrs), rpctest.ErrorTexts(errs)); d != "" {
			t.Errorf("scope %q: errors differ (-want +got):\n%s", scope, d)
		}
		for i := range in {
			if errs != nil && errs[i] != nil {
				continue
			}
			if got[i] != want[i] {
				t.Errorf("scope %q, %q: got %+v, want %+v", scope, in[i], got[i], want[i])
			}
		}
	}
	got, errs, err := connect(t, answers).NormalizeURLs(rpctest.Context(t), "", nil)
	if len(got) != 0 || errs != nil || err != nil {
		t.Errorf("no urls: %v, %v, %v", got, errs, err)
	}
}

type rogue struct {
	urlnormalizerv1.UnimplementedURLNormalizerServiceServer
	answer *urlnormalizerv1.NormalizeURLsResponse
}

func (r rogue) NormalizeURLs(context.Context, *urlnormalizerv1.NormalizeURLsRequest) (*urlnormalizerv1.NormalizeURLsResponse, error) {
	return r.answer, nil
}

func TestMalformedAnswers(t *testing.T) {
	for name, a := range map[string]*urlnormalizerv1.NormalizeURLsResponse{
		"empty":        {},
		"long":         {Count: 3},
		"change range": {Count: 2, Changes: []*urlnormalizerv1.Change{{Index: 2}}},
		"error range":  {Count: 2, Errors: rpctest.ItemError(2)},
	} {
		t.Run(name, func(t *testing.T) {
			c := urlnormalizer.NewClient(rpctest.Connect(t, func(s grpc.ServiceRegistrar) {
				urlnormalizerv1.RegisterURLNormalizerServiceServer(s, rogue{answer: a})
			}))
			if _, _, err := c.NormalizeURLs(rpctest.Context(t), "", []string{"a", "b"}); !fault.Is(err, fault.Invalid) {
				t.Errorf("got %v", err)
			}
		})
	}
}
