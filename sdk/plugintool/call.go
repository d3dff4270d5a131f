package plugintool

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"google.golang.org/grpc"

	"github.com/gonutch/crawler/sdk/extension/exchange"
	"github.com/gonutch/crawler/sdk/extension/indexingfilter"
	"github.com/gonutch/crawler/sdk/extension/indexwriter"
	"github.com/gonutch/crawler/sdk/extension/parsefilter"
	"github.com/gonutch/crawler/sdk/extension/parser"
	"github.com/gonutch/crawler/sdk/extension/protocol"
	"github.com/gonutch/crawler/sdk/extension/publisher"
	"github.com/gonutch/crawler/sdk/extension/scoring"
	"github.com/gonutch/crawler/sdk/extension/searcher"
	"github.com/gonutch/crawler/sdk/extension/segmentmerge"
	"github.com/gonutch/crawler/sdk/extension/urlexemption"
	"github.com/gonutch/crawler/sdk/extension/urlfilter"
	"github.com/gonutch/crawler/sdk/extension/urlnormalizer"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/manifest"
	"github.com/gonutch/crawler/sdk/model"
)

// instance is the name that exchanges and writers are opened under.
const instance = "call"

// Form describes the items that Call takes at a point.
type Form struct {
	Point   string
	Item    string // what an item is
	Example string // one item
}

// Calls lists what Call takes. Objects have the fields of the SDK's Go types,
// by their names; bytes such as a body are base64, or text under "Text".
func Calls() []Form {
	return []Form{
		{manifest.Protocol, "a URL", `"http://example.org/"`},
		{manifest.Parser, "a document", `{"URL": "http://example.org/", "MIMEType": "text/html", "Text": "<a href=x>x</a>"}`},
		{manifest.ParseFilter, "a parsefilter.Input", `{"Parse": {"URL": "http://example.org/", "Text": "words"}}`},
		{manifest.URLNormalizer, "a URL", `"http://EXAMPLE.org"`},
		{manifest.URLFilter, "a URL", `"http://example.org/a.gif"`},
		{manifest.URLExemption, "a link", `{"From": "http://example.org/", "To": "http://other.example/x.png"}`},
		{manifest.Scoring, "a scoring.DistributeInput", `{"URL": "http://example.org/", "Fields": {"opic_cash": 1000000}, "Targets": [{"URL": "http://example.org/a"}]}`},
		{manifest.IndexingFilter, "an indexingfilter.Input", `{"URL": "http://example.org/", "Parse": {"Title": "Example"}}`},
		{manifest.Exchange, "a model.Document", `{"ID": "http://example.org/", "Fields": {"host": ["example.org"]}}`},
		{manifest.IndexWriter, "a model.Document, written and committed", `{"ID": "http://example.org/", "Fields": {"title": ["Example"]}}`},
		{manifest.Publisher, "a publisher.Event", `{"Type": "END", "URL": "http://example.org/"}`},
		{manifest.SegmentMerge, "a segmentmerge.Record", `{"URL": "http://example.org/"}`},
		{manifest.Searcher, "a searcher.Query", `{"Text": "words", "Limit": 3}`},
	}
}

// document is a parser's item: a content whose body may be given as text.
type document struct {
	model.Content
	Text  string
	Facts []model.Fact
}

func callOf(point string) (call, error) {
	switch point {
	case manifest.Protocol:
		return one(func(ctx context.Context, conn grpc.ClientConnInterface, _ map[string]string, url string) (*protocol.Response, error) {
			return protocol.NewClient(conn).Fetch(ctx, &protocol.Request{URL: url})
		}), nil
	case manifest.Parser:
		return each(func(ctx context.Context, conn grpc.ClientConnInterface, _ map[string]string, in []document) ([]*parser.Output, []error, error) {
			return parser.NewClient(conn).ParseDocuments(ctx, documents(in))
		}), nil
	case manifest.ParseFilter:
		return each(func(ctx context.Context, conn grpc.ClientConnInterface, _ map[string]string, in []parsefilter.Input) ([]*parsefilter.Patch, []error, error) {
			return parsefilter.NewClient(conn).FilterParses(ctx, pointers(in))
		}), nil
	case manifest.URLNormalizer:
		return each(func(ctx context.Context, conn grpc.ClientConnInterface, _ map[string]string, in []string) ([]urlnormalizer.Result, []error, error) {
			return urlnormalizer.NewClient(conn).NormalizeURLs(ctx, urlnormalizer.ScopeDefault, in)
		}), nil
	case manifest.URLFilter:
		return each(func(ctx context.Context, conn grpc.ClientConnInterface, _ map[string]string, in []string) ([]urlfilter.Verdict, []error, error) {
			return urlfilter.NewClient(conn).FilterURLs(ctx, in)
		}), nil
	case manifest.URLExemption:
		return each(func(ctx context.Context, conn grpc.ClientConnInterface, _ map[string]string, in []urlexemption.Pair) ([]bool, []error, error) {
			return urlexemption.NewClient(conn).ExemptLinks(ctx, in)
		}), nil
	case manifest.Scoring:
		return each(func(ctx context.Context, conn grpc.ClientConnInterface, _ map[string]string, in []scoring.DistributeInput) ([]scoring.DistributeOutput, []error, error) {
			out, err := scoring.NewClient(conn).Distribute(ctx, in)
			return out, nil, err
		}), nil
	case manifest.IndexingFilter:
		return each(func(ctx context.Context, conn grpc.ClientConnInterface, _ map[string]string, in []indexingfilter.Input) ([]*indexingfilter.Patch, []error, error) {
			return indexingfilter.NewClient(conn).FilterDocuments(ctx, pointers(in))
		}), nil
	case manifest.SegmentMerge:
		return each(func(ctx context.Context, conn grpc.ClientConnInterface, _ map[string]string, in []segmentmerge.Record) ([]bool, []error, error) {
			return segmentmerge.NewClient(conn).KeepRecords(ctx, pointers(in))
		}), nil
	}
	return indexCallOf(point)
}

