package merge

import (
	"context"
	"fmt"

	"github.com/gonutch/crawler/core/internal/db/crawldb"
	"github.com/gonutch/crawler/core/internal/db/linkdb"
	"github.com/gonutch/crawler/core/internal/store"
	"github.com/gonutch/crawler/core/internal/urlkey"
	"github.com/gonutch/crawler/sdk/extension/urlnormalizer"
	"github.com/gonutch/crawler/sdk/model"
)

// Links merges the LinkDB of src into d's. A link that is here already stays as it is; which
// links count and how many of a page is this crawl's configuration. They stay until their
// source is fetched here and does not have them.
func Links(ctx context.Context, d Deps, src Source, o Options) (Report, error) {
	m := &links{Deps: d, src: src, o: o, rep: Report{From: src.Dir, Rejected: Rejected{}}}
	err := linkdb.Scan(ctx, src.Store, func(target, source urlkey.Key, l model.Inlink) error {
		m.rep.Records++
		m.targets, m.sources, m.batch = append(m.targets, target), append(m.sources, source), append(m.batch, l)
		if len(m.batch) < portion {
			return nil
		}
		return m.flush(ctx)
	})
	if err == nil {
		err = m.flush(ctx)
	}
	if err == nil {
		_, err = d.LinkDB.Trim(ctx)
	}
	if err != nil {
		return m.rep, fmt.Errorf("merge the LinkDB of %s: %w", src.Dir, err)
	}
	return m.rep, nil
}

// links is one merge of LinkDBs.
type links struct {
	Deps
	src              Source
	o                Options
	rep              Report
	targets, sources []urlkey.Key
	batch            []model.Inlink
}

func (m *links) flush(ctx context.Context) error {
	const scope = urlnormalizer.ScopeLinkDB
	targets, err := m.keys(ctx, scope, m.o, m.targets, m.rep.Rejected)
	if err != nil {
		return err
	}
	sources, err := m.keys(ctx, scope, m.o, m.sources, m.rep.Rejected)
	if err != nil {
		return err
	}
	before := m.rep
	err = m.DB.Update(ctx, func(tx *crawldb.Tx) error {
		m.rep = before
		for i := range m.batch {
			if targets[i] == "" || sources[i] == "" {
				continue
			}
			if targets[i] != m.targets[i] || sources[i] != m.sources[i] {
				m.rep.Renamed++
			}
			added, err := m.Links.Add(tx, sources[i], linkdb.Link{Target: targets[i], Anchor: m.batch[i].Anchor, Metadata: m.batch[i].Metadata})
			if err != nil {
				return err
			}
			if added {
				m.rep.Added++
			} else {
				m.rep.Kept++
			}
		}
		return nil
	})
	if err != nil {
		m.rep = before
		return err
	}
	if m.o.Progress != nil && len(m.targets) > 0 {
		share, err := m.src.share(store.PrefixLink, m.targets[len(m.targets)-1])
		if err != nil {
			return err
		}
		m.o.Progress(m.rep.Records, share)
	}
	m.targets, m.sources, m.batch = m.targets[:0], m.sources[:0], m.batch[:0]
	return nil
}
