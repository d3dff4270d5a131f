package scoring

import (
	"context"
	"fmt"

	"google.golang.org/grpc"

	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/internal/pb/modelv1"
	"github.com/gonutch/crawler/sdk/internal/pb/scoringv1"
	"github.com/gonutch/crawler/sdk/internal/rpc"
	"github.com/gonutch/crawler/sdk/internal/wire"
	"github.com/gonutch/crawler/sdk/model"
)

// Register serves on s what impl returns; impl is asked at every call.
func Register(s grpc.ServiceRegistrar, impl func() (Filter, error)) {
	scoringv1.RegisterScoringServiceServer(s, &server{impl: impl})
}

type server struct {
	scoringv1.UnimplementedScoringServiceServer
	impl func() (Filter, error)
}

func rangeError(what string, i, n int) error { return fmt.Errorf("%s %d of %d", what, i, n) }
func lengthError(what string, n, of int) error {
	return fmt.Errorf("%d %s for %d targets", n, what, of)
}

// answered checks the length of what the filter returned, so that a filter with
// a bug is told apart from one that speaks the wire wrongly.
func answered(err error, got, want int) error {
	if err == nil && got != want {
		err = rpc.WrongLength("scoring", got, want)
	}
	return err
}

// fieldsList unpacks the fields of n items.
func fieldsList(n int, fieldNames [][]byte, at func(i int) *modelv1.Fields) ([]model.Fields, error) {
	names := wire.TextList(fieldNames)
	out := make([]model.Fields, n)
	for i := range out {
		var err error
		if out[i], err = wire.FieldsFrom(at(i), names); err != nil {
			return nil, fault.New(fault.Invalid, err)
		}
	}
	return out, nil
}

func (s *server) Injected(ctx context.Context, r *scoringv1.InjectedRequest) (*scoringv1.InjectedResponse, error) {
	f, err := s.impl()
	if err != nil {
		return nil, err
	}
	in := make([]InjectInput, len(r.GetSeeds()))
	for i, d := range r.GetSeeds() {
		in[i] = InjectInput{URL: wire.Text(d.GetUrl()), Score: d.GetScore(), Metadata: wire.MetadataFrom(d.GetMetadata())}
	}
	out, err := f.Injected(ctx, in)
	if err := answered(err, len(out), len(in)); err != nil {
		return nil, err
	}
	var names wire.Names
	a := &scoringv1.InjectedResponse{Fields: make([]*modelv1.Fields, len(out))}
	for i := range out {
		if a.Fields[i] = names.Fields(out[i]); a.Fields[i] == nil {
			a.Fields[i] = &modelv1.Fields{}
		}
	}
	a.FieldNames = names.List()
	return a, nil
}

func (s *server) Distribute(ctx context.Context, r *scoringv1.DistributeRequest) (*scoringv1.DistributeResponse, error) {
	f, err := s.impl()
	if err != nil {
		return nil, err
	}
	in, err := distributeInputs(r)
	if err != nil {
		return nil, err
	}
	out, err := f.Distribute(ctx, in)
	if err := answered(err, len(out), len(in)); err != nil {
		return nil, err
	}
	var names wire.Names
	a := &scoringv1.DistributeResponse{Distributions: make([]*scoringv1.Distribution, len(out))}
	for i := range out {
		a.Distributions[i] = distribution(&names, &out[i])
	}
	a.FieldNames = names.List()
	return a, nil
}

func distributeInputs(r *scoringv1.DistributeRequest) ([]DistributeInput, error) {
	pages := r.GetPages()
	fields, err := fieldsList(len(pages), r.GetFieldNames(), func(i int) *modelv1.Fields { return pages[i].GetFields() })
	if err != nil {
		return nil, err
	}
	in := make([]DistributeInput, len(pages))
	for i, d := range pages {
		t := d.GetTargets()
		n := len(t.GetUrls())
		if len(t.GetAnchors()) != n || len(t.GetInternal()) != n {
			return nil, fault.Errorf(fault.Invalid, "page %d: %d targets with %d anchors", i, n, len(t.GetAnchors()))
		}
		targets := make([]Target, n)
		for j := range targets {
			targets[j] = Target{URL: wire.Text(t.GetUrls()[j]), Anchor: wire.Text(t.GetAnchors()[j]), Internal: t.GetInternal()[j]}
		}
		if err := wire.SparseMetadataFrom(t.GetMetadata(), n, func(j int, m model.Metadata) { targets[j].Metadata = m }); err != nil {
			return nil, fault.New(fault.Invalid, fmt.Errorf("page %d: %w", i, err))
		}
		in[i] = DistributeInput{
			URL: wire.Text(d.GetUrl()), Fields: fields[i], Metadata: wire.MetadataFrom(d.GetMetadata()), ParseMeta: wire.MetadataFrom(d.GetParseMeta()),
			Text: wire.Text(d.GetText()), Targets: targets, AllLinks: int(d.GetAllLinks()), Redirect: d.GetRedirect(),
		}
	}
	return in, nil
}

