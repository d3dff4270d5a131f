package scoring

import (
	"context"

	"google.golang.org/grpc"

	"github.com/gonutch/crawler/sdk/internal/pb/scoringv1"
	"github.com/gonutch/crawler/sdk/internal/rpc"
	"github.com/gonutch/crawler/sdk/internal/wire"
	"github.com/gonutch/crawler/sdk/model"
)

// Client is a scoring filter in another process.
type Client struct {
	c scoringv1.ScoringServiceClient
}

var _ Filter = (*Client)(nil)

// NewClient returns the client of the scoring filter that cc leads to.
func NewClient(cc grpc.ClientConnInterface) *Client {
	return &Client{scoringv1.NewScoringServiceClient(cc)}
}

// Injected implements Filter.
func (c *Client) Injected(ctx context.Context, in []InjectInput) ([]model.Fields, error) {
	const what = "scoring: injected"
	if len(in) == 0 {
		return nil, nil
	}
	req := &scoringv1.InjectedRequest{Seeds: make([]*scoringv1.Seed, len(in))}
	for i, d := range in {
		req.Seeds[i] = &scoringv1.Seed{Url: wire.Bytes(d.URL), Score: d.Score, Metadata: wire.Metadata(d.Metadata)}
	}
	r, err := c.c.Injected(ctx, req)
	if err := rpc.Answer(ctx, what, err, len(r.GetFields()), len(in)); err != nil {
		return nil, err
	}
	names := wire.TextList(r.GetFieldNames())
	out := make([]model.Fields, len(in))
	for i, f := range r.GetFields() {
		if out[i], err = wire.FieldsFrom(f, names); err != nil {
			return nil, rpc.Malformed(what, "%v", err)
		}
	}
	return out, nil
}

// Distribute implements Filter.
func (c *Client) Distribute(ctx context.Context, in []DistributeInput) ([]DistributeOutput, error) {
	const what = "scoring: distribute"
	if len(in) == 0 {
		return nil, nil
	}
	r, err := c.c.Distribute(ctx, distributeRequest(in))
	if err := rpc.Answer(ctx, what, err, len(r.GetDistributions()), len(in)); err != nil {
		return nil, err
	}
	names := wire.TextList(r.GetFieldNames())
	out := make([]DistributeOutput, len(in))
	for i, d := range r.GetDistributions() {
		if out[i], err = distributionFrom(d, names, len(in[i].Targets)); err != nil {
			return nil, rpc.Malformed(what, "page %d: %v", i, err)
		}
	}
	return out, nil
}

func distributeRequest(in []DistributeInput) *scoringv1.DistributeRequest {
	req := &scoringv1.DistributeRequest{Pages: make([]*scoringv1.Page, len(in))}
	var names wire.Names
	for i := range in {
		d := &in[i]
		n := len(d.Targets)
		t := &scoringv1.Targets{Urls: make([][]byte, n), Anchors: make([][]byte, n), Internal: make([]bool, n)}
		for j := range d.Targets {
			t.Urls[j], t.Anchors[j], t.Internal[j] = wire.Bytes(d.Targets[j].URL), wire.Bytes(d.Targets[j].Anchor), d.Targets[j].Internal
		}
		t.Metadata = wire.SparseMetadata(n, func(j int) model.Metadata { return d.Targets[j].Metadata })
		req.Pages[i] = &scoringv1.Page{
			Url: wire.Bytes(d.URL), Fields: names.Fields(d.Fields), Metadata: wire.Metadata(d.Metadata), ParseMeta: wire.Metadata(d.ParseMeta),
			Text: wire.Bytes(d.Text), Targets: t, AllLinks: int64(d.AllLinks), Redirect: d.Redirect,
		}
	}
	req.FieldNames = names.List()
	return req
}

// Score implements Filter.
func (c *Client) Score(ctx context.Context, in []ScoreInput) ([]ScoreOutput, error) {
	const what = "scoring: score"
	if len(in) == 0 {
		return nil, nil
	}
	req := &scoringv1.ScoreRequest{Records: make([]*scoringv1.Record, len(in))}
	var names wire.Names
	for i := range in {
		d := &in[i]
		req.Records[i] = &scoringv1.Record{
			Url: wire.Bytes(d.URL), Status: uint32(d.Status), Fields: names.Fields(d.Fields), Metadata: wire.Metadata(d.Metadata),
			Score: d.Score, Sort: d.Sort,
		}
	}
	req.FieldNames = names.List()
	r, err := c.c.Score(ctx, req)
	if err := rpc.Answer(ctx, what, err, len(r.GetScores()), len(in)); err != nil {
		return nil, err
	}
	if n := len(r.GetSorts()); n != len(in) {
		return nil, rpc.WrongLength(what+": sort values", n, len(in))
	}
	out := make([]ScoreOutput, len(in))
	for i := range out {
		out[i].Score, out[i].Sort = r.GetScores()[i], r.GetSorts()[i]
	}
	err = sparseFieldsFrom(r.GetSet(), r.GetFieldNames(), len(in), func(i int, f model.Fields) { out[i].Set = f })
	if err != nil {
		return nil, rpc.Malformed(what, "%v", err)
	}
	return out, nil
}