// indexCallOf is callOf for the points around an index.
func indexCallOf(point string) (call, error) {
	switch point {
	case manifest.Exchange:
		return each(func(ctx context.Context, conn grpc.ClientConnInterface, params map[string]string, in []model.Document) ([]bool, []error, error) {
			c := exchange.NewClient(conn)
			if err := c.Open(ctx, instance, params); err != nil {
				return nil, nil, err
			}
			return c.MatchDocuments(ctx, instance, pointers(in))
		}), nil
	case manifest.IndexWriter:
		return each(write), nil
	case manifest.Publisher:
		return each(func(ctx context.Context, conn grpc.ClientConnInterface, _ map[string]string, in []publisher.Event) ([]bool, []error, error) {
			out := make([]bool, len(in))
			for i := range out {
				out[i] = true
			}
			return out, nil, publisher.NewClient(conn).Publish(ctx, in)
		}), nil
	case manifest.Searcher:
		return one(func(ctx context.Context, conn grpc.ClientConnInterface, params map[string]string, q searcher.Query) (*searcher.Result, error) {
			// A searcher that is no writer has nothing to open.
			if err := indexwriter.NewClient(conn).Open(ctx, instance, params); err != nil && !strings.Contains(err.Error(), "Unimplemented") {
				return nil, err
			}
			return searcher.NewClient(conn).Search(ctx, instance, &q)
		}), nil
	}
	return nil, fault.Errorf(fault.Invalid, "there is no extension point %q; there are %s", point, strings.Join(manifest.Points(), ", "))
}

func write(ctx context.Context, conn grpc.ClientConnInterface, params map[string]string, in []model.Document) ([]indexwriter.Result, []error, error) {
	c := indexwriter.NewClient(conn)
	if err := c.Open(ctx, instance, params); err != nil {
		return nil, nil, err
	}
	ops := make([]indexwriter.Op, len(in))
	for i := range in {
		ops[i].Doc = in[i]
	}
	out, err := c.Write(ctx, instance, ops)
	if err != nil {
		return nil, nil, err
	}
	if err := c.Commit(ctx, instance); err != nil {
		return nil, nil, err
	}
	return out, nil, c.Close(ctx, instance)
}

func documents(in []document) []*parser.Input {
	out := make([]*parser.Input, len(in))
	for i, d := range in {
		if d.Text != "" {
			d.Body = []byte(d.Text)
		}
		if d.Base == "" {
			d.Base = d.URL
		}
		out[i] = &parser.Input{Content: d.Content, Facts: d.Facts}
	}
	return out
}

func pointers[T any](in []T) []*T {
	out := make([]*T, len(in))
	for i := range in {
		out[i] = &in[i]
	}
	return out
}

// item is the answer to one item.
type item[O any] struct {
	Answer *O     `json:"answer,omitempty"`
	Error  string `json:"error,omitempty"`
	Kind   string `json:"kind,omitempty"`
}

// each makes a call of a batch call.
func each[I, O any](ask func(ctx context.Context, conn grpc.ClientConnInterface, params map[string]string, in []I) ([]O, []error, error)) call {
	return func(ctx context.Context, conn grpc.ClientConnInterface, params map[string]string, input json.RawMessage) (json.RawMessage, error) {
		in, err := items[I](input)
		if err != nil {
			return nil, err
		}
		out, errs, err := ask(ctx, conn, params, in)
		if err != nil {
			return nil, err
		}
		answers := make([]item[O], len(in))
		for i := range answers {
			if errs != nil && errs[i] != nil {
				answers[i] = item[O]{Error: errs[i].Error(), Kind: fault.KindOf(errs[i]).String()}
			} else {
				answers[i].Answer = &out[i]
			}
		}
		return json.Marshal(answers)
	}
}

// one makes a call of a call that takes one item at a time.
func one[I, O any](ask func(ctx context.Context, conn grpc.ClientConnInterface, params map[string]string, in I) (O, error)) call {
	return each(func(ctx context.Context, conn grpc.ClientConnInterface, params map[string]string, in []I) ([]O, []error, error) {
		out, errs := make([]O, len(in)), make([]error, len(in))
		for i := range in {
			out[i], errs[i] = ask(ctx, conn, params, in[i])
		}
		return out, errs, nil
	})
}

func items[I any](input json.RawMessage) ([]I, error) {
	var in []I
	d := json.NewDecoder(strings.NewReader(string(input)))
	d.DisallowUnknownFields()
	if err := d.Decode(&in); err != nil {
		return nil, fault.New(fault.Invalid, fmt.Errorf("read input: want a JSON array of items: %w", err))
	}
	return in, nil
}
