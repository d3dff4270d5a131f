package cycle

import (
	"context"
	"errors"
	"fmt"

	"github.com/gonutch/crawler/core/internal/segment"
	"github.com/gonutch/crawler/core/internal/step/update"
	"github.com/gonutch/crawler/core/internal/urlkey"
	"github.com/gonutch/crawler/sdk/model"
)

// resume takes up segments that an earlier process left: their URLs are queued,
// parsed or applied, according to how far they got. Segments whose updates are
// complete but whose later steps were cut short get these.
func (r *Runner) resume(ctx context.Context) error {
	metas, err := segment.List(ctx, r.d.Store)
	if err != nil {
		return err
	}
	unindexed := false
	for _, m := range metas {
		r.last = max(r.last, m.Round)
		leased := r.d.DB.LeasedCount(m.ID)
		if leased == 0 && !m.State.Before(segment.StateInverted) {
			unindexed = unindexed || m.State.Before(segment.StateIndexed)
			continue
		}
		rd := &round{n: m.Round, seg: m.ID, started: r.d.now()}
		r.active = append(r.active, rd)
		r.current.Store(rd)
		r.setStep("resume")
		if leased > 0 {
			r.made++
			r.d.Log.Info("going on with a segment of an earlier run", "segment", m.ID, "urls", leased)
		}
		if err := r.resumeSegment(ctx, m.ID); err != nil {
			return fmt.Errorf("resume segment %s: %w", m.ID, err)
		}
	}
	r.sum.change(func(rep *Report) { rep.Rounds = r.made })
	if len(r.active) > 0 {
		return nil // publishes and judges when it is complete
	}
	// Time may have come for orphans although nothing is to be fetched, and "db refilter"
	// leaves marks, too.
	if err := r.d.orphans(ctx, r.sum); err != nil {
		return err
	}
	dirty, err := r.d.DB.HasIndexDirty()
	if err != nil {
		return err
	}
	counts, err := r.d.DB.DocCounts(ctx)
	if err != nil {
		return err
	}
	for _, c := range counts {
		dirty = dirty || c.Pending > 0
	}
	if unindexed || dirty && r.d.indexes() {
		return r.publish(ctx)
	}
	return nil
}

func (r *Runner) resumeSegment(ctx context.Context, seg string) error {
	var keys []urlkey.Key
	if err := r.d.DB.Leased(ctx, seg, func(k urlkey.Key) error {
		keys = append(keys, k)
		return nil
	}); err != nil {
		return err
	}
	r.pipe.track.add(seg, len(keys))
	for _, k := range keys {
		w, fetched, err := r.d.pending(seg, k)
		if err != nil {
			return err
		}
		if fetched && !w.lost() {
			if err := send(ctx, r.pipe.toParse, w); err != nil {
				return err
			}
			continue
		}
		it, err := item(seg, k, w.page.Hint)
		if err == nil {
			err = r.eng.Add(ctx, it)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// pending returns the work left for a leased URL of a segment, and whether it was
// fetched already.
func (d *deps) pending(seg string, k urlkey.Key) (*work, bool, error) {
	url, err := urlkey.ToURL(k)
	if err != nil {
		return nil, false, err
	}
	hint, _, err := d.DB.Hint(seg, k)
	if err != nil {
		return nil, false, err
	}
	w := &work{page: update.Page{Segment: seg, Key: k, URL: url, Hint: hint}}
	f, err := d.Segs.GetFetch(seg, k)
	if err != nil || f == nil {
		return w, false, err
	}
	w.page.Fetch = f
	if f.Status != model.StatusFetchSuccess {
		return w, true, nil
	}
	parsed, err := d.Segs.GetParse(seg, k, segment.Want{Text: true, Outlinks: true, Parts: true})
	if err != nil {
		return nil, false, err
	}
	if parsed != nil {
		w.page.Parsed = parsed
		return w, true, nil
	}
	c, err := d.Segs.Content(seg, f)
	if errors.Is(err, segment.ErrNoContent) {
		w.noContent = true
		c, err = f.Content(nil), nil
	}
	if err != nil {
		return nil, false, err
	}
	w.content, w.page.StoreParse = c, true
	return w, true, nil
}

// lost reports whether the page's body was not kept (fetcher.store_content = false)
// and is gone with the process that fetched it.
func (w *work) lost() bool { return w.noContent && w.page.Fetch.Size > 0 }
