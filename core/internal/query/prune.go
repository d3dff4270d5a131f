package query

import (
	"context"
	"path"
	"strings"

	"github.com/gonutch/crawler/core/internal/step/prune"
)

// PruneQuery asks what segments there are, what needs them, and for the removal
// of some.
type PruneQuery struct {
	List bool `json:"list,omitempty"` // remove none, show all
	prune.Options
}

// Prune is the verb of "crawler segment". Unlike others it changes the crawl,
// when its question says Apply; a running crawl does not mind.
func Prune() Verb[PruneQuery, prune.Report] { return Verb[PruneQuery, prune.Report]{"prune", doPrune} }

func doPrune(ctx context.Context, s *Source, q PruneQuery) (prune.Report, error) {
	s.pruning.Lock()
	defer s.pruning.Unlock()
	d := prune.Deps{DB: s.Crawl.DB, Segs: s.Crawl.Segs}
	if q.List {
		items, err := prune.List(ctx, d)
		rep := prune.Report{Segments: items}
		for i := range items {
			rep.Left += items[i].Size()
		}
		return rep, err
	}
	for i, name := range q.Names {
		q.Names[i] = path.Base(strings.TrimRight(name, "/")) // Nutch names segments by their path
	}
	return prune.Run(ctx, d, q.Options, s.now())
}
