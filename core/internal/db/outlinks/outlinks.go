// Package outlinks is what the links of one page do to the records of other
// pages: inlinks in the LinkDB, marks for the index step, checks for orphans. It
// owns that these change together; what links a page has is the segment's, what
// is kept of them the LinkDB's.
package outlinks

import (
	"time"

	"github.com/gonutch/crawler/core/internal/db/crawldb"
	"github.com/gonutch/crawler/core/internal/db/linkdb"
	"github.com/gonutch/crawler/core/internal/segment"
	"github.com/gonutch/crawler/core/internal/store"
	"github.com/gonutch/crawler/core/internal/urlkey"
)

// Links changes the links of pages. It is safe for concurrent use.
type Links struct {
	Segs *segment.Segments
	DB   *linkdb.DB
	// MarkTargets says that the documents of link targets depend on their inlinks and
	// are to be indexed again when these change.
	MarkTargets bool
	// Orphans says that targets which lose an inlink are to be looked at by the orphan
	// step.
	Orphans bool
}

// Of returns the links of key's content in seg, none for no segment.
func (l Links) Of(seg string, key urlkey.Key) ([]linkdb.Link, error) {
	if seg == "" {
		return nil, nil
	}
	in, err := l.Segs.Outlinks(seg, key)
	if err != nil {
		return nil, err
	}
	out := make([]linkdb.Link, len(in))
	for i := range in {
		out[i] = linkdb.Link{Target: urlkey.FromURL(in[i].URL), Anchor: in[i].Anchor, Metadata: in[i].Metadata}
	}
	return out, nil
}

// Replace makes now the links of source, of which before were the last ones
// given for it.
func (l Links) Replace(tx *crawldb.Tx, source urlkey.Key, before, now []linkdb.Link, at time.Time) (linkdb.Stats, error) {
	st := l.DB.Replace(tx.Tx, source, before, now)
	if l.Orphans {
		for _, t := range st.Lost {
			tx.CheckOrphan(t, at)
		}
	}
	for _, t := range st.Changed {
		if err := l.mark(tx, t); err != nil {
			return st, err
		}
	}
	return st, nil
}

// mark has the document of a target indexed again whose inlinks change.
func (l Links) mark(tx *crawldb.Tx, target urlkey.Key) error {
	if !l.MarkTargets {
		return nil
	}
	has, err := tx.Tx.Store().Has(store.Key(store.PrefixDocState, target))
	if has {
		tx.IndexDirty(target)
	}
	return err
}

// Add adds a link of source that another crawl's LinkDB has, unless there is one; see
// linkdb.DB.Add.
func (l Links) Add(tx *crawldb.Tx, source urlkey.Key, link linkdb.Link) (bool, error) {
	added, err := l.DB.Add(tx.Tx, source, link)
	if err == nil && added {
		err = l.mark(tx, link.Target)
	}
	return added, err
}

// Remove takes the record of key out of the CrawlDB and the links that its content
// in seg has out of the LinkDB, and marks it for the index step when the index has
// it. Links of other pages to it stay: these pages have them.
func (l Links) Remove(tx *crawldb.Tx, key urlkey.Key, seg string, at time.Time) error {
	before, err := l.Of(seg, key)
	if err != nil {
		return err
	}
	if len(before) > 0 {
		if _, err := l.Replace(tx, key, before, nil, at); err != nil {
			return err
		}
	}
	doc, err := tx.DocState(key)
	if err != nil {
		return err
	}
	if doc != nil {
		tx.IndexDirty(key)
	}
	tx.Delete(key)
	return nil
}
