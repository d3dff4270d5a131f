// Package scoreupdate writes scores that were computed elsewhere, by ranking the
// link graph, into the CrawlDB (Nutch's ScoreUpdater). It owns the walk over the
// CrawlDB beside the scores, both in key order; what place a score gives in the
// fetch list is the scoring chain's, and how scores are computed the caller's.
package scoreupdate

import (
	"context"
	"fmt"
	"math"

	"github.com/gonutch/crawler/core/internal/db/crawldb"
	"github.com/gonutch/crawler/core/internal/urlkey"
	"github.com/gonutch/crawler/sdk/extension/scoring"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/model"
)

// Scorer is the scoring chain; chain.Chains is one.
type Scorer interface {
	Score(ctx context.Context, in []scoring.ScoreInput) ([]scoring.ScoreOutput, []error, error)
}

// Deps are what the step works with.
type Deps struct {
	DB     *crawldb.DB
	Scorer Scorer
	// Next returns keys and their scores, ascending by key; false after the last.
	Next func() (urlkey.Key, float64, bool, error)
}

// Options say what is written.
type Options struct {
	Clear    float64          // score of records without one (link.score.updater.clear.score)
	Factor   float64          // scores are multiplied by it; not those cleared
	Progress func(urls int64) // may be nil
}

// Report says what the step did.
type Report struct {
	URLs    int64 `json:"urls"`    // records looked at
	Ranked  int64 `json:"ranked"`  // that have a score in the graph
	Cleared int64 `json:"cleared"` // that have none
	Changed int64 `json:"changed"` // records that were written
	Unknown int64 `json:"unknown"` // URLs of the graph that the CrawlDB does not know
	Failed  int64 `json:"failed"`  // records that a scoring plugin failed on; they stay as they were
}

// portion bounds the records of one batch.
const portion = 1000

// run is one update.
type run struct {
	Deps
	o      Options
	rep    Report
	key    urlkey.Key // of the score that comes next
	score  float64
	more   bool
	keys   []urlkey.Key
	recs   []*crawldb.Record
	scores []int64
}

// Run gives every record of the CrawlDB its score. What is committed stays when it
// is cut short; running it again does the rest.
func Run(ctx context.Context, d Deps, o Options) (Report, error) {
	r := &run{Deps: d, o: o}
	err := r.next()
	if err == nil {
		err = d.DB.Scan(ctx, "", func(k urlkey.Key, rec *crawldb.Record) error { return r.record(ctx, k, rec) })
	}
	if err == nil {
		err = r.flush(ctx)
	}
	for err == nil && r.more {
		r.rep.Unknown++
		err = r.next()
	}
	if err != nil {
		return r.rep, fmt.Errorf("update scores: %w", err)
	}
	return r.rep, nil
}

func (r *run) next() (err error) {
	r.key, r.score, r.more, err = r.Next()
	return err
}

func (r *run) record(ctx context.Context, k urlkey.Key, rec *crawldb.Record) error {
	for r.more && r.key < k {
		r.rep.Unknown++
		if err := r.next(); err != nil {
			return err
		}
	}
	score := r.o.Clear
	if r.more && r.key == k {
		score = r.score * r.o.Factor
		r.rep.Ranked++
		if err := r.next(); err != nil {
			return err
		}
	} else {
		r.rep.Cleared++
	}
	r.keys, r.recs, r.scores = append(r.keys, k), append(r.recs, rec), append(r.scores, Micro(score))
	if len(r.keys) < portion {
		return nil
	}
	return r.flush(ctx)
}

// Micro is a score in micro-units, within what a record holds.
func Micro(score float64) int64 {
	v := math.Round(score * model.Micro)
	if v >= math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(v)
}

// flush scores and writes what was gathered.
func (r *run) flush(ctx context.Context) error {
	if len(r.keys) == 0 {
		return nil
	}
	in := make([]scoring.ScoreInput, len(r.keys))
	for i, k := range r.keys {
		url, err := urlkey.ToURL(k)
		if err != nil {
			return fmt.Errorf("record %q: %w", k, err)
		}
		d := &r.recs[i].Datum
		in[i] = scoring.ScoreInput{URL: url, Status: d.Status, Fields: d.Fields, Metadata: d.Metadata, Score: r.scores[i], Sort: model.Micro}
	}
	out, errs, err := r.Scorer.Score(ctx, in)
	if err != nil {
		return fmt.Errorf("score records: %w", err)
	}
	for i := range out {
		if (len(errs) == 0 || errs[i] == nil) && out[i].Score != r.scores[i] {
			return fault.Errorf(fault.Invalid, "a scoring plugin makes its own score of %s (%g, not %g), so scores of the link graph would have no effect: "+
				`choose scoring-link instead: plugin { add = ["scoring-link"] remove = ["scoring-opic"] }`,
				in[i].URL, float64(out[i].Score)/model.Micro, float64(r.scores[i])/model.Micro)
		}
	}
	if err := r.write(ctx, out, errs); err != nil {
		return err
	}
	r.keys, r.recs, r.scores = r.keys[:0], r.recs[:0], r.scores[:0]
	if r.o.Progress != nil {
		r.o.Progress(r.rep.URLs)
	}
	return nil
}

func (r *run) write(ctx context.Context, out []scoring.ScoreOutput, errs []error) error {
	var changed, failed int64
	err := r.DB.Update(ctx, func(tx *crawldb.Tx) error {
		changed, failed = 0, 0
		for i, k := range r.keys {
			if len(errs) > 0 && errs[i] != nil {
				failed++
				continue
			}
			if old := r.recs[i]; old.Datum.Score == out[i].Score && old.Sort == out[i].Sort {
				continue
			}
			rec, err := tx.Get(k)
			if err != nil {
				return err
			}
			if rec == nil {
				continue
			}
			rec.Datum.Score, rec.Sort = out[i].Score, out[i].Sort
			tx.Put(k, rec)
			changed++
			doc, err := tx.DocState(k)
			if err != nil {
				return err
			}
			if doc != nil { // its boost follows the score
				tx.IndexDirty(k)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	r.rep.URLs += int64(len(r.keys))
	r.rep.Changed += changed
	r.rep.Failed += failed
	return nil
}
