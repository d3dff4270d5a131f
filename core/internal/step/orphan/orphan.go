// Package orphan judges pages that lost their last inlink (nutch.md 6.6, rule
// 3). It owns which records the scoring filters are asked about and what their
// answers change; since when a page is orphaned and what follows is the filters'.
//
// Nutch asks about every record that a round neither fetched nor linked to, and so
// reads the whole CrawlDB. Here invertlinks and updatedb note the URLs whose
// inlinks became fewer, and a filter says when it wants to see one again: a round costs
// what it changed and what has become due.
package orphan

import (
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/gonutch/crawler/core/internal/db/crawldb"
	"github.com/gonutch/crawler/core/internal/db/outlinks"
	"github.com/gonutch/crawler/core/internal/urlkey"
	"github.com/gonutch/crawler/sdk/extension/scoring"
	"github.com/gonutch/crawler/sdk/model"
)

// Judge is the scoring chain; chain.Chains is one.
type Judge interface {
	Orphaned(ctx context.Context, in []scoring.OrphanInput) ([]scoring.OrphanOutput, []error, error)
}

// Deps are what the step works with.
type Deps struct {
	DB    *crawldb.DB
	Links outlinks.Links
	Judge Judge
	Purge bool // remove records that become db_orphan: db.update_purge_orphans
	Log   hclog.Logger
	// Told, when set, is told of each page that a plugin failed on.
	Told func(url string, err error)
}

// Report says what the step did.
type Report struct {
	Judged   int                    // records without inlinks that filters were asked about
	ByStatus map[model.Status]int64 // records by the status they got
	Purged   int
	Failed   int // records that a filter failed on; they are looked at again with the next inlink they lose
}

// portion bounds the records of one batch.
const portion = 500

// Run looks at every URL whose check is due at now.
func Run(ctx context.Context, d Deps, now time.Time) (Report, error) {
	rep := Report{ByStatus: map[model.Status]int64{}}
	for {
		due, err := d.DB.DueOrphans(ctx, now, portion)
		if err == nil && len(due) > 0 {
			err = d.portion(ctx, due, now, &rep)
		}
		if err != nil {
			return rep, fmt.Errorf("judge orphans: %w", err)
		}
		if len(due) < portion {
			return rep, nil
		}
	}
}

// orphan is a record without inlinks.
type orphan struct {
	key    urlkey.Key
	status model.Status // it was judged by
	out    scoring.OrphanOutput
}

func (d Deps) portion(ctx context.Context, due []crawldb.OrphanCheck, now time.Time, rep *Report) error {
	orphans, in, err := d.orphans(due, now)
	if err != nil {
		return err
	}
	out, errs, err := d.Judge.Orphaned(ctx, in)
	if err != nil {
		return err
	}
	for i := range orphans {
		orphans[i].out = out[i]
		if errs != nil && errs[i] != nil {
			rep.Failed++
			d.Log.Warn("a plugin could not judge a page without inlinks", "url", in[i].URL, "error", errs[i])
			if d.Told != nil {
				d.Told(in[i].URL, errs[i])
			}
		}
	}
	rep.Judged += len(orphans)
	var done Report
	err = d.DB.Update(ctx, func(tx *crawldb.Tx) error {
		done = Report{ByStatus: map[model.Status]int64{}}
		for _, c := range due {
			tx.OrphanChecked(c)
		}
		for i := range orphans {
			if err := d.settle(tx, &orphans[i], now, &done); err != nil {
				return err
			}
		}
		return nil
	})
	rep.Purged += done.Purged
	for s, n := range done.ByStatus {
		rep.ByStatus[s] += n
	}
	return err
}

// orphans returns those of due that are known and have no inlink.
func (d Deps) orphans(due []crawldb.OrphanCheck, now time.Time) ([]orphan, []scoring.OrphanInput, error) {
	var list []orphan
	var in []scoring.OrphanInput
	seen := make(map[urlkey.Key]bool, len(due))
	for _, c := range due {
		if seen[c.Key] {
			continue
		}
		seen[c.Key] = true
		rec, err := d.DB.Get(c.Key)
		if err != nil {
			return nil, nil, err
		}
		if rec == nil {
			continue
		}
		linked, err := d.Links.DB.HasInlinks(c.Key)
		if err != nil {
			return nil, nil, err
		}
		if linked {
			continue
		}
		url, err := urlkey.ToURL(c.Key)
		if err != nil {
			return nil, nil, err
		}
		list = append(list, orphan{key: c.Key, status: rec.Datum.Status})
		in = append(in, scoring.OrphanInput{
			URL: url, Status: rec.Datum.Status, Fields: rec.Datum.Fields, Metadata: rec.Datum.Metadata, NowUnix: now.Unix(),
		})
	}
	return list, in, nil
}

// settle stores what became of one record.
func (d Deps) settle(tx *crawldb.Tx, o *orphan, now time.Time, rep *Report) error {
	rec, err := tx.Get(o.key)
	if err != nil || rec == nil {
		return err
	}
	status := o.out.Status
	if status != 0 && rec.Datum.Status != o.status { // a fetch was applied meanwhile
		status, o.out.Again = 0, now.Unix()
	}
	if status == model.StatusDBOrphan && d.Purge {
		rep.ByStatus[status]++
		rep.Purged++
		return d.Links.Remove(tx, o.key, rec.Datum.Segment, now)
	}
	if o.out.Again > 0 {
		// Who asks for the past is asked again in a second, not at once for ever.
		tx.CheckOrphan(o.key, later(time.Unix(o.out.Again, 0), now.Add(time.Second)))
	}
	if status == rec.Datum.Status {
		status = 0
	}
	if status == 0 && len(o.out.Set) == 0 {
		return nil
	}
	for k, v := range o.out.Set {
		if rec.Datum.Fields == nil {
			rec.Datum.Fields = model.Fields{}
		}
		rec.Datum.Fields[k] = v
	}
	if status != 0 {
		rep.ByStatus[status]++
		rec.Datum.Status = status
		tx.IndexDirty(o.key)
	}
	tx.Put(o.key, rec)
	return nil
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
