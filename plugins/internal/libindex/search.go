package libindex

import (
	"strings"

	"github.com/gonutch/crawler/sdk/extension/searcher"
	"github.com/gonutch/crawler/sdk/fault"
)

// Limits of one query, the same for every searcher: the hits of a page, its offset and limit
// together (the window of Elasticsearch), values of a facet, and bytes of a snippet.
const (
	MaxLimit      = 1000
	MaxWindow     = 10_000
	MaxFacet      = 100
	SnippetLength = 240
)

// Servers trim control characters off fragments, so matches are marked with private characters
// there, and with those of the contract in hits.
const (
	MarkStart = "\ue000"
	MarkEnd   = "\ue001"
)

// Marks writes a server's fragment with the marks of the contract.
func Marks(fragment string) string {
	return strings.NewReplacer(MarkStart, "\x01", MarkEnd, "\x02").Replace(fragment)
}

// Limit checks the page that q wants and returns how many hits that is.
func Limit(q *searcher.Query) (int, error) {
	limit := q.Limit
	if limit <= 0 {
		limit = 10
	}
	if q.Offset < 0 || limit > MaxLimit || q.Offset+limit > MaxWindow {
		return 0, fault.Errorf(fault.Invalid, "offset %d, limit %d: the limit may be %d, the sum of both %d", q.Offset, limit, MaxLimit, MaxWindow)
	}
	return limit, nil
}

// Weights are the fields that words without a field name are looked for in, and what each
// counts; more are those of the settings.
func Weights(more []string) map[string]int {
	w := map[string]int{"title": 3, "anchor": 2, "content": 1}
	for _, f := range more {
		if w[f] == 0 {
			w[f] = 1
		}
	}
	return w
}
