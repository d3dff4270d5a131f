package index

import (
	"context"
	"slices"

	"github.com/gonutch/crawler/core/internal/db/crawldb"
	"github.com/gonutch/crawler/core/internal/segment"
	"github.com/gonutch/crawler/core/internal/urlkey"
	"github.com/gonutch/crawler/sdk/model"
)

// fate is what is to become of a page in the index.
type fate struct {
	key    urlkey.Key
	url    string
	id     string // of the document; the URL unless Deps.URLs says otherwise
	rec    *crawldb.Record
	state  *crawldb.DocState
	fetch  *segment.Fetch
	parsed *segment.Parsed
	doc    *model.Document // dropped once it is in the outboxes
	made   bool            // a document was made
	same   bool            // a writer holds this very document
	del    bool            // delete it
	skip   string          // leave it as it is, for this reason
	wait   bool            // what is pending stays so
	marked bool            // it is looked at again in the next step
	to     []string        // writers that are to have it
	moves  []*move
	drop   []string // writers that need nothing any more
}

// leaves reports whether a page of the status is to leave the index.
func leaves(s model.Status) bool {
	switch s {
	case model.StatusDBGone, model.StatusDBRedirPerm, model.StatusDBRedirTemp, model.StatusDBDuplicate, model.StatusDBOrphan, model.StatusDBParseFailed:
		return true
	}
	return false
}

// decide applies Nutch's rules (nutch.md 6.13), as far as they need no plugin.
func (x *Indexer) decide(k urlkey.Key) (*fate, error) {
	f := &fate{key: k}
	var err error
	if f.url, err = urlkey.ToURL(k); err != nil {
		return nil, err
	}
	f.id = f.url
	if f.rec, err = x.DB.Get(k); err != nil {
		return nil, err
	}
	if f.state, err = x.DB.DocState(k); err != nil {
		return nil, err
	}
	switch {
	case f.rec == nil:
		f.del = true
		return f, nil
	case leaves(f.rec.Datum.Status):
		f.del = x.cfg.Delete
		f.skip = f.rec.Datum.Status.String()
		return f, nil
	case f.rec.Datum.Status == model.StatusDBUnfetched && !f.again():
		f.skip, f.wait = "db_unfetched", true
		return f, nil
	}
	seg := f.rec.Datum.Segment
	if seg == "" {
		f.skip = "no content"
		return f, nil
	}
	if f.fetch, err = x.Segs.GetFetch(seg, k); err != nil {
		return nil, err
	}
	if f.parsed, err = x.Segs.GetParse(seg, k, segment.Want{Text: true, Outlinks: x.needs.Outlinks}); err != nil {
		return nil, err
	}
	switch {
	case f.fetch == nil || f.parsed == nil:
		f.skip = "segment is gone"
	case f.parsed.Robots.NoIndex && x.cfg.DeleteNoIndex:
		f.del, f.skip = true, "noindex"
	case !f.parsed.Status.OK():
		f.skip = "parse failed"
	}
	return f, nil
}

// Judgement is what the step would do with a page.
type Judgement struct {
	Document *model.Document // it would be sent, before the writers' mappings
	Writers  []string        // that would get it; empty when exchanges leave it to all
	Delete   bool            // it would be deleted where it is
	Why      string          // there is no document: a status, "no content", "noindex", a plugin's id …
}

// Judge says what the step would do with a page now, and does nothing.
func (x *Indexer) Judge(ctx context.Context, key urlkey.Key) (Judgement, error) {
	f, err := x.decide(key)
	if err != nil {
		return Judgement{}, err
	}
	if !f.del && f.skip == "" {
		if err := x.documents(ctx, []*fate{f}); err != nil {
			return Judgement{}, err
		}
	}
	if f.doc != nil && x.Routed {
		routes, err := x.Plugins.Route(ctx, []*model.Document{f.doc})
		if err != nil {
			return Judgement{}, err
		}
		if f.to = routes[0].Writers; len(f.to) == 0 {
			f.doc, f.skip, f.del = nil, "no exchange takes it", true
		}
	}
	return Judgement{Document: f.doc, Writers: f.to, Delete: f.del, Why: f.skip}, nil
}

// again reports whether a writer is to be sent what it had before, as by a reindex.
func (f *fate) again() bool {
	return f.state != nil && slices.ContainsFunc(f.state.Writers, func(w crawldb.WriterState) bool {
		return w.Held && w.Pending && w.Hash == nil && w.Why == ""
	})
}