// Orphaned implements Filter.
func (c *Client) Orphaned(ctx context.Context, in []OrphanInput) ([]OrphanOutput, error) {
	const what = "scoring: orphaned"
	if len(in) == 0 {
		return nil, nil
	}
	req := &scoringv1.OrphanedRequest{Orphans: make([]*scoringv1.Orphan, len(in))}
	var names wire.Names
	for i := range in {
		d := &in[i]
		req.Orphans[i] = &scoringv1.Orphan{
			Url: wire.Bytes(d.URL), Status: uint32(d.Status), Fields: names.Fields(d.Fields), NowUnix: d.NowUnix, Metadata: wire.Metadata(d.Metadata),
		}
	}
	req.FieldNames = names.List()
	r, err := c.c.Orphaned(ctx, req)
	if err := rpc.Answer(ctx, what, err, len(r.GetStatuses()), len(in)); err != nil {
		return nil, err
	}
	again := r.GetAgain()
	if len(again) != 0 && len(again) != len(in) {
		return nil, rpc.WrongLength(what+": times", len(again), len(in))
	}
	out := make([]OrphanOutput, len(in))
	for i := range again {
		out[i].Again = again[i]
	}
	for i, s := range r.GetStatuses() {
		if out[i].Status, err = wire.StatusOf(s); err != nil {
			return nil, rpc.Malformed(what, "%v", err)
		}
	}
	err = sparseFieldsFrom(r.GetSet(), r.GetFieldNames(), len(in), func(i int, f model.Fields) { out[i].Set = f })
	if err != nil {
		return nil, rpc.Malformed(what, "%v", err)
	}
	return out, nil
}

// Boost implements Filter.
func (c *Client) Boost(ctx context.Context, in []IndexInput) ([]float64, error) {
	if len(in) == 0 {
		return nil, nil
	}
	req := &scoringv1.BoostRequest{Documents: make([]*scoringv1.Weighed, len(in))}
	var names wire.Names
	for i := range in {
		d := &in[i]
		req.Documents[i] = &scoringv1.Weighed{
			Url: wire.Bytes(d.URL), Score: d.Score, Fields: names.Fields(d.Fields), ParseMeta: wire.Metadata(d.ParseMeta), Boost: d.Boost,
		}
	}
	req.FieldNames = names.List()
	r, err := c.c.Boost(ctx, req)
	if err := rpc.Answer(ctx, "scoring: boost", err, len(r.GetBoosts()), len(in)); err != nil {
		return nil, err
	}
	return r.GetBoosts(), nil
}

// sparseFields packs the fields of the items that have any.
func sparseFields(names *wire.Names, n int, at func(i int) model.Fields) []*scoringv1.ItemFields {
	var out []*scoringv1.ItemFields
	for i := range n {
		if f := at(i); len(f) > 0 {
			out = append(out, &scoringv1.ItemFields{Index: uint32(i), Fields: names.Fields(f)})
		}
	}
	return out
}

func sparseFieldsFrom(in []*scoringv1.ItemFields, fieldNames [][]byte, n int, set func(i int, f model.Fields)) error {
	names := wire.TextList(fieldNames)
	for _, e := range in {
		if int(e.GetIndex()) >= n {
			return rangeError("fields of item", int(e.GetIndex()), n)
		}
		f, err := wire.FieldsFrom(e.GetFields(), names)
		if err != nil {
			return err
		}
		set(int(e.GetIndex()), f)
	}
	return nil
}

func distributionFrom(d *scoringv1.Distribution, names []string, targets int) (DistributeOutput, error) {
	out := DistributeOutput{Drop: d.GetDrop()}
	for _, col := range d.GetColumns() {
		if int(col.GetName()) >= len(names) {
			return out, rangeError("score field number", int(col.GetName()), len(names))
		}
		if len(col.GetValues()) != targets {
			return out, lengthError("effects", len(col.GetValues()), targets)
		}
		out.Columns = append(out.Columns, Column{Field: names[col.GetName()], Values: col.GetValues()})
	}
	if len(out.Drop) != 0 && len(out.Drop) != targets {
		return out, lengthError("drops", len(out.Drop), targets)
	}
	var err error
	if out.Self, err = wire.FieldsFrom(d.GetSelf(), names); err != nil {
		return out, err
	}
	err = wire.SparseMetadataFrom(d.GetMetadata(), targets, func(i int, m model.Metadata) {
		if out.Metadata == nil {
			out.Metadata = make([]model.Metadata, targets)
		}
		out.Metadata[i] = m
	})
	return out, err
}

func distribution(names *wire.Names, d *DistributeOutput) *scoringv1.Distribution {
	out := &scoringv1.Distribution{Self: names.Fields(d.Self), Drop: d.Drop}
	for _, col := range d.Columns {
		out.Columns = append(out.Columns, &scoringv1.Column{Name: names.Index(col.Field), Values: col.Values})
	}
	out.Metadata = wire.SparseMetadata(len(d.Metadata), func(i int) model.Metadata { return d.Metadata[i] })
	return out
}
