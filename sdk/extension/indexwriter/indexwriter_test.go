package indexwriter_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"

	"github.com/gonutch/crawler/sdk/extension/indexwriter"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/internal/pb/indexwriterv1"
	"github.com/gonutch/crawler/sdk/internal/rpctest"
	"github.com/gonutch/crawler/sdk/model"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type script struct {
	calls   []string
	params  indexwriter.Params
	ops     []indexwriter.Op
	results []indexwriter.Result
	err     error
}

func (s *script) Open(_ context.Context, instance string, p indexwriter.Params) error {
	s.calls, s.params = append(s.calls, "open "+instance), p
	return s.err
}

func (s *script) Write(_ context.Context, instance string, ops []indexwriter.Op) ([]indexwriter.Result, error) {
	s.calls, s.ops = append(s.calls, "write "+instance), ops
	return s.results, s.err
}

func (s *script) Commit(_ context.Context, instance string) error {
	s.calls = append(s.calls, "commit "+instance)
	return s.err
}

func (s *script) Close(_ context.Context, instance string) error {
	s.calls = append(s.calls, "close "+instance)
	return s.err
}

func TestRoundTrip(t *testing.T) {
	doc := rpctest.Filled[model.Document]()
	ops := []indexwriter.Op{{Doc: doc}, {Kind: indexwriter.Delete, Doc: model.Document{ID: "\xff"}}, {}}
	s := &script{results: []indexwriter.Result{{}, {Rejected: "too old \xff"}, {Rejected: "busy", Later: true}}}
	c := indexwriter.NewClient(rpctest.Connect(t, func(r grpc.ServiceRegistrar) {
		indexwriter.Register(r, func() (indexwriter.Writer, error) { return s, nil })
	}))
	ctx := rpctest.Context(t)
	params := indexwriter.Params{"url": "http://h\xff/"}
	if err := c.Open(ctx, "a\xff", params); err != nil {
		t.Fatal(err)
	}
	results, err := c.Write(ctx, "b", ops)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Commit(ctx, "c"); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(ctx, ""); err != nil {
		t.Fatal(err)
	}
	if d := rpctest.Diff([]string{"open a\xff", "write b", "commit c", "close "}, s.calls); d != "" {
		t.Error(d)
	}
	if d := rpctest.Diff(params, s.params); d != "" {
		t.Error(d)
	}
	if d := rpctest.Diff(ops, s.ops); d != "" {
		t.Errorf("operations (-sent +received):\n%s", d)
	}
	if d := rpctest.Diff(s.results, results); d != "" {
		t.Errorf("results (-sent +received):\n%s", d)
	}
	if results, err = c.Write(ctx, "b", nil); len(results) != 0 || err != nil {
		t.Errorf("no operations: %v, %v", results, err)
	}

	s.err = fault.Errorf(fault.Transient, "down \xff")
	_, werr := c.Write(ctx, "b", ops)
	for name, err := range map[string]error{
		"open": c.Open(ctx, "a", nil), "write": werr, "commit": c.Commit(ctx, "a"), "close": c.Close(ctx, "a"),
	} {
		if !fault.Is(err, fault.Transient) || err.Error() != "indexwriter: "+name+": down \xff" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWrongLength(t *testing.T) {
	for _, n := range []int{0, 1, 3} {
		c := indexwriter.NewClient(rpctest.Connect(t, func(r grpc.ServiceRegistrar) {
			indexwriter.Register(r, func() (indexwriter.Writer, error) { return &script{results: make([]indexwriter.Result, n)}, nil })
		}))
		if _, err := c.Write(rpctest.Context(t), "a", make([]indexwriter.Op, 2)); !fault.Is(err, fault.Invalid) {
			t.Errorf("%d results for 2 operations: %v", n, err)
		}
	}
}

type rogue struct {
	indexwriterv1.UnimplementedIndexWriterServiceServer
}

func (rogue) Write(context.Context, *indexwriterv1.WriteRequest) (*indexwriterv1.WriteResponse, error) {
	return &indexwriterv1.WriteResponse{Count: 1, Rejections: []*indexwriterv1.Rejection{{Index: 1}}}, nil
}

func TestMalformedAnswer(t *testing.T) {
	c := indexwriter.NewClient(rpctest.Connect(t, func(s grpc.ServiceRegistrar) {
		indexwriterv1.RegisterIndexWriterServiceServer(s, rogue{})
	}))
	if _, err := c.Write(rpctest.Context(t), "a", make([]indexwriter.Op, 1)); !fault.Is(err, fault.Invalid) {
		t.Errorf("got %v", err)
	}
}

type described struct {
	script
	sample []model.Document
	desc   *indexwriter.Description
}

func (d *described) Describe(_ context.Context, instance string, sample []model.Document) (*indexwriter.Description, error) {
	d.calls, d.sample = append(d.calls, "describe "+instance), sample
	return d.desc, d.err
}

func TestDescribe(t *testing.T) {
	full := rpctest.Filled[indexwriter.Description]()
	sample := []model.Document{rpctest.Filled[model.Document]()}
	for name, want := range map[string]*indexwriter.Description{"full": &full, "empty": {}, "nil": nil} {
		d := &described{desc: want}
		c := indexwriter.NewClient(rpctest.Connect(t, func(r grpc.ServiceRegistrar) {
			indexwriter.Register(r, func() (indexwriter.Writer, error) { return d, nil })
		}))
		got, err := c.Describe(rpctest.Context(t), "a\xff", sample)
		if err != nil {
			t.Fatal(err)
		}
		if want == nil {
			want = &indexwriter.Description{}
		}
		if diff := rpctest.Diff(want, got); diff != "" {
			t.Errorf("%s (-sent +received):\n%s", name, diff)
		}
		if diff := rpctest.Diff(sample, d.sample); diff != "" || d.calls[0] != "describe a\xff" {
			t.Errorf("%s: %v, sample %s", name, d.calls, diff)
		}
		d.err = fault.Errorf(fault.Denied, "no")
		if _, err := c.Describe(rpctest.Context(t), "a", nil); !fault.Is(err, fault.Denied) {
			t.Errorf("%s: %v", name, err)
		}
	}
	c := indexwriter.NewClient(rpctest.Connect(t, func(r grpc.ServiceRegistrar) {
		indexwriter.Register(r, func() (indexwriter.Writer, error) { return &script{}, nil })
	}))
	if got, err := c.Describe(rpctest.Context(t), "a", sample); err != nil || rpctest.Diff(&indexwriter.Description{}, got) != "" {
		t.Errorf("a writer without description: %+v, %v", got, err)
	}
}

// picky is a writer that checks parameters by themselves.
type picky struct{ indexwriter.Writer }

func (picky) Validate(_ context.Context, instance string, params indexwriter.Params) error {
	if params["charset"] != "utf-8" {
		return fmt.Errorf("open %s: %w", instance, fault.Param("charset", "charset = %q is unknown", params["charset"]))
	}
	return nil
}

// TestValidate: the parameter that an error is about comes over the wire, and a writer without
// Validate takes any.
func TestValidate(t *testing.T) {
	client := func(w indexwriter.Writer) *indexwriter.Client {
		return indexwriter.NewClient(rpctest.Connect(t, func(r grpc.ServiceRegistrar) {
			indexwriter.Register(r, func() (indexwriter.Writer, error) { return w, nil })
		}))
	}
	ctx := rpctest.Context(t)
	c := client(picky{})
	if err := c.Validate(ctx, "a", indexwriter.Params{"charset": "utf-8"}); err != nil {
		t.Error(err)
	}
	err := c.Validate(ctx, "a", indexwriter.Params{"charset": "klingon"})
	if name, text := fault.ParamOf(err); name != "charset" || text != `open a: charset = "klingon" is unknown` || !fault.Is(err, fault.Invalid) {
		t.Errorf("%q, %q, %v", name, text, err)
	}
	if err := client(struct{ indexwriter.Writer }{}).Validate(ctx, "a", nil); err != nil {
		t.Errorf("a writer that can't tell: %v", err)
	}
}

// patient is a writer whose index does not answer.
type patient struct{ script }

func (p *patient) Write(ctx context.Context, _ string, _ []indexwriter.Op) ([]indexwriter.Result, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestInTime: a writer that waits for its index until its context ends answers before the call's
// time is over, so that nobody takes its process for hung.
func TestInTime(t *testing.T) {
	t.Parallel()
	c := indexwriter.NewClient(rpctest.Connect(t, func(r grpc.ServiceRegistrar) {
		indexwriter.Register(r, func() (indexwriter.Writer, error) { return &patient{}, nil })
	}))
	const limit = 8 * time.Second // and an eighth of it for the answer
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	_, err := c.Write(ctx, "a", []indexwriter.Op{{}})
	if ctx.Err() != nil || !fault.Is(err, fault.Transient) || errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "no answer within") {
		t.Errorf("%v; the call's time is over: %v", err, ctx.Err())
	}
}
