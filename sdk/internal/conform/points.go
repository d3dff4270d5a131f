package conform

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"google.golang.org/grpc"

	"github.com/gonutch/crawler/sdk/extension/exchange"
	"github.com/gonutch/crawler/sdk/extension/indexingfilter"
	"github.com/gonutch/crawler/sdk/extension/parsefilter"
	"github.com/gonutch/crawler/sdk/extension/parser"
	"github.com/gonutch/crawler/sdk/extension/publisher"
	"github.com/gonutch/crawler/sdk/extension/segmentmerge"
	"github.com/gonutch/crawler/sdk/extension/urlexemption"
	"github.com/gonutch/crawler/sdk/extension/urlfilter"
	"github.com/gonutch/crawler/sdk/extension/urlnormalizer"
	"github.com/gonutch/crawler/sdk/internal/pb/exchangev1"
	"github.com/gonutch/crawler/sdk/internal/pb/indexingfilterv1"
	"github.com/gonutch/crawler/sdk/internal/pb/indexwriterv1"
	"github.com/gonutch/crawler/sdk/internal/pb/parsefilterv1"
	"github.com/gonutch/crawler/sdk/internal/pb/parserv1"
	"github.com/gonutch/crawler/sdk/internal/pb/protocolv1"
	"github.com/gonutch/crawler/sdk/internal/pb/publisherv1"
	"github.com/gonutch/crawler/sdk/internal/pb/scoringv1"
	"github.com/gonutch/crawler/sdk/internal/pb/searcherv1"
	"github.com/gonutch/crawler/sdk/internal/pb/segmentmergev1"
	"github.com/gonutch/crawler/sdk/internal/pb/urlexemptionv1"
	"github.com/gonutch/crawler/sdk/internal/pb/urlfilterv1"
	"github.com/gonutch/crawler/sdk/internal/pb/urlnormalizerv1"
	"github.com/gonutch/crawler/sdk/manifest"
	"github.com/gonutch/crawler/sdk/model"
)

// instance is the name of the one instance that the suite opens.
const instance = "conformance"

// point is one extension point's part of the suite.
type point struct {
	name  string
	probe func(ctx context.Context, conn grpc.ClientConnInterface) error // a call that asks for nothing
	cases []Case
}

func (s *Suite) points() []point {
	return []point{
		{manifest.Protocol, probeProtocol, s.protocol()},
		{manifest.Parser, func(ctx context.Context, conn grpc.ClientConnInterface) error {
			_, err := parserv1.NewParserServiceClient(conn).Parse(ctx, &parserv1.ParseRequest{})
			return err
		}, s.parser()},
		{manifest.ParseFilter, func(ctx context.Context, conn grpc.ClientConnInterface) error {
			_, err := parsefilterv1.NewParseFilterServiceClient(conn).FilterParses(ctx, &parsefilterv1.FilterParsesRequest{})
			return err
		}, s.parseFilter()},
		{manifest.URLNormalizer, func(ctx context.Context, conn grpc.ClientConnInterface) error {
			_, err := urlnormalizerv1.NewURLNormalizerServiceClient(conn).NormalizeURLs(ctx, &urlnormalizerv1.NormalizeURLsRequest{})
			return err
		}, s.urlNormalizer()},
		{manifest.URLFilter, func(ctx context.Context, conn grpc.ClientConnInterface) error {
			_, err := urlfilterv1.NewURLFilterServiceClient(conn).FilterURLs(ctx, &urlfilterv1.FilterURLsRequest{})
			return err
		}, s.urlFilter()},
		{manifest.URLExemption, func(ctx context.Context, conn grpc.ClientConnInterface) error {
			_, err := urlexemptionv1.NewURLExemptionServiceClient(conn).ExemptLinks(ctx, &urlexemptionv1.ExemptLinksRequest{})
			return err
		}, s.urlExemption()},
		{manifest.Scoring, func(ctx context.Context, conn grpc.ClientConnInterface) error {
			_, err := scoringv1.NewScoringServiceClient(conn).Score(ctx, &scoringv1.ScoreRequest{})
			return err
		}, s.scoring()},
		{manifest.IndexingFilter, func(ctx context.Context, conn grpc.ClientConnInterface) error {
			_, err := indexingfilterv1.NewIndexingFilterServiceClient(conn).FilterDocuments(ctx, &indexingfilterv1.FilterDocumentsRequest{})
			return err
		}, s.indexingFilter()},
		{manifest.Exchange, func(ctx context.Context, conn grpc.ClientConnInterface) error {
			_, err := exchangev1.NewExchangeServiceClient(conn).MatchDocuments(ctx, &exchangev1.MatchDocumentsRequest{})
			return err
		}, s.exchange()},
		{manifest.IndexWriter, func(ctx context.Context, conn grpc.ClientConnInterface) error {
			_, err := indexwriterv1.NewIndexWriterServiceClient(conn).Write(ctx, &indexwriterv1.WriteRequest{})
			return err
		}, s.indexWriter()},
		{manifest.Publisher, func(ctx context.Context, conn grpc.ClientConnInterface) error {
			_, err := publisherv1.NewPublisherServiceClient(conn).Publish(ctx, &publisherv1.PublishRequest{})
			return err
		}, s.publisher()},
		{manifest.SegmentMerge, func(ctx context.Context, conn grpc.ClientConnInterface) error {
			_, err := segmentmergev1.NewSegmentMergeServiceClient(conn).KeepRecords(ctx, &segmentmergev1.KeepRecordsRequest{})
			return err
		}, s.segmentMerge()},
		{manifest.Searcher, func(ctx context.Context, conn grpc.ClientConnInterface) error {
			_, err := searcherv1.NewSearcherServiceClient(conn).Search(ctx, &searcherv1.SearchRequest{})
			return err
		}, s.searcher()},
	}
}

