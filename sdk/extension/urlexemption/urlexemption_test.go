package urlexemption_test

import (
	"context"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/grpc"

	"github.com/gonutch/crawler/sdk/extension/urlexemption"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/internal/pb/urlexemptionv1"
	"github.com/gonutch/crawler/sdk/internal/rpctest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type sameFirstByte struct{}

func (sameFirstByte) Exempt(_ context.Context, p urlexemption.Pair) (bool, error) {
	if p.To == "" {
		return false, fault.Errorf(fault.Invalid, "link of %s leads nowhere", p.From)
	}
	return p.From[0] == p.To[0], nil
}

func TestRoundTrip(t *testing.T) {
	c := urlexemption.NewClient(rpctest.Connect(t, func(s grpc.ServiceRegistrar) {
		urlexemption.Register(s, func() (urlexemption.Filter, error) { return sameFirstByte{}, nil })
	}))
	got, errs, err := c.ExemptLinks(rpctest.Context(t), []urlexemption.Pair{
		{From: "a1", To: "a2"}, {From: "a1", To: "b"}, {From: "\xff", To: "\xff\xfe"}, {From: "x\xff"}, {To: "panic"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if d := rpctest.Diff([]bool{true, false, true, false, false}, got); d != "" {
		t.Error(d)
	}
	texts := rpctest.ErrorTexts(errs)
	if d := rpctest.Diff([]string{"", "", "", "invalid: link of x\xff leads nowhere"}, texts[:4]); d != "" {
		t.Error(d)
	}
	if fault.KindOf(errs[4]) != fault.Permanent {
		t.Errorf("panic: %v", errs[4])
	}
	got, errs, err = c.ExemptLinks(rpctest.Context(t), nil)
	if len(got) != 0 || errs != nil || err != nil {
		t.Errorf("no links: %v, %v, %v", got, errs, err)
	}
}

type rogue struct {
	urlexemptionv1.UnimplementedURLExemptionServiceServer
	answer *urlexemptionv1.ExemptLinksResponse
}

func (r rogue) ExemptLinks(context.Context, *urlexemptionv1.ExemptLinksRequest) (*urlexemptionv1.ExemptLinksResponse, error) {
	return r.answer, nil
}

func TestMalformed(t *testing.T) {
	for name, a := range map[string]*urlexemptionv1.ExemptLinksResponse{
		"empty":       {},
		"long":        {Exempt: make([]bool, 2)},
		"error range": {Exempt: make([]bool, 1), Errors: rpctest.ItemError(1)},
	} {
		c := urlexemption.NewClient(rpctest.Connect(t, func(s grpc.ServiceRegistrar) {
			urlexemptionv1.RegisterURLExemptionServiceServer(s, rogue{answer: a})
		}))
		if _, _, err := c.ExemptLinks(rpctest.Context(t), make([]urlexemption.Pair, 1)); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	cc := rpctest.Connect(t, func(s grpc.ServiceRegistrar) {
		urlexemption.Register(s, func() (urlexemption.Filter, error) { return sameFirstByte{}, nil })
	})
	_, err := urlexemptionv1.NewURLExemptionServiceClient(cc).ExemptLinks(rpctest.Context(t), &urlexemptionv1.ExemptLinksRequest{From: [][]byte{{1}}})
	if err == nil {
		t.Error("a source without a target was accepted")
	}
}
