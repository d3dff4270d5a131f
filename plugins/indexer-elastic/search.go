package indexerelastic

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/gonutch/crawler/plugins/internal/libindex"
	"github.com/gonutch/crawler/sdk/extension/searcher"
	"github.com/gonutch/crawler/sdk/fault"
)

// Search implements searcher.Searcher with a query_string query: words must all
// occur, in whichever text field; -word must not, "a phrase", field:word, word~
// and word* work as the server documents them.
func (e *Elastic) Search(ctx context.Context, name string, q *searcher.Query) (*searcher.Result, error) {
	in, err := e.Get(name)
	if err != nil {
		return nil, err
	}
	i := in.(*instance)
	limit, err := libindex.Limit(q)
	if err != nil {
		return nil, err
	}
	body := i.request(q, limit)
	aggs, err := i.aggregations(ctx, q.Facets, body["query"])
	if err != nil {
		return nil, err
	}
	if aggs != nil {
		body["aggs"] = aggs
	}
	a, err := i.do(ctx, http.MethodPost, "/_search", url.Values{"ignore_unavailable": {"true"}}, body)
	if err != nil {
		return nil, err
	}
	if !a.OK() {
		return nil, a.Err(fmt.Sprintf("query %q", q.Text), searchReason(a.Body))
	}
	return result(a.Body, q.Facets)
}

func (i *instance) request(q *searcher.Query, limit int) map[string]any {
	weights := libindex.Weights(i.cfg.TextFields)
	fields := make([]string, 0, len(weights))
	for _, f := range slices.Sorted(maps.Keys(weights)) {
		fields = append(fields, f+"^"+strconv.Itoa(weights[f]))
	}
	var query any = map[string]any{"match_all": map[string]any{}}
	if strings.TrimSpace(q.Text) != "" {
		query = map[string]any{"query_string": map[string]any{
			"query": libindex.Clean(q.Text), "fields": fields, "type": "cross_fields", "default_operator": "AND", "lenient": true, "allow_leading_wildcard": false,
		}}
	}
	return map[string]any{
		"query": query, "from": q.Offset, "size": limit, "track_total_hits": true,
		"_source": map[string]any{"excludes": []string{"content"}},
		"highlight": map[string]any{
			"pre_tags": []string{libindex.MarkStart}, "post_tags": []string{libindex.MarkEnd}, "fragment_size": libindex.SnippetLength, "number_of_fragments": 2, "no_match_size": libindex.SnippetLength,
			"require_field_match": false,
			"fields":              map[string]any{"title": map[string]any{"number_of_fragments": 0, "no_match_size": 0}, "content": map[string]any{}},
		},
	}
}

// searchReason is the server's word about a query it can't read, without the
// shards around it.
func searchReason(body []byte) string {
	var e struct {
		Error struct {
			RootCause []cause `json:"root_cause"`
		}
	}
	if json.Unmarshal(body, &e) == nil && len(e.Error.RootCause) > 0 {
		return e.Error.RootCause[0].String()
	}
	return reason(body)
}

func result(body []byte, facets []string) (*searcher.Result, error) {
	var r struct {
		Hits struct {
			Total struct{ Value uint64 }
			Hits  []struct {
				ID        string         `json:"_id"`
				Score     float64        `json:"_score"`
				Source    map[string]any `json:"_source"`
				Highlight map[string][]string
			}
		}
		Aggregations map[string]struct{ Buckets json.RawMessage }
	}
	if err := json.Unmarshal(body, &r); err != nil {
		return nil, fault.Errorf(fault.Transient, "search answer: %w", err)
	}
	out := &searcher.Result{Total: r.Hits.Total.Value, Hits: make([]searcher.Hit, len(r.Hits.Hits))}
	for k, h := range r.Hits.Hits {
		hit := searcher.Hit{ID: h.ID, Score: h.Score, Fields: map[string][]string{}, Snippets: h.Highlight}
		for _, fragments := range hit.Snippets {
			for n := range fragments {
				fragments[n] = libindex.Marks(fragments[n])
			}
		}
		for f, v := range h.Source {
			if f != "boost" && f != "content" {
				hit.Fields[f] = libindex.Values(v)
			}
		}
		if id := hit.Fields["id"]; len(id) == 1 {
			hit.ID = id[0]
		}
		out.Hits[k] = hit
	}
	for _, f := range facets {
		if out.Facets == nil {
			out.Facets = map[string][]searcher.FacetValue{}
		}
		list, err := counted(r.Aggregations[f].Buckets)
		if err != nil {
			return nil, fault.Errorf(fault.Transient, "search answer: facet %s: %w", f, err)
		}
		out.Facets[f] = list
	}
	return out, nil
}
