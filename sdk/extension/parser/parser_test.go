package parser_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/grpc"

	"github.com/gonutch/crawler/sdk/extension/parser"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/internal/pb/modelv1"
	"github.com/gonutch/crawler/sdk/internal/pb/parserv1"
	"github.com/gonutch/crawler/sdk/internal/rpctest"
	"github.com/gonutch/crawler/sdk/model"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// script answers by URL and keeps what it was asked.
type script struct {
	mu   sync.Mutex
	got  map[string]parser.Input
	outs map[string]*parser.Output
}

func (s *script) Parse(_ context.Context, in *parser.Input) (*parser.Output, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.got[in.Content.URL] = *in
	switch in.Content.URL {
	case "panic":
		panic("oops")
	case "error":
		return nil, fault.Errorf(fault.Transient, "busy \xff")
	}
	return s.outs[in.Content.URL], nil
}

func connect(t *testing.T, p parser.Parser) *parser.Client {
	return parser.NewClient(rpctest.Connect(t, func(s grpc.ServiceRegistrar) {
		parser.Register(s, func() (parser.Parser, error) { return p, nil })
	}))
}

func TestRoundTrip(t *testing.T) {
	full := rpctest.Filled[parser.Input]()
	out := rpctest.Filled[parser.Output]()
	in := []*parser.Input{
		&full,
		{},
		{Content: model.Content{URL: "panic"}, Facts: []model.Fact{{Kind: model.FactMeta, Arg: "*"}}},
		{Content: model.Content{URL: "error"}, Facts: full.Facts},
		{Content: model.Content{URL: "nothing"}, Facts: []model.Fact{{Kind: model.FactMeta, Arg: "*"}}},
	}
	s := &script{got: map[string]parser.Input{}, outs: map[string]*parser.Output{full.Content.URL: &out, "": {Parses: make([]model.Parse, 1)}}}
	got, errs, err := connect(t, s).ParseDocuments(rpctest.Context(t), in)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range in {
		if d := rpctest.Diff(*want, s.got[want.Content.URL]); d != "" {
			t.Errorf("input %q (-sent +received):\n%s", want.Content.URL, d)
		}
	}
	if d := rpctest.Diff([]*parser.Output{&out, {Parses: make([]model.Parse, 1)}, nil, nil, nil}, got); d != "" {
		t.Errorf("outputs (-sent +received):\n%s", d)
	}
	if d := rpctest.Diff([]string{"", "", "permanent: panic: oops", "transient: busy \xff", "permanent: the parser returned no parse"}, rpctest.ErrorTexts(errs)); d != "" {
		t.Error(d)
	}
	if got, errs, err := connect(t, s).ParseDocuments(rpctest.Context(t), nil); len(got) != 0 || errs != nil || err != nil {
		t.Errorf("no documents: %v, %v, %v", got, errs, err)
	}
}

func TestGreatDocument(t *testing.T) {
	s := &script{got: map[string]parser.Input{}, outs: map[string]*parser.Output{"big": {Parses: []model.Parse{{Text: strings.Repeat("x", 5<<20)}}}}}
	in := []*parser.Input{{Content: model.Content{URL: "big", Body: make([]byte, 6<<20)}}}
	out, _, err := connect(t, s).ParseDocuments(rpctest.Context(t), in)
	if err != nil || len(out[0].Parses[0].Text) != 5<<20 || len(s.got["big"].Content.Body) != 6<<20 {
		t.Fatalf("6 MiB in, 5 MiB out: %v", err)
	}
	s.outs["big"].Parses[0].Text = strings.Repeat("x", rpctest.MaxMessage)
	if _, _, err = connect(t, s).ParseDocuments(rpctest.Context(t), in); !fault.Is(err, fault.Invalid) {
		t.Errorf("an answer above the limit: %v", err)
	}
	in[0].Content.Body = make([]byte, rpctest.MaxMessage)
	if _, _, err = connect(t, s).ParseDocuments(rpctest.Context(t), in); !fault.Is(err, fault.Invalid) {
		t.Errorf("a question above the limit: %v", err)
	}
}

type rogue struct {
	parserv1.UnimplementedParserServiceServer
	answer *parserv1.ParseResponse
}

func (r rogue) Parse(context.Context, *parserv1.ParseRequest) (*parserv1.ParseResponse, error) {
	return r.answer, nil
}

func TestMalformedAnswers(t *testing.T) {
	one := func(p *modelv1.Parse) *parserv1.ParseResponse {
		return &parserv1.ParseResponse{Outputs: []*parserv1.Output{{Parses: []*modelv1.Parse{p}}}}
	}
	b := [][]byte{{'x'}}
	for name, a := range map[string]*parserv1.ParseResponse{
		"empty":       {},
		"long":        {Outputs: make([]*parserv1.Output, 2)},
		"no parse":    {Outputs: []*parserv1.Output{{}}},
		"error range": {Outputs: []*parserv1.Output{{}}, Errors: rpctest.ItemError(1)},
		"anchors":     one(&modelv1.Parse{Outlinks: &modelv1.Outlinks{Urls: b}}),
		"tags":        one(&modelv1.Parse{Outlinks: &modelv1.Outlinks{Urls: b, Anchors: b, Tags: []uint32{1}}}),
		"tag count":   one(&modelv1.Parse{Outlinks: &modelv1.Outlinks{Urls: b, Anchors: b, TagNames: b, Tags: []uint32{1, 1}}}),
		"link meta":   one(&modelv1.Parse{Outlinks: &modelv1.Outlinks{Urls: b, Anchors: b, Metadata: []*modelv1.ItemMetadata{{Index: 1}}}}),
		"fact names":  one(&modelv1.Parse{Facts: []*modelv1.FactResult{{Names: [][]byte{{'a'}, {'b'}}, Values: b}}}),
		"status":      one(&modelv1.Parse{Status: &modelv1.ParseStatus{Major: 256}}),
	} {
		c := parser.NewClient(rpctest.Connect(t, func(s grpc.ServiceRegistrar) {
			parserv1.RegisterParserServiceServer(s, rogue{answer: a})
		}))
		if _, _, err := c.ParseDocuments(rpctest.Context(t), []*parser.Input{{}}); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestMalformedQuestions(t *testing.T) {
	cc := rpctest.Connect(t, func(s grpc.ServiceRegistrar) {
		parser.Register(s, func() (parser.Parser, error) { return &script{got: map[string]parser.Input{}}, nil })
	})
	for name, r := range map[string]*parserv1.ParseRequest{
		"lists":      {Documents: []*modelv1.Content{{}}, Facts: []uint32{0, 0}},
		"list range": {Documents: []*modelv1.Content{{}}, Facts: []uint32{1}},
	} {
		if _, err := parserv1.NewParserServiceClient(cc).Parse(rpctest.Context(t), r); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
