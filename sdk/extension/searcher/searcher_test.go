package searcher_test

import (
	"context"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/grpc"

	"github.com/gonutch/crawler/sdk/extension/searcher"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/internal/rpctest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type script struct {
	instance string
	got      searcher.Query
	out      *searcher.Result
	err      error
}

func (s *script) Search(_ context.Context, instance string, q *searcher.Query) (*searcher.Result, error) {
	s.instance, s.got = instance, *q
	return s.out, s.err
}

func TestRoundTrip(t *testing.T) {
	s := &script{}
	c := searcher.NewClient(rpctest.Connect(t, func(r grpc.ServiceRegistrar) {
		searcher.Register(r, func() (searcher.Searcher, error) { return s, nil })
	}))
	full := rpctest.Filled[searcher.Result]()
	for _, out := range []searcher.Result{full, {}} {
		s.out = &out
		for _, q := range []searcher.Query{rpctest.Filled[searcher.Query](), {}} {
			got, err := c.Search(rpctest.Context(t), "main\xff", &q)
			if err != nil {
				t.Fatal(err)
			}
			if d := rpctest.Diff(q, s.got); d != "" || s.instance != "main\xff" {
				t.Errorf("query to %q (-sent +received):\n%s", s.instance, d)
			}
			if d := rpctest.Diff(out, *got); d != "" {
				t.Errorf("result (-sent +received):\n%s", d)
			}
		}
	}
	s.err = fault.Errorf(fault.Invalid, "syntax \xff")
	if _, err := c.Search(rpctest.Context(t), "", &searcher.Query{}); !fault.Is(err, fault.Invalid) || err.Error() != "searcher: search: syntax \xff" {
		t.Errorf("got %v", err)
	}
	s.out, s.err = nil, nil
	if _, err := c.Search(rpctest.Context(t), "", &searcher.Query{}); !fault.Is(err, fault.Permanent) {
		t.Errorf("no result: %v", err)
	}
}
