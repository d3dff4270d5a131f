package indexersolr

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

// Limits of one query.
const (
	maxLimit  = 1000
	maxOffset = 10_000
	maxFacet  = 100
)

const snippetLength = 240

// Marks around matches; Solr trims control characters off fragments.
const (
	markStart = "\ue000"
	markEnd   = "\ue001"
)

// Search implements searcher.Searcher with the extended DisMax parser: words
// must all occur, in whichever text field; -word must not, "a phrase",
// field:word, word~ and word* work as Solr documents them. It asks the first
// Solr that answers.
func (s *Solr) Search(ctx context.Context, name string, q *searcher.Query) (*searcher.Result, error) {
	i, err := s.get(name)
	if err != nil {
		return nil, err
	}
	limit := q.Limit
	if limit <= 0 {
		limit = 10
	}
	if q.Offset < 0 || q.Offset > maxOffset || limit > maxLimit {
		return nil, fault.Errorf(fault.Invalid, "offset %d, limit %d: at most %d and %d", q.Offset, limit, maxOffset, maxLimit)
	}
	form := []byte(i.query(q, limit).Encode())
	var a *libindex.Answer
	for _, t := range i.targets {
		a, err = t.client.Do(ctx, libindex.Request{Method: http.MethodPost, Path: t.path("/select"), Type: "application/x-www-form-urlencoded", Body: form})
		if err == nil && !a.Again() {
			break
		}
	}
	if err != nil {
		return nil, err
	}
	if !a.OK() {
		return nil, a.Err(fmt.Sprintf("query %q", q.Text), reason(a.Body))
	}
	return result(a.Body, q.Facets)
}

func (i *instance) query(q *searcher.Query, limit int) url.Values {
	weights := map[string]int{"title": 3, "anchor": 2, "content": 1}
	for _, f := range i.cfg.TextFields {
		if weights[f] == 0 {
			weights[f] = 1
		}
	}
	qf := make([]string, 0, len(weights))
	for _, f := range slices.Sorted(maps.Keys(weights)) {
		qf = append(qf, f+"^"+strconv.Itoa(weights[f]))
	}
	text := libindex.Clean(q.Text)
	if strings.TrimSpace(text) == "" {
		text = "*:*"
	}
	v := url.Values{
		"q": {text}, "defType": {"edismax"}, "q.op": {"AND"}, "qf": {strings.Join(qf, " ")}, "tie": {"0.1"}, "fl": {"*,score"},
		"start": {strconv.Itoa(q.Offset)}, "rows": {strconv.Itoa(limit)}, "wt": {"json"},
		"hl": {"true"}, "hl.method": {"unified"}, "hl.fl": {"title,content"}, "hl.tag.pre": {markStart}, "hl.tag.post": {markEnd},
		"hl.snippets": {"2"}, "hl.fragsize": {strconv.Itoa(snippetLength)}, "hl.defaultSummary": {"true"},
	}
	if len(q.Facets) > 0 {
		v["facet"], v["facet.field"], v["facet.mincount"], v["facet.limit"] = []string{"true"}, q.Facets, []string{"1"}, []string{strconv.Itoa(maxFacet)}
		v["json.nl"] = []string{"arrarr"}
	}
	return v
}

func result(body []byte, facets []string) (*searcher.Result, error) {
	var r struct {
		Response struct {
			NumFound uint64
			Docs     []map[string]any
		}
		Highlighting map[string]map[string][]string
		FacetCounts  struct {
			Fields map[string][][]any `json:"facet_fields"`
		} `json:"facet_counts"`
	}
	if err := json.Unmarshal(body, &r); err != nil {
		return nil, fault.Errorf(fault.Transient, "search answer: %w", err)
	}
	out := &searcher.Result{Total: r.Response.NumFound, Hits: make([]searcher.Hit, len(r.Response.Docs))}
	for k, d := range r.Response.Docs {
		out.Hits[k] = hit(d, r.Highlighting)
	}
	for _, f := range facets {
		if out.Facets == nil {
			out.Facets = map[string][]searcher.FacetValue{}
		}
		list := []searcher.FacetValue{}
		for _, pair := range r.FacetCounts.Fields[f] {
			if len(pair) == 2 {
				n, _ := pair[1].(float64)
				list = append(list, searcher.FacetValue{Value: strings.Join(libindex.Values(pair[0]), ""), Count: int(n)})
			}
		}
		out.Facets[f] = list
	}
	return out, nil
}

func hit(d map[string]any, highlighting map[string]map[string][]string) searcher.Hit {
	h := searcher.Hit{Fields: map[string][]string{}, Snippets: map[string][]string{}}
	h.ID, _ = d["id"].(string)
	h.Score, _ = d["score"].(float64)
	for f, v := range d {
		if f != "content" && f != "boost" && f != "score" && f != "_version_" && f != "_root_" {
			h.Fields[f] = libindex.Values(v)
		}
	}
	marks := strings.NewReplacer(markStart, "\x01", markEnd, "\x02")
	for f, fragments := range highlighting[h.ID] {
		for _, s := range fragments {
			if f != "title" || strings.Contains(s, markStart) {
				h.Snippets[f] = append(h.Snippets[f], marks.Replace(s))
			}
		}
	}
	return h
}
