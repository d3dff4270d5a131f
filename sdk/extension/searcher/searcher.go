// Package searcher is the Searcher extension point: query what an index writer
// wrote.
package searcher

import "context"

// Query is one search.
type Query struct {
	Text   string // the engine's query language; plain words must work
	Offset int    // hits to skip
	Limit  int    // hits wanted; 0 means 10
	// Facets are fields to count values of, the most frequent ones first; those of dates by month,
	// as in "2006-01".
	Facets []string
}

// Hit is one document found.
type Hit struct {
	ID       string              `json:"id"`
	Score    float64             `json:"score"`
	Fields   map[string][]string `json:"fields,omitempty"`   // stored fields, content left out
	Snippets map[string][]string `json:"snippets,omitempty"` // fragments by field, matches between \x01 and \x02
}

// FacetValue is a value and how many hits have it.
type FacetValue struct {
	Value string `json:"value"`
	Count int    `json:"count"`
}

// Result is the answer to a Query.
type Result struct {
	Total  uint64                  `json:"total"`
	Hits   []Hit                   `json:"hits"`
	Facets map[string][]FacetValue `json:"facets,omitempty"`
}

// Searcher answers queries against an opened writer instance. Implementations
// are safe for concurrent use, also while the instance is being written.
type Searcher interface {
	// Search runs q. A query the engine can't read is an error of kind Invalid.
	Search(ctx context.Context, instance string, q *Query) (*Result, error)
}
