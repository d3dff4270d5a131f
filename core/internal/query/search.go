package query

import (
	"context"
	"strings"
	"time"

	"github.com/gonutch/crawler/core/internal/chain"
	"github.com/gonutch/crawler/sdk/extension/searcher"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/manifest"
)

// SearchQuery asks an index.
type SearchQuery struct {
	Text   string   `json:"text"`
	Offset int      `json:"offset,omitempty"`
	Limit  int      `json:"limit,omitempty"` // 0 is 10
	Facets []string `json:"facets,omitempty"`
	Writer string   `json:"writer,omitempty"` // index writer; "" is the first that can be searched
}

// SearchAnswer is what the index found.
type SearchAnswer struct {
	Writer string        `json:"writer"`
	Took   time.Duration `json:"took_ns"`
	searcher.Result
}

// Search is the verb of "crawler search".
func Search() Verb[SearchQuery, *SearchAnswer] {
	return Verb[SearchQuery, *SearchAnswer]{"search", search}
}

func search(ctx context.Context, s *Source, q SearchQuery) (*SearchAnswer, error) {
	w, err := s.writer(q.Writer)
	if err != nil {
		return nil, err
	}
	if err := s.openWriter(ctx, w); err != nil {
		return nil, err
	}
	start := time.Now()
	res, err := s.Crawl.Chains.Search(ctx, w.Name, &searcher.Query{Text: q.Text, Offset: q.Offset, Limit: q.Limit, Facets: q.Facets})
	if err != nil {
		return nil, err
	}
	a := &SearchAnswer{Writer: w.Name, Took: time.Since(start), Result: *res}
	if a.Hits == nil {
		a.Hits = []searcher.Hit{}
	}
	return a, nil
}

// writer returns the writer called name, or the first that can be searched.
func (s *Source) writer(name string) (chain.WriterConfig, error) {
	searchable := map[string]bool{}
	for _, m := range s.Crawl.Choice.Chain(manifest.Searcher) {
		searchable[m.ID] = true
	}
	var names []string
	for _, w := range s.Crawl.WriterConfigs() {
		if !searchable[w.Plugin] {
			if name == w.Name {
				return w, fault.Errorf(fault.Invalid, "index writer %q can't be searched from here: plugin %s only writes", w.Name, w.Plugin)
			}
			continue
		}
		if name == "" || name == w.Name {
			return w, nil
		}
		names = append(names, w.Name)
	}
	if len(names) > 0 {
		return chain.WriterConfig{}, fault.Errorf(fault.Invalid, "there is no index writer %q; there is %s", name, strings.Join(names, ", "))
	}
	return chain.WriterConfig{}, fault.Errorf(fault.Invalid, "no index writer is configured that can be searched; indexer-bleve is one")
}

// openWriter opens w once, where that is this process's business.
func (s *Source) openWriter(ctx context.Context, w chain.WriterConfig) error {
	if !s.OpensIndex {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.opened[w.Name] {
		return nil
	}
	if _, err := s.Crawl.OpenWriters(ctx, []chain.WriterConfig{w}); err != nil {
		return err
	}
	if s.opened == nil {
		s.opened = map[string]bool{}
	}
	s.opened[w.Name] = true
	return nil
}
