package indexingfilter_test

import (
	"context"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/grpc"

	"github.com/gonutch/crawler/sdk/extension/indexingfilter"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/internal/pb/indexingfilterv1"
	"github.com/gonutch/crawler/sdk/internal/pb/modelv1"
	"github.com/gonutch/crawler/sdk/internal/rpctest"
	"github.com/gonutch/crawler/sdk/model"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type script struct {
	got  []indexingfilter.Input
	outs []*indexingfilter.Patch
}

func (s *script) FilterDocument(_ context.Context, in *indexingfilter.Input) (*indexingfilter.Patch, error) {
	s.got = append(s.got, *in)
	if in.URL == "error" {
		return nil, fault.Errorf(fault.Transient, "later \xff")
	}
	return s.outs[len(s.got)-1], nil
}

func TestRoundTrip(t *testing.T) {
	full, patch := rpctest.Filled[indexingfilter.Input](), rpctest.Filled[indexingfilter.Patch]()
	s := &script{outs: []*indexingfilter.Patch{&patch, nil, {}, {Set: map[string][]string{"k": nil}}, {Drop: "\xff"}, nil}}
	c := indexingfilter.NewClient(rpctest.Connect(t, func(r grpc.ServiceRegistrar) {
		indexingfilter.Register(r, func() (indexingfilter.Filter, error) { return s, nil })
	}))
	in := []*indexingfilter.Input{&full, {}, {Content: &model.Content{}}, {}, {}, {URL: "error"}}
	out, errs, err := c.FilterDocuments(rpctest.Context(t), in)
	if err != nil {
		t.Fatal(err)
	}
	for i := range in {
		if d := rpctest.Diff(*in[i], s.got[i]); d != "" {
			t.Errorf("input %d (-sent +received):\n%s", i, d)
		}
		want := s.outs[i]
		if i == 2 {
			want = nil // a patch that changes nothing
		}
		if d := rpctest.Diff(want, out[i]); d != "" {
			t.Errorf("patch %d (-sent +received):\n%s", i, d)
		}
	}
	if d := rpctest.Diff("transient: later \xff", rpctest.ErrorTexts(errs)[5]); d != "" {
		t.Error(d)
	}
	if out, errs, err := c.FilterDocuments(rpctest.Context(t), nil); len(out) != 0 || errs != nil || err != nil {
		t.Errorf("no documents: %v, %v, %v", out, errs, err)
	}
}

type rogue struct {
	indexingfilterv1.UnimplementedIndexingFilterServiceServer
	answer *indexingfilterv1.FilterDocumentsResponse
}

func (r rogue) FilterDocuments(context.Context, *indexingfilterv1.FilterDocumentsRequest) (*indexingfilterv1.FilterDocumentsResponse, error) {
	return r.answer, nil
}

func TestMalformed(t *testing.T) {
	for name, a := range map[string]*indexingfilterv1.FilterDocumentsResponse{
		"empty":       {},
		"long":        {Patches: make([]*indexingfilterv1.Patch, 2)},
		"error range": {Patches: make([]*indexingfilterv1.Patch, 1), Errors: rpctest.ItemError(1)},
	} {
		c := indexingfilter.NewClient(rpctest.Connect(t, func(s grpc.ServiceRegistrar) {
			indexingfilterv1.RegisterIndexingFilterServiceServer(s, rogue{answer: a})
		}))
		if _, _, err := c.FilterDocuments(rpctest.Context(t), []*indexingfilter.Input{{}}); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	cc := rpctest.Connect(t, func(r grpc.ServiceRegistrar) {
		indexingfilter.Register(r, func() (indexingfilter.Filter, error) { return &script{outs: make([]*indexingfilter.Patch, 9)}, nil })
	})
	for name, in := range map[string]*indexingfilterv1.Input{
		"status":       {Datum: &modelv1.CrawlDatum{Status: 256}},
		"proto status": {Datum: &modelv1.CrawlDatum{ProtocolStatus: &modelv1.ProtocolStatus{Code: 256}}},
		"field number": {Datum: &modelv1.CrawlDatum{Fields: &modelv1.Fields{Names: []uint32{0}, Values: []int64{1}}}},
		"field values": {Datum: &modelv1.CrawlDatum{FieldNames: [][]byte{{'a'}}, Fields: &modelv1.Fields{Names: []uint32{0}}}},
	} {
		req := &indexingfilterv1.FilterDocumentsRequest{Inputs: []*indexingfilterv1.Input{in}}
		if _, err := indexingfilterv1.NewIndexingFilterServiceClient(cc).FilterDocuments(rpctest.Context(t), req); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
