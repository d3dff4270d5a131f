package segmentmerge_test

import (
	"context"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/grpc"

	"github.com/gonutch/crawler/sdk/extension/segmentmerge"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/internal/pb/segmentmergev1"
	"github.com/gonutch/crawler/sdk/internal/rpctest"
	"github.com/gonutch/crawler/sdk/model"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type script struct{ got []segmentmerge.Record }

func (s *script) Keep(_ context.Context, r *segmentmerge.Record) (bool, error) {
	s.got = append(s.got, *r)
	if r.URL == "error" {
		return true, fault.Errorf(fault.Invalid, "no \xff")
	}
	return r.Parse != nil, nil
}

func TestRoundTrip(t *testing.T) {
	s := &script{}
	c := segmentmerge.NewClient(rpctest.Connect(t, func(r grpc.ServiceRegistrar) {
		segmentmerge.Register(r, func() (segmentmerge.Filter, error) { return s, nil })
	}))
	full := rpctest.Filled[segmentmerge.Record]()
	in := []*segmentmerge.Record{&full, {}, {Parse: &model.Parse{}}, {URL: "error"}}
	keep, errs, err := c.KeepRecords(rpctest.Context(t), in)
	if err != nil {
		t.Fatal(err)
	}
	for i := range in {
		if d := rpctest.Diff(*in[i], s.got[i]); d != "" {
			t.Errorf("record %d (-sent +received):\n%s", i, d)
		}
	}
	if d := rpctest.Diff([]bool{true, false, true}, keep[:3]); d != "" {
		t.Error(d)
	}
	if d := rpctest.Diff("invalid: no \xff", rpctest.ErrorTexts(errs)[3]); d != "" {
		t.Error(d)
	}
	if keep, errs, err := c.KeepRecords(rpctest.Context(t), nil); len(keep) != 0 || errs != nil || err != nil {
		t.Errorf("no records: %v, %v, %v", keep, errs, err)
	}
}

type rogue struct {
	segmentmergev1.UnimplementedSegmentMergeServiceServer
	answer *segmentmergev1.KeepRecordsResponse
}

func (r rogue) KeepRecords(context.Context, *segmentmergev1.KeepRecordsRequest) (*segmentmergev1.KeepRecordsResponse, error) {
	return r.answer, nil
}

func TestMalformedAnswers(t *testing.T) {
	for name, a := range map[string]*segmentmergev1.KeepRecordsResponse{
		"empty":       {},
		"long":        {Keep: make([]bool, 2)},
		"error range": {Keep: make([]bool, 1), Errors: rpctest.ItemError(1)},
	} {
		c := segmentmerge.NewClient(rpctest.Connect(t, func(s grpc.ServiceRegistrar) {
			segmentmergev1.RegisterSegmentMergeServiceServer(s, rogue{answer: a})
		}))
		if _, _, err := c.KeepRecords(rpctest.Context(t), []*segmentmerge.Record{{}}); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
