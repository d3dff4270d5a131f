package index

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gonutch/crawler/core/internal/db/crawldb"
	"github.com/gonutch/crawler/core/internal/urlkey"
	"github.com/gonutch/crawler/sdk/model"
)

// register notes writers that are used for the first time, and tells about those that lack
// something now; filling are those that are about to be sent everything.
func (x *Indexer) register(ctx context.Context, filling ...string) error {
	counts, err := x.DB.DocCounts(ctx)
	if err != nil {
		return err
	}
	for i := range x.Targets {
		t := &x.Targets[i]
		name := t.Writer.Name()
		info, err := x.DB.WriterInfo(name)
		if err != nil {
			return err
		}
		now, why := x.judge(t, info, counts)
		if now != nil {
			if err := x.DB.SetWriterInfo(ctx, name, now); err != nil {
				return err
			}
			info = now
		}
		x.Health.recall(name, info.Down)
		if why != "" && !slices.Contains(filling, name) {
			x.Log.Warn(why, "writer", name, "fill", "crawler reindex --writer "+name)
		}
	}
	return nil
}

// noteOutage stores since when a writer takes nothing, for later processes. One that lacks
// nothing is not down.
func (x *Indexer) noteOutage(ctx context.Context, name string, info *crawldb.WriterInfo, lacks bool) error {
	var since time.Time
	if lacks {
		since = x.Health.began(name).Truncate(time.Microsecond) // as it is stored
	}
	if since.Equal(info.Down) {
		return nil
	}
	info.Down = since
	return x.DB.SetWriterInfo(ctx, name, info)
}

// judge compares a writer with what is known of it: now is what is to be known
// from now on, nil when nothing changed.
func (x *Indexer) judge(t *Target, info *crawldb.WriterInfo, counts map[string]crawldb.DocCounts) (now *crawldb.WriterInfo, why string) {
	name := t.Writer.Name()
	var others int64
	for w, c := range counts {
		if w != name {
			others = max(others, c.Held+c.Pending)
		}
	}
	fresh := crawldb.WriterInfo{Since: time.Now(), Plugin: t.Plugin, Params: t.Params, Mapping: t.mapping(), Complete: true}
	switch {
	case info == nil && others > 0:
		fresh.Complete = false
		return &fresh, fmt.Sprintf("a new index writer lacks the %d documents that were indexed before it came", others)
	case info == nil:
		return &fresh, ""
	case info.Plugin != t.Plugin:
		fresh.Complete = counts[name].Held == 0
		return &fresh, fmt.Sprintf("the index writer has another plugin than before (%s): what it was sent is not where it writes now", info.Plugin)
	}
	changed := *info
	changed.Params, changed.Mapping = t.Params, fresh.Mapping
	params, mapping := !bytes.Equal(info.Params, t.Params), !bytes.Equal(info.Mapping, fresh.Mapping)
	if !params && !mapping {
		return nil, ""
	}
	if params {
		changed.Down = time.Time{}
		why = "the index writer's parameters changed; if it writes elsewhere now, what was indexed before is missing there"
	}
	if mapping && info.Mapping != nil && counts[name].Held > 0 {
		changed.Remapped = true
		if !params {
			why = "the index writer's mapping changed; documents it has keep their fields until they change"
		}
	}
	return &changed, why
}

// Mark makes every page pending for the named writers, so that the next Pending
// or Run sends them everything. A marking that was interrupted is done again; one
// that is done is not, so that an interrupted reindex goes on: then resumed is
// true. restart marks in any case.
func (x *Indexer) Mark(ctx context.Context, writers []string, restart bool) (resumed bool, err error) {
	x.rep = newReport()
	if err := x.register(ctx, writers...); err != nil {
		return false, fmt.Errorf("reindex: %w", err)
	}
	for _, name := range writers {
		info, err := x.DB.WriterInfo(name)
		if err != nil {
			return false, fmt.Errorf("reindex: %w", err)
		}
		if info == nil {
			return false, fmt.Errorf("reindex: there is no index writer %q", name)
		}
		if info.Marked && !restart {
			resumed = true
			continue
		}
		info.Reindex, info.Marked = time.Now(), false
		if err := x.DB.SetWriterInfo(ctx, name, info); err != nil {
			return false, err
		}
		if _, err := x.DB.MarkAll(ctx, name); err != nil {
			return false, fmt.Errorf("reindex: %w", err)
		}
		info.Marked = true
		if err := x.DB.SetWriterInfo(ctx, name, info); err != nil {
			return false, err
		}
	}
	return resumed, nil
}

// reindexed notes that a writer has everything, once nothing is pending for it.
func (x *Indexer) reindexed(ctx context.Context, name string) error {
	info, err := x.DB.WriterInfo(name)
	if err != nil || info == nil || !info.Marked {
		return err
	}
	err = x.DB.PendingFor(ctx, name, func(urlkey.Key) error { return errFound })
	if errors.Is(err, errFound) {
		return nil
	}
	if err != nil {
		return err
	}
	info.Reindex, info.Marked, info.Complete, info.Remapped = time.Time{}, false, true, false
	return x.DB.SetWriterInfo(ctx, name, info)
}

// errFound ends a walk early.
var errFound = errors.New("found")

// Sample returns some documents of the crawl as the writer would get them, mapping
// done. It changes nothing.
func (x *Indexer) Sample(ctx context.Context, t *Target, n int) ([]model.Document, error) {
	var keys []urlkey.Key
	err := x.DB.Scan(ctx, "", func(k urlkey.Key, r *crawldb.Record) error {
		if s := r.Datum.Status; r.Datum.Segment == "" || s != model.StatusDBFetched && s != model.StatusDBNotModified {
			return nil
		}
		if keys = append(keys, k); len(keys) == n {
			return errFound
		}
		return nil
	})
	if err != nil && !errors.Is(err, errFound) {
		return nil, err
	}
	var fates []*fate
	for _, k := range keys {
		f, err := x.decide(k)
		if err != nil {
			return nil, err
		}
		if !f.del && f.skip == "" {
			fates = append(fates, f)
		}
	}
	if err := x.documents(ctx, fates); err != nil {
		return nil, err
	}
	var docs []model.Document
	for _, f := range fates {
		if f.doc != nil {
			docs = append(docs, t.Mapped(*f.doc))
		}
	}
	return docs, nil
}
