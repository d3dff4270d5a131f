package parsefilter_test

import (
	"context"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/grpc"

	"github.com/gonutch/crawler/sdk/extension/parsefilter"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/internal/pb/modelv1"
	"github.com/gonutch/crawler/sdk/internal/pb/parsefilterv1"
	"github.com/gonutch/crawler/sdk/internal/rpctest"
	"github.com/gonutch/crawler/sdk/model"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type script struct {
	got  []parsefilter.Input
	outs []*parsefilter.Patch
}

func (s *script) FilterParse(_ context.Context, in *parsefilter.Input) (*parsefilter.Patch, error) {
	s.got = append(s.got, *in)
	if in.Parse.URL == "error" {
		return nil, fault.Errorf(fault.Denied, "no \xff")
	}
	return s.outs[len(s.got)-1], nil
}

func TestRoundTrip(t *testing.T) {
	empty := ""
	full, patch := rpctest.Filled[parsefilter.Input](), rpctest.Filled[parsefilter.Patch]()
	s := &script{outs: []*parsefilter.Patch{
		&patch, nil, {}, {ReplaceLinks: true}, {Title: &empty, Text: &empty}, {SetMeta: model.Metadata{"k": nil}}, nil,
	}}
	c := parsefilter.NewClient(rpctest.Connect(t, func(r grpc.ServiceRegistrar) {
		parsefilter.Register(r, func() (parsefilter.Filter, error) { return s, nil })
	}))
	in := []*parsefilter.Input{&full, {}, {Content: &model.Content{}}, {}, {}, {}, {Parse: model.Parse{URL: "error"}}}
	out, errs, err := c.FilterParses(rpctest.Context(t), in)
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
	if d := rpctest.Diff("denied: no \xff", rpctest.ErrorTexts(errs)[6]); d != "" {
		t.Error(d)
	}
	if out, errs, err := c.FilterParses(rpctest.Context(t), nil); len(out) != 0 || errs != nil || err != nil {
		t.Errorf("no parses: %v, %v, %v", out, errs, err)
	}
}

type rogue struct {
	parsefilterv1.UnimplementedParseFilterServiceServer
	answer *parsefilterv1.FilterParsesResponse
}

func (r rogue) FilterParses(context.Context, *parsefilterv1.FilterParsesRequest) (*parsefilterv1.FilterParsesResponse, error) {
	return r.answer, nil
}

func TestMalformedAnswers(t *testing.T) {
	for name, a := range map[string]*parsefilterv1.FilterParsesResponse{
		"empty":       {},
		"long":        {Patches: make([]*parsefilterv1.Patch, 2)},
		"error range": {Patches: make([]*parsefilterv1.Patch, 1), Errors: rpctest.ItemError(1)},
		"links":       {Patches: []*parsefilterv1.Patch{{Outlinks: &modelv1.Outlinks{Urls: make([][]byte, 1)}}}},
	} {
		c := parsefilter.NewClient(rpctest.Connect(t, func(s grpc.ServiceRegistrar) {
			parsefilterv1.RegisterParseFilterServiceServer(s, rogue{answer: a})
		}))
		if _, _, err := c.FilterParses(rpctest.Context(t), []*parsefilter.Input{{}}); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
