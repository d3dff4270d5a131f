// Package scoringorphan gives pages up that no page links to any more. It owns
// the field that says since when, and the two statuses that follow; finding the
// pages without inlinks is the core's.
package scoringorphan

import (
	"context"
	_ "embed"
	"time"

	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/extension/scoring"
	"github.com/gonutch/crawler/sdk/model"
	"github.com/gonutch/crawler/sdk/setting"
)

//go:embed plugin.hcl
var manifest []byte

const since = "orphan_since"

// Plugin returns the plugin.
func Plugin() sdk.Plugin { return sdk.Plugin{Manifest: manifest, New: build} }

// Config are the settings; see plugin.hcl.
type Config struct {
	GoneAfter   setting.Duration `json:"mark_gone_after"`
	OrphanAfter setting.Duration `json:"mark_orphan_after"`
}

func build(env sdk.Env) (*sdk.Extensions, error) {
	var c Config
	if err := env.Settings.Decode(&c); err != nil {
		return nil, err
	}
	if c.GoneAfter > c.OrphanAfter {
		env.Logger.Warn("mark_gone_after is more than mark_orphan_after: no page becomes db_gone on the way",
			"mark_gone_after", c.GoneAfter.String(), "mark_orphan_after", c.OrphanAfter.String())
	}
	return &sdk.Extensions{Scoring: &Filter{Config: c}}, nil
}

// Filter implements Nutch's OrphanScoringFilter. Nutch notes when a page's
// inlinks were last seen; a call that hands scores on has no clock, so here the
// count starts when the page is first found without inlinks, and every link
// sets it back. It keeps no state and is safe for concurrent use.
type Filter struct {
	scoring.Pass
	Config
}

// Distribute sets the count of all targets back: the smallest value wins.
func (f *Filter) Distribute(_ context.Context, in []scoring.DistributeInput) ([]scoring.DistributeOutput, error) {
	out := make([]scoring.DistributeOutput, len(in))
	for i := range in {
		if n := len(in[i].Targets); n > 0 {
			out[i].Columns = []scoring.Column{{Field: since, Values: make([]int64, n)}}
		}
	}
	return out, nil
}

// Orphaned starts the count, or changes the status when it has run long enough,
// and says when the next change is due.
func (f *Filter) Orphaned(_ context.Context, in []scoring.OrphanInput) ([]scoring.OrphanOutput, error) {
	out := make([]scoring.OrphanOutput, len(in))
	for i := range in {
		start, linked := in[i].Fields[since]
		switch {
		case !linked: // never had an inlink since the plugin is there: a seed
		case start <= 0:
			out[i].Set = model.Fields{since: in[i].NowUnix}
			out[i].Again = f.next(in[i].NowUnix, in[i].NowUnix)
		default:
			if s := f.status(in[i].NowUnix - start); s != in[i].Status {
				out[i].Status = s
			}
			out[i].Again = f.next(start, in[i].NowUnix)
		}
	}
	return out, nil
}

// next is when the status of a page without inlinks since start changes after
// now; 0 when it does not any more.
func (f *Filter) next(start, now int64) int64 {
	var at int64
	for _, d := range []setting.Duration{f.GoneAfter, f.OrphanAfter} {
		t := start + int64(d.D()/time.Second) + 1
		if t > now && f.status(t-start) != f.status(now-start) && (at == 0 || t < at) {
			at = t
		}
	}
	return at
}

// status is what a page becomes after so many seconds without inlinks; 0 when
// it stays what it is.
func (f *Filter) status(seconds int64) model.Status {
	switch {
	case seconds > int64(f.OrphanAfter.D()/time.Second):
		return model.StatusDBOrphan
	case seconds > int64(f.GoneAfter.D()/time.Second):
		return model.StatusDBGone
	}
	return 0
}

var _ scoring.Filter = (*Filter)(nil)
