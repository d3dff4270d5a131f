package exchange_test

import (
	"context"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/grpc"

	"github.com/gonutch/crawler/sdk/extension/exchange"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/internal/pb/exchangev1"
	"github.com/gonutch/crawler/sdk/internal/rpctest"
	"github.com/gonutch/crawler/sdk/model"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type script struct {
	params map[string]exchange.Params
	got    []model.Document
}

func (s *script) Open(_ context.Context, instance string, params exchange.Params) error {
	if params["expr"] == "bad\xff" {
		return fault.Errorf(fault.Invalid, "expr %s", params["expr"])
	}
	s.params[instance] = params
	return nil
}

func (s *script) Match(_ context.Context, instance string, doc *model.Document) (bool, error) {
	s.got = append(s.got, *doc)
	if s.params[instance] == nil {
		return false, fault.Errorf(fault.Invalid, "%s is not open", instance)
	}
	return doc.ID == s.params[instance]["id"], nil
}

func TestRoundTrip(t *testing.T) {
	s := &script{params: map[string]exchange.Params{}}
	c := exchange.NewClient(rpctest.Connect(t, func(r grpc.ServiceRegistrar) {
		exchange.Register(r, func() (exchange.Exchange, error) { return s, nil })
	}))
	ctx := rpctest.Context(t)
	doc := rpctest.Filled[model.Document]()
	if err := c.Open(ctx, "a", exchange.Params{"id": doc.ID, "": ""}); err != nil {
		t.Fatal(err)
	}
	if d := rpctest.Diff(exchange.Params{"id": doc.ID, "": ""}, s.params["a"]); d != "" {
		t.Errorf("params (-sent +received):\n%s", d)
	}
	if err := c.Open(ctx, "b", nil); err != nil || s.params["b"] == nil {
		t.Errorf("no params: %v, %v", s.params["b"], err)
	}
	if err := c.Open(ctx, "c", exchange.Params{"expr": "bad\xff"}); !fault.Is(err, fault.Invalid) || err.Error() != "exchange: open: expr bad\xff" {
		t.Errorf("bad param: %v", err)
	}
	docs := []*model.Document{&doc, {}}
	got, errs, err := c.MatchDocuments(ctx, "a", docs)
	if err != nil || errs != nil {
		t.Fatal(errs, err)
	}
	if d := rpctest.Diff([]bool{true, false}, got); d != "" {
		t.Error(d)
	}
	if d := rpctest.Diff([]model.Document{doc, {}}, s.got); d != "" {
		t.Errorf("documents (-sent +received):\n%s", d)
	}
	if _, errs, err = c.MatchDocuments(ctx, "z\xff", docs[:1]); err != nil || !fault.Is(errs[0], fault.Invalid) {
		t.Errorf("not open: %v, %v", errs, err)
	}
	if got, errs, err := c.MatchDocuments(ctx, "a", nil); len(got) != 0 || errs != nil || err != nil {
		t.Errorf("no documents: %v, %v, %v", got, errs, err)
	}
}

type rogue struct {
	exchangev1.UnimplementedExchangeServiceServer
	answer *exchangev1.MatchDocumentsResponse
}

func (r rogue) MatchDocuments(context.Context, *exchangev1.MatchDocumentsRequest) (*exchangev1.MatchDocumentsResponse, error) {
	return r.answer, nil
}

func TestMalformedAnswers(t *testing.T) {
	for name, a := range map[string]*exchangev1.MatchDocumentsResponse{
		"empty":       {},
		"long":        {Match: make([]bool, 2)},
		"error range": {Match: make([]bool, 1), Errors: rpctest.ItemError(1)},
	} {
		c := exchange.NewClient(rpctest.Connect(t, func(s grpc.ServiceRegistrar) {
			exchangev1.RegisterExchangeServiceServer(s, rogue{answer: a})
		}))
		if _, _, err := c.MatchDocuments(rpctest.Context(t), "", []*model.Document{{}}); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
