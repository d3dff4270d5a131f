package indexerbleve

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/analysis/analyzer/standard"
	"github.com/blevesearch/bleve/v2/mapping"
	"github.com/blevesearch/bleve/v2/search"

	// Registers the highlighter that queries name.
	_ "github.com/blevesearch/bleve/v2/search/highlight/highlighter/ansi"
	"github.com/blevesearch/bleve/v2/search/query"

	"github.com/gonutch/crawler/plugins/internal/libindex"
	"github.com/gonutch/crawler/sdk/extension/searcher"
	"github.com/gonutch/crawler/sdk/fault"
)

// Search implements searcher.Searcher. Words must all occur, in whichever of
// title, anchor and content; -word must not, "a phrase", field:word, word~ and
// word* work as in bleve's query strings. Each document is searched as its own language wants it.
func (x *Index) Search(ctx context.Context, name string, q *searcher.Query) (*searcher.Result, error) {
	in, err := x.Get(name)
	if err != nil {
		return nil, err
	}
	i := in.(*instance)
	limit, err := libindex.Limit(q)
	if err != nil {
		return nil, err
	}
	parsed, err := i.query(q.Text)
	if err != nil {
		return nil, fault.Errorf(fault.Invalid, "query %q: %w", q.Text, err)
	}
	req := bleve.NewSearchRequestOptions(parsed, limit, q.Offset, false)
	req.Fields = []string{"*"}
	req.Highlight = bleve.NewHighlightWithStyle("ansi")
	req.Highlight.Fields = []string{"title", "content"}
	for _, f := range q.Facets {
		field := f
		if i.made.months && slices.Contains(dateFields(), f) {
			field += monthSuffix
		}
		req.AddFacet(f, bleve.NewFacetRequest(field, libindex.MaxFacet))
	}
	res, err := i.index.SearchInContext(ctx, req)
	if err != nil {
		return nil, fmt.Errorf("search: %w", err)
	}
	return result(res), nil
}

// query reads a query string once for each analyzer that is in use, and looks with it among the
// documents that were indexed by it.
func (i *instance) query(text string) (query.Query, error) {
	if strings.TrimSpace(text) == "" {
		return bleve.NewMatchAllQuery(), nil
	}
	present, err := i.present()
	if err != nil {
		return nil, err
	}
	w := words{weights: libindex.Weights(i.made.TextFields), analyzer: i.made.Analyzer, mapping: i.index.Mapping()}
	if i.made.Analyzer != auto {
		return w.parse(text)
	}
	var any []query.Query
	for _, a := range present {
		w.analyzer = a
		q, err := w.parse(text)
		if err != nil {
			return nil, err
		}
		of := bleve.NewTermQuery(a)
		of.SetField(analyzerField)
		of.SetBoost(0)
		any = append(any, query.NewConjunctionQuery([]query.Query{q, of}))
	}
	if len(any) == 0 { // an empty index; the query may be wrong all the same
		w.analyzer = standard.Name
		return w.parse(text)
	}
	return query.NewDisjunctionQuery(any), nil
}

// words reads query strings with one analyzer.
type words struct {
	weights  map[string]int
	analyzer string
	mapping  mapping.IndexMapping
}

// meaningless reports whether a text holds no word that is indexed: stop words
// and signs only.
func (w *words) meaningless(text string) bool {
	a := w.mapping.AnalyzerNamed(w.analyzer)
	return a != nil && len(a.Analyze([]byte(text))) == 0
}

// parse reads a query string and spreads its parts without a field over the
// searched fields. Words that are not indexed, such as "the", are left out.
func (w *words) parse(text string) (query.Query, error) {
	parsed, err := bleve.NewQueryStringQuery(text).Parse()
	if err != nil {
		return nil, err
	}
	b, ok := parsed.(*query.BooleanQuery)
	if !ok {
		return w.spread(parsed), nil
	}
	var must, mustNot []query.Query
	for _, part := range []query.Query{b.Must, b.Should} {
		for _, c := range clauses(part) {
			if m, ok := c.(*query.MatchQuery); ok && m.Field() == "" && w.meaningless(m.Match) {
				continue
			}
			must = append(must, w.spread(c))
		}
	}
	for _, c := range clauses(b.MustNot) {
		mustNot = append(mustNot, w.spread(c))
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
// fields, with the analyzer.
func (w *words) spread(q query.Query) query.Query {
	f, ok := q.(query.FieldableQuery)
	if !ok {
		return q
	}
	if f.Field() != "" {
		if w.weights[f.Field()] > 0 {
			w.analyze(q)
		}
		return q
	}
	var any []query.Query
	for _, field := range slices.Sorted(maps.Keys(w.weights)) {
		c := copyQuery(q)
		if c == nil {
			return q
		}
		w.analyze(c)
		c.(query.FieldableQuery).SetField(field)
		if b, ok := c.(query.BoostableQuery); ok {
			b.SetBoost(float64(w.weights[field]) * b.Boost())
		}
		any = append(any, c)
	}
	return query.NewDisjunctionQuery(any)
}

func (w *words) analyze(q query.Query) {
	switch q := q.(type) {
	case *query.MatchQuery:
		q.Analyzer = w.analyzer
	case *query.MatchPhraseQuery:
		q.Analyzer = w.analyzer
	}
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
	if len(s) <= libindex.SnippetLength {
		return s
	}
	cut := libindex.SnippetLength
	for cut > 0 && s[cut]&0xc0 == 0x80 {
		cut--
	}
	return s[:cut] + "…"
}
