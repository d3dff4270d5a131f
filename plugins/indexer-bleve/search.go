package indexerbleve

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/search"

	// Registers the highlighter that queries name.
	_ "github.com/blevesearch/bleve/v2/search/highlight/highlighter/ansi"
	"github.com/blevesearch/bleve/v2/search/query"

	"github.com/gonutch/crawler/plugins/internal/libindex"
	"github.com/gonutch/crawler/sdk/extension/searcher"
	"github.com/gonutch/crawler/sdk/fault"
)

// Limits of one query.
const (
	maxLimit  = 1000
	maxOffset = 10_000
	maxFacet  = 100
)

// Search implements searcher.Searcher. Words must all occur, in whichever of
// title, anchor and content; -word must not, "a phrase", field:word, word~ and
// word* work as in bleve's query strings.
func (x *Index) Search(ctx context.Context, name string, q *searcher.Query) (*searcher.Result, error) {
	i, err := x.get(name)
	if err != nil {
		return nil, err
	}
	parsed, err := parseQuery(q.Text, searched(i.cfg.TextFields), i.meaningless)
	if err != nil {
		return nil, fault.Errorf(fault.Invalid, "query %q: %w", q.Text, err)
	}
	limit := q.Limit
	if limit <= 0 {
		limit = 10
	}
	if q.Offset < 0 || q.Offset > maxOffset || limit > maxLimit {
		return nil, fault.Errorf(fault.Invalid, "offset %d, limit %d: at most %d and %d", q.Offset, limit, maxOffset, maxLimit)
	}
	req := bleve.NewSearchRequestOptions(parsed, limit, q.Offset, false)
	req.Fields = []string{"*"}
	req.Highlight = bleve.NewHighlightWithStyle("ansi")
	req.Highlight.Fields = []string{"title", "content"}
	for _, f := range q.Facets {
		req.AddFacet(f, bleve.NewFacetRequest(f, maxFacet))
	}
	res, err := i.index.SearchInContext(ctx, req)
	if err != nil {
		return nil, fmt.Errorf("search: %w", err)
	}
	return result(res), nil
}

// meaningless reports whether a text holds no word that is indexed: stop words
// and signs only.
func (i *instance) meaningless(text string) bool {
	a := i.index.Mapping().AnalyzerNamed(i.cfg.Analyzer)
	return a != nil && len(a.Analyze([]byte(text))) == 0
}

// parseQuery reads a query string and spreads its parts without a field over the
// searched fields. Words that are not indexed, such as "the", are left out.
func parseQuery(text string, weights map[string]float64, meaningless func(string) bool) (query.Query, error) {
	if strings.TrimSpace(text) == "" {
		return bleve.NewMatchAllQuery(), nil
	}
	parsed, err := bleve.NewQueryStringQuery(text).Parse()
	if err != nil {
		return nil, err
	}
	b, ok := parsed.(*query.BooleanQuery)
	if !ok {
		return spread(parsed, weights), nil
	}
	var must, mustNot []query.Query
	for _, part := range []query.Query{b.Must, b.Should} {
		for _, c := range clauses(part) {
			if m, ok := c.(*query.MatchQuery); ok && m.Field() == "" && meaningless(m.Match) {
				continue
			}
			must = append(must, spread(c, weights))
		}
	}
	for _, c := range clauses(b.MustNot) {
		mustNot = append(mustNot, spread(c, weights))
	}
	if len(must) == 0 && len(mustNot) == 0 {
		return bleve.NewMatchNoneQuery(), nil
	}
	if len(must) == 0 {
		must = []query.Query{bleve.NewMatchAllQuery()}
	}
	return query.NewBooleanQuery(must, nil, mustNot), nil
}

func clauses(q query.Query) []query.Query {
	switch q := q.(type) {
	case *query.ConjunctionQuery:
		return q.Conjuncts
	case *query.DisjunctionQuery:
		return q.Disjuncts
	}
	return nil
}

// spread makes a query for no field in particular one for any of the searched
// fields.
func spread(q query.Query, weights map[string]float64) query.Query {
	f, ok := q.(query.FieldableQuery)
	if !ok || f.Field() != "" {
		return q
	}
	var any []query.Query
	for _, field := range slices.Sorted(maps.Keys(weights)) {
		c := copyQuery(q)
		if c == nil {
			return q
		}
		c.(query.FieldableQuery).SetField(field)
		if b, ok := c.(query.BoostableQuery); ok {
			b.SetBoost(weights[field] * b.Boost())
		}
		any = append(any, c)
	}
	return query.NewDisjunctionQuery(any)
}

// copyQuery returns a copy of what query strings are made of, or nil.
func copyQuery(q query.Query) query.Query {
	switch q := q.(type) {
	case *query.MatchQuery:
		c := *q
		return &c
	case *query.MatchPhraseQuery:
		c := *q
		return &c
	case *query.WildcardQuery:
		c := *q
		return &c
	case *query.FuzzyQuery:
		c := *q
		return &c
	case *query.PrefixQuery:
		c := *q
		return &c
	case *query.RegexpQuery:
		c := *q
		return &c
	case *query.TermQuery:
		c := *q
		return &c
	}
	return nil
}

func result(res *bleve.SearchResult) *searcher.Result {
	out := &searcher.Result{Total: res.Total, Hits: make([]searcher.Hit, len(res.Hits))}
	for k, h := range res.Hits {
		out.Hits[k] = hit(h)
	}
	for name, f := range res.Facets {
		if out.Facets == nil {
			out.Facets = map[string][]searcher.FacetValue{}
		}
		values := []searcher.FacetValue{}
		for _, t := range f.Terms.Terms() {
			values = append(values, searcher.FacetValue{Value: t.Term, Count: t.Count})
		}
		out.Facets[name] = values
	}
	return out
}

// The ansi highlighter marks matches with these; the contract has \x01 and \x02.
var marks = strings.NewReplacer("\x1b[43m", "\x01", "\x1b[0m", "\x02")

const snippetLength = 240

func hit(h *search.DocumentMatch) searcher.Hit {
	out := searcher.Hit{ID: h.ID, Score: h.Score, Fields: map[string][]string{}, Snippets: map[string][]string{}}
	for f, v := range h.Fields {
		if f != "content" && f != "boost" {
			out.Fields[f] = libindex.Values(v)
		}
	}
	for f, frags := range h.Fragments {
		for _, s := range frags {
			out.Snippets[f] = append(out.Snippets[f], marks.Replace(s))
		}
	}
	if content := libindex.Values(h.Fields["content"]); len(out.Snippets["content"]) == 0 && len(content) > 0 && content[0] != "" {
		out.Snippets["content"] = []string{start(content[0])}
	}
	return out
}

func start(s string) string {
	if len(s) <= snippetLength {
		return s
	}
	cut := snippetLength
	for cut > 0 && s[cut]&0xc0 == 0x80 {
		cut--
	}
	return s[:cut] + "…"
}
