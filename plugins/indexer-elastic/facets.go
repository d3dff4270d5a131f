package indexerelastic

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/gonutch/crawler/plugins/internal/libindex"
	"github.com/gonutch/crawler/sdk/extension/searcher"
	"github.com/gonutch/crawler/sdk/fault"
)

// months is how many months, from the newest on, are counted of dates that are kept as keywords.
const months = 1200

// month is the form in which dates are counted.
const month = "2006-01"

// capabilities are the types of fields by name, and whether values of the type can be counted.
type capabilities map[string]map[string]struct {
	Aggregatable bool `json:"aggregatable"`
}

// capabilities asks how the index holds the facets' fields and what may stand beside them:
// ".raw" of the ready mapping, ".keyword" of an index that the server made up. It is nil when the
// user may not ask.
func (i *instance) capabilities(ctx context.Context, facets []string) (capabilities, error) {
	var names []string
	for _, f := range facets {
		names = append(names, besides(f)...)
	}
	a, err := i.do(ctx, http.MethodGet, "/_field_caps", url.Values{"fields": {strings.Join(names, ",")}, "ignore_unavailable": {"true"}}, nil)
	if err != nil || !a.OK() {
		return nil, err
	}
	var r struct{ Fields capabilities }
	if err := json.Unmarshal(a.Body, &r); err != nil {
		return nil, fault.Errorf(fault.Transient, "field capabilities: %w", err)
	}
	return r.Fields, nil
}

func besides(field string) []string { return []string{field, field + ".raw", field + ".keyword"} }

// countable returns the field of which the values of facet can be counted as they are.
func (c capabilities) countable(facet string) string {
	for _, f := range besides(facet) {
		for _, t := range c[f] {
			if t.Aggregatable {
				return f
			}
		}
	}
	return ""
}

// isDate reports whether the index holds a field as a date everywhere.
func (c capabilities) isDate(field string) bool {
	for t := range c[field] {
		if t != "date" && t != "date_nanos" {
			return false
		}
	}
	return len(c[field]) > 0
}

// aggregations are what counts the facets of a query: dates by month, everything else by value.
func (i *instance) aggregations(ctx context.Context, facets []string, query any) (map[string]any, error) {
	if len(facets) == 0 {
		return nil, nil
	}
	caps, err := i.capabilities(ctx, facets)
	if err != nil {
		return nil, err
	}
	weights := libindex.Weights(i.cfg.TextFields)
	aggs := map[string]any{}
	for _, f := range facets {
		field := caps.countable(f)
		switch date := fieldTypes()[f] == "date"; {
		case date && (field == "" || caps.isDate(f)):
			aggs[f] = map[string]any{"date_histogram": map[string]any{
				"field": f, "calendar_interval": "month", "format": "yyyy-MM", "min_doc_count": 1, "order": map[string]any{"_count": "desc"},
			}}
			continue
		case date:
			if aggs[f], err = i.months(ctx, field, query); err != nil {
				return nil, err
			}
			continue
		case field == "" && weights[f] > 0 && f != "content":
			field = f + ".raw"
		case field == "":
			field = f
		}
		aggs[f] = map[string]any{"terms": map[string]any{"field": field, "size": libindex.MaxFacet}}
	}
	return aggs, nil
}

// months counts the months of dates that are kept as keywords: each from the first to the last
// that a document of the query has is a filter.
func (i *instance) months(ctx context.Context, field string, query any) (any, error) {
	end := func(order string) any {
		return map[string]any{"terms": map[string]any{"field": field, "size": 1, "include": "[0-9]{4}-[01][0-9].*", "order": map[string]any{"_key": order}}}
	}
	a, err := i.do(ctx, http.MethodPost, "/_search", url.Values{"ignore_unavailable": {"true"}},
		map[string]any{"query": query, "size": 0, "aggs": map[string]any{"first": end("asc"), "last": end("desc")}})
	if err != nil {
		return nil, err
	}
	if !a.OK() {
		return nil, a.Err("look for the first and last "+field, searchReason(a.Body))
	}
	var r struct {
		Aggregations map[string]struct{ Buckets []struct{ Key string } }
	}
	if err := json.Unmarshal(a.Body, &r); err != nil {
		return nil, fault.Errorf(fault.Transient, "search answer: %w", err)
	}
	bound := func(name string) time.Time {
		for _, b := range r.Aggregations[name].Buckets {
			if t, err := time.Parse(month, b.Key[:min(len(b.Key), len(month))]); err == nil {
				return t
			}
		}
		return time.Time{}
	}
	filters := map[string]any{"none": map[string]any{"match_none": map[string]any{}}} // there must be one
	first, last := bound("first"), bound("last")
	for t := last; !t.IsZero() && !t.Before(first) && len(filters) <= months; t = t.AddDate(0, -1, 0) {
		m := t.Format(month)
		filters[m] = map[string]any{"prefix": map[string]any{field: m}}
	}
	return map[string]any{"filters": map[string]any{"filters": filters}}, nil
}

// counted reads the buckets of a facet: a list, or an object by the names of filters.
func counted(raw json.RawMessage) ([]searcher.FacetValue, error) {
	list := []searcher.FacetValue{}
	if strings.HasPrefix(strings.TrimSpace(string(raw)), "{") {
		var named map[string]struct {
			DocCount int `json:"doc_count"`
		}
		if err := json.Unmarshal(raw, &named); err != nil {
			return nil, fmt.Errorf("buckets: %w", err)
		}
		for _, name := range slices.Sorted(maps.Keys(named)) {
			if n := named[name].DocCount; n > 0 {
				list = append(list, searcher.FacetValue{Value: name, Count: n})
			}
		}
		slices.SortStableFunc(list, func(a, b searcher.FacetValue) int { return cmp.Compare(b.Count, a.Count) })
	} else if len(raw) > 0 {
		var buckets []struct {
			Key      any
			KeyText  string `json:"key_as_string"`
			DocCount int    `json:"doc_count"`
		}
		if err := json.Unmarshal(raw, &buckets); err != nil {
			return nil, fmt.Errorf("buckets: %w", err)
		}
		for _, b := range buckets {
			v := searcher.FacetValue{Value: b.KeyText, Count: b.DocCount}
			if v.Value == "" {
				v.Value = strings.Join(libindex.Values(b.Key), "")
			}
			list = append(list, v)
		}
	}
	return list[:min(len(list), libindex.MaxFacet)], nil
}