func probeProtocol(ctx context.Context, conn grpc.ClientConnInterface) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := protocolv1.NewProtocolServiceClient(conn).Fetch(ctx, &protocolv1.FetchRequest{})
	if err != nil {
		return err
	}
	if _, err = stream.Recv(); errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

func pointers[T any](in []T) []*T {
	out := make([]*T, len(in))
	for i := range in {
		out[i] = &in[i]
	}
	return out
}

func urlSize(u string) int { return len(u) }

func (s *Suite) urlFilter() []Case {
	return batch[string, urlfilter.Verdict]{
		samples: append(sampleURLs(), s.o.URLs...), odd: oddURLs(), size: urlSize,
		call: func(ctx context.Context, conn grpc.ClientConnInterface, in []string) ([]urlfilter.Verdict, []error, error) {
			return urlfilter.NewClient(conn).FilterURLs(ctx, in)
		},
	}.cases(s)
}

func (s *Suite) urlNormalizer() []Case {
	with := func(scope urlnormalizer.Scope) batch[string, urlnormalizer.Result] {
		return batch[string, urlnormalizer.Result]{
			samples: append(sampleURLs(), s.o.URLs...), odd: oddURLs(), size: urlSize,
			call: func(ctx context.Context, conn grpc.ClientConnInterface, in []string) ([]urlnormalizer.Result, []error, error) {
				return urlnormalizer.NewClient(conn).NormalizeURLs(ctx, scope, in)
			},
		}
	}
	cases := with(urlnormalizer.ScopeDefault).cases(s)
	scopes := []urlnormalizer.Scope{
		urlnormalizer.ScopeInject, urlnormalizer.ScopeOutlink, urlnormalizer.ScopeFetcher, urlnormalizer.ScopeCrawlDB, urlnormalizer.ScopeLinkDB,
		urlnormalizer.ScopeGenerateHostCount, urlnormalizer.ScopePartition, urlnormalizer.ScopeIndexer, "another",
	}
	return append(cases, Case{Name: "every scope", run: func(t *T) {
		for _, scope := range scopes {
			b := with(scope)
			b.ask(t, s.shared(t), append(b.samples, b.odd...))
		}
	}})
}

func (s *Suite) urlExemption() []Case {
	return batch[urlexemption.Pair, bool]{
		samples: append(sampleLinks(), s.o.Links...), odd: oddLinks(), size: func(p urlexemption.Pair) int { return len(p.From) + len(p.To) },
		call: func(ctx context.Context, conn grpc.ClientConnInterface, in []urlexemption.Pair) ([]bool, []error, error) {
			return urlexemption.NewClient(conn).ExemptLinks(ctx, in)
		},
	}.cases(s)
}

