package merge

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gonutch/crawler/core/internal/db/crawldb"
	"github.com/gonutch/crawler/core/internal/db/transition"
	"github.com/gonutch/crawler/core/internal/store"
	"github.com/gonutch/crawler/core/internal/urlkey"
	"github.com/gonutch/crawler/sdk/extension/urlnormalizer"
)

// Report says what a merge brought from one source.
type Report struct {
	From     string   `json:"from"`
	Records  int64    `json:"records"` // of the CrawlDB: URLs; of the LinkDB: links
	Added    int64    `json:"added"`
	Replaced int64    `json:"replaced"` // those from there were newer
	Kept     int64    `json:"kept"`     // those here were newer, or the same
	Renamed  int64    `json:"renamed"`  // by the normalizers
	Pending  int64    `json:"pending"`  // URLs found in pages there and not in its CrawlDB yet
	Inside   int64    `json:"inside"`   // documents inside pages, left out: they come when the pages are fetched
	Rejected Rejected `json:"rejected,omitempty"`
}

// Databases merges the CrawlDB of src into d's. Of two records of a URL the one that was fetched
// last stays (see transition.Merge). Content stays where it is: a record that comes from there has
// none here until it is fetched again or its segment is merged, too, and an index keeps the
// document it has of it.
func Databases(ctx context.Context, d Deps, src Source, o Options) (Report, error) {
	m := &databases{Deps: d, src: src, o: o, rep: Report{From: src.Dir, Rejected: Rejected{}}}
	err := crawldb.ScanStore(ctx, src.Store, "", func(k urlkey.Key, r *crawldb.Record) error {
		m.rep.Records++
		url, err := urlkey.ToURL(k)
		if err != nil {
			return fmt.Errorf("record %q: %w", k, err)
		}
		if page := r.Datum.Metadata.First(transition.MetaPartOf); page != "" && strings.HasPrefix(url, page+"#") {
			m.rep.Inside++
			return nil
		}
		m.batch = append(m.batch, incoming{key: k, rec: r})
		return m.full(ctx)
	})
	if err == nil {
		err = m.flush(ctx)
	}
	if err == nil {
		err = crawldb.ScanEffects(ctx, src.Store, func(k urlkey.Key, op store.Operand) error {
			m.batch = append(m.batch, incoming{key: k, effects: &op})
			return m.full(ctx)
		})
	}
	if err == nil {
		err = m.flush(ctx)
	}
	if err != nil {
		return m.rep, fmt.Errorf("merge the CrawlDB of %s: %w", src.Dir, err)
	}
	return m.rep, nil
}

// incoming is a record of another CrawlDB, or effects on one.
type incoming struct {
	key     urlkey.Key
	rec     *crawldb.Record
	effects *store.Operand
}

// databases is one merge of CrawlDBs.
type databases struct {
	Deps
	src   Source
	o     Options
	rep   Report
	batch []incoming
}

func (m *databases) full(ctx context.Context) error {
	if len(m.batch) < portion {
		return nil
	}
	return m.flush(ctx)
}

func (m *databases) flush(ctx context.Context) error {
	if len(m.batch) == 0 {
		return ctx.Err()
	}
	keys := make([]urlkey.Key, len(m.batch))
	for i := range m.batch {
		keys[i] = m.batch[i].key
	}
	to, err := m.keys(ctx, urlnormalizer.ScopeCrawlDB, m.o, keys, m.rep.Rejected)
	if err != nil {
		return err
	}
	before := m.rep
	err = m.DB.Update(ctx, func(tx *crawldb.Tx) error {
		m.rep = before
		if err := tx.Load(to); err != nil {
			return err
		}
		for i := range m.batch {
			if to[i] == "" {
				continue
			}
			if to[i] != keys[i] {
				m.rep.Renamed++
			}
			if err := m.put(tx, to[i], &m.batch[i]); err != nil {
				return fmt.Errorf("record %q: %w", to[i], err)
			}
		}
		return nil
	})
	if err != nil {
		m.rep = before
		return err
	}
	m.batch = m.batch[:0]
	if m.o.Progress != nil {
		share, err := m.src.share(store.PrefixRecord, keys[len(keys)-1])
		if err != nil {
			return err
		}
		m.o.Progress(m.rep.Records, share)
	}
	return nil
}

func (m *databases) put(tx *crawldb.Tx, key urlkey.Key, in *incoming) error {
	own, err := tx.Get(key)
	if err != nil {
		return err
	}
	if in.effects != nil {
		return m.effects(tx, key, own, in.effects)
	}
	if own == nil {
		m.rep.Added++
		tx.Put(key, &crawldb.Record{Sort: in.rec.Sort, Datum: transition.WithoutContent(in.rec.Datum)})
		m.changed(tx, key)
		return nil
	}
	d, theirs := transition.Merge(own.Datum, in.rec.Datum)
	if !theirs {
		m.rep.Kept++
		if !maps.EqualFunc(d.Metadata, own.Datum.Metadata, slices.Equal[[]string]) {
			own.Datum.Metadata = d.Metadata
			tx.Put(key, own)
		}
		return nil
	}
	m.rep.Replaced++
	if transition.SameContent(&own.Datum, &d) && own.Datum.Segment != "" {
		d.Segment = own.Datum.Segment
	} else {
		links, err := m.Links.Of(own.Datum.Segment, key)
		if err != nil {
			return err
		}
		if len(links) > 0 { // they are not known any more when the page is fetched again
			if _, err := m.Links.Replace(tx, key, links, nil, m.Now); err != nil {
				return err
			}
		}
		d = transition.WithoutContent(d)
	}
	own.Datum = d
	tx.Put(key, own)
	m.changed(tx, key)
	return nil
}

// changed marks key for the steps that look at what changed.
func (m *databases) changed(tx *crawldb.Tx, key urlkey.Key) {
	tx.Rescore(key)
	tx.IndexDirty(key)
	if m.Links.Orphans {
		tx.CheckOrphan(key, m.Now)
	}
}

// effects takes over what pages there have said of a URL that nobody knows here.
func (m *databases) effects(tx *crawldb.Tx, key urlkey.Key, own *crawldb.Record, o *store.Operand) error {
	pending, err := tx.Pending(key)
	if err != nil || own != nil || pending {
		return err
	}
	m.rep.Pending++
	tx.AddEffects(key, o)
	return nil
}