func (s *server) Score(ctx context.Context, r *scoringv1.ScoreRequest) (*scoringv1.ScoreResponse, error) {
	f, err := s.impl()
	if err != nil {
		return nil, err
	}
	records := r.GetRecords()
	fields, err := fieldsList(len(records), r.GetFieldNames(), func(i int) *modelv1.Fields { return records[i].GetFields() })
	if err != nil {
		return nil, err
	}
	in := make([]ScoreInput, len(records))
	for i, d := range records {
		status, err := wire.StatusOf(d.GetStatus())
		if err != nil {
			return nil, fault.New(fault.Invalid, err)
		}
		in[i] = ScoreInput{
			URL: wire.Text(d.GetUrl()), Status: status, Fields: fields[i], Metadata: wire.MetadataFrom(d.GetMetadata()),
			Score: d.GetScore(), Sort: d.GetSort(),
		}
	}
	out, err := f.Score(ctx, in)
	if err := answered(err, len(out), len(in)); err != nil {
		return nil, err
	}
	var names wire.Names
	a := &scoringv1.ScoreResponse{Scores: make([]int64, len(out)), Sorts: make([]int64, len(out))}
	for i := range out {
		a.Scores[i], a.Sorts[i] = out[i].Score, out[i].Sort
	}
	a.Set = sparseFields(&names, len(out), func(i int) model.Fields { return out[i].Set })
	a.FieldNames = names.List()
	return a, nil
}

func (s *server) Orphaned(ctx context.Context, r *scoringv1.OrphanedRequest) (*scoringv1.OrphanedResponse, error) {
	f, err := s.impl()
	if err != nil {
		return nil, err
	}
	orphans := r.GetOrphans()
	fields, err := fieldsList(len(orphans), r.GetFieldNames(), func(i int) *modelv1.Fields { return orphans[i].GetFields() })
	if err != nil {
		return nil, err
	}
	in := make([]OrphanInput, len(orphans))
	for i, d := range orphans {
		status, err := wire.StatusOf(d.GetStatus())
		if err != nil {
			return nil, fault.New(fault.Invalid, err)
		}
		in[i] = OrphanInput{
			URL: wire.Text(d.GetUrl()), Status: status, Fields: fields[i], NowUnix: d.GetNowUnix(), Metadata: wire.MetadataFrom(d.GetMetadata()),
		}
	}
	out, err := f.Orphaned(ctx, in)
	if err := answered(err, len(out), len(in)); err != nil {
		return nil, err
	}
	var names wire.Names
	a := &scoringv1.OrphanedResponse{Statuses: make([]uint32, len(out))}
	for i := range out {
		a.Statuses[i] = uint32(out[i].Status)
		if out[i].Again != 0 && a.Again == nil {
			a.Again = make([]int64, len(out))
		}
		if a.Again != nil {
			a.Again[i] = out[i].Again
		}
	}
	a.Set = sparseFields(&names, len(out), func(i int) model.Fields { return out[i].Set })
	a.FieldNames = names.List()
	return a, nil
}

func (s *server) Boost(ctx context.Context, r *scoringv1.BoostRequest) (*scoringv1.BoostResponse, error) {
	f, err := s.impl()
	if err != nil {
		return nil, err
	}
	docs := r.GetDocuments()
	fields, err := fieldsList(len(docs), r.GetFieldNames(), func(i int) *modelv1.Fields { return docs[i].GetFields() })
	if err != nil {
		return nil, err
	}
	in := make([]IndexInput, len(docs))
	for i, d := range docs {
		in[i] = IndexInput{
			URL: wire.Text(d.GetUrl()), Score: d.GetScore(), Fields: fields[i], ParseMeta: wire.MetadataFrom(d.GetParseMeta()), Boost: d.GetBoost(),
		}
	}
	out, err := f.Boost(ctx, in)
	if err := answered(err, len(out), len(in)); err != nil {
		return nil, err
	}
	return &scoringv1.BoostResponse{Boosts: out}, nil
}