func (s *Suite) parser() []Case {
	return batch[parser.Input, *parser.Output]{
		samples: append(documents(s.m), s.o.Documents...), odd: oddDocuments(),
		size: func(d parser.Input) int { return len(d.Content.Body) },
		call: func(ctx context.Context, conn grpc.ClientConnInterface, in []parser.Input) ([]*parser.Output, []error, error) {
			return parser.NewClient(conn).ParseDocuments(ctx, pointers(in))
		},
		check: func(in parser.Input, out *parser.Output) error {
			first := out.Parses[0]
			switch {
			case len(in.Facts) > 0 && first.Status.OK() && len(first.Facts) != len(in.Facts):
				return fmt.Errorf("%d results for %d facts", len(first.Facts), len(in.Facts))
			case first.Status.Major != model.ParseSuccess && first.Status.Major != model.ParseFailed && first.Status.Major != model.ParseNotParsed:
				return fmt.Errorf("parse status %s is unknown", first.Status)
			}
			return nil
		},
	}.cases(s)
}

func (s *Suite) parseFilter() []Case {
	var facts []model.Fact
	if c, err := Configuration(s.m, s.o.Settings, s.o.Sections); err == nil { // else Configure fails and says so
		facts, _ = s.m.Facts(c.Own)
	}
	samples, odd := parses(facts)
	return batch[parsefilter.Input, *parsefilter.Patch]{
		samples: append(samples, s.o.Parses...), odd: odd, size: func(d parsefilter.Input) int { return len(d.Parse.Text) + len(samplePage) },
		call: func(ctx context.Context, conn grpc.ClientConnInterface, in []parsefilter.Input) ([]*parsefilter.Patch, []error, error) {
			return parsefilter.NewClient(conn).FilterParses(ctx, pointers(in))
		},
	}.cases(s)
}

func (s *Suite) indexingFilter() []Case {
	samples, odd := indexInputs()
	return batch[indexingfilter.Input, *indexingfilter.Patch]{
		samples: append(samples, s.o.Index...), odd: odd, size: func(d indexingfilter.Input) int { return len(d.URL) + len(d.Parse.Text) + len(samplePage) },
		call: func(ctx context.Context, conn grpc.ClientConnInterface, in []indexingfilter.Input) ([]*indexingfilter.Patch, []error, error) {
			return indexingfilter.NewClient(conn).FilterDocuments(ctx, pointers(in))
		},
	}.cases(s)
}

func (s *Suite) segmentMerge() []Case {
	samples, odd := merges()
	return batch[segmentmerge.Record, bool]{
		samples: append(samples, s.o.Merges...), odd: odd, size: func(d segmentmerge.Record) int { return len(d.URL) + 1000 },
		call: func(ctx context.Context, conn grpc.ClientConnInterface, in []segmentmerge.Record) ([]bool, []error, error) {
			return segmentmerge.NewClient(conn).KeepRecords(ctx, pointers(in))
		},
	}.cases(s)
}

func (s *Suite) exchange() []Case {
	cases := batch[model.Document, bool]{
		samples: append(sampleDocs(), s.o.Docs...), odd: oddDocs(),
		call: func(ctx context.Context, conn grpc.ClientConnInterface, in []model.Document) ([]bool, []error, error) {
			return exchange.NewClient(conn).MatchDocuments(ctx, instance, pointers(in))
		},
	}.cases(s)
	return append([]Case{{Name: "open", run: func(t *T) {
		for range 2 {
			if err := exchange.NewClient(s.shared(t)).Open(t.ctx, instance, Params(s.m, s.o.Params)); err != nil {
				t.errorf("%v", err)
			}
		}
	}}}, cases...)
}

func (s *Suite) publisher() []Case {
	return []Case{{Name: "publish", run: func(t *T) {
		c := publisher.NewClient(s.shared(t))
		events := []publisher.Event{
			{Type: publisher.Start, URL: "http://example.org/", Time: sampleTime(), Data: model.Metadata{"k": {"v"}}},
			{Type: publisher.End, URL: "\xff", Time: sampleTime()},
			{Type: publisher.Report},
		}
		for range 2 {
			if err := c.Publish(t.ctx, events); err != nil {
				t.errorf("%v", err)
			}
		}
		ctx, cancel := context.WithCancel(t.ctx)
		cancel()
		if err := c.Publish(ctx, events); !errors.Is(err, context.Canceled) {
			t.errorf("cancelled: got %v", err)
		}
	}}}
}

func finite(f float64) error {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return fmt.Errorf("%v is no number to multiply with", f)
	}
	return nil
}
