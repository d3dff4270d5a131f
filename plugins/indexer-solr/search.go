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

// Search implements searcher.Searcher with the extended DisMax parser: words
// must all occur, in whichever text field; -word must not, "a phrase",
// field:word, word~ and word* work as Solr documents them. It asks the first
// Solr that answers.
func (s *Solr) Search(ctx context.Context, name string, q *searcher.Query) (*searcher.Result, error) {
	in, err := s.Get(name)
	if err != nil {
		return nil, err
	}
	i := in.(*instance)
	limit, err := libindex.Limit(q)
	if err != nil {
		return nil, err
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
	weights := libindex.Weights(i.cfg.TextFields)
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
		"hl": {"true"}, "hl.method": {"unified"}, "hl.fl": {"title,content"}, "hl.tag.pre": {libindex.MarkStart}, "hl.tag.post": {libindex.MarkEnd},
		"hl.snippets": {"2"}, "hl.fragsize": {strconv.Itoa(libindex.SnippetLength)}, "hl.defaultSummary": {"true"},
	}
	if len(q.Facets) > 0 {
		v["facet"], v["facet.mincount"], v["facet.limit"] = []string{"true"}, []string{"1"}, []string{strconv.Itoa(libindex.MaxFacet)}
		for _, f := range q.Facets {
			if !slices.Contains(dateFields(), f) {
				v.Add("facet.field", f)
				continue
			}
			v.Add("facet.range", f)
			v.Set("f."+f+".facet.range.start", "1990-01-01T00:00:00Z")
			v.Set("f."+f+".facet.range.end", "NOW/MONTH+13MONTHS")
			v.Set("f."+f+".facet.range.gap", "+1MONTH")
		}
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
			Fields map[string][][]any                  `json:"facet_fields"`
			Ranges map[string]struct{ Counts [][]any } `json:"facet_ranges"`
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
		list := values(r.FacetCounts.Fields[f])
		if months, ok := r.FacetCounts.Ranges[f]; ok {
			list = values(months.Counts)
			for k := range list {
				list[k].Value = list[k].Value[:min(len(list[k].Value), len("2006-01"))]
			}
			slices.SortStableFunc(list, func(a, b searcher.FacetValue) int { return b.Count - a.Count })
			list = list[:min(len(list), libindex.MaxFacet)]
		}
		out.Facets[f] = list
	}
	return out, nil
}

// values reads Solr's pairs of a value and its count.
func values(pairs [][]any) []searcher.FacetValue {
	list := []searcher.FacetValue{}
	for _, pair := range pairs {
		if len(pair) == 2 {
			n, _ := pair[1].(float64)
			list = append(list, searcher.FacetValue{Value: strings.Join(libindex.Values(pair[0]), ""), Count: int(n)})
		}
	}
	return list
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
	for f, fragments := range highlighting[h.ID] {
		for _, s := range fragments {
			if f != "title" || strings.Contains(s, libindex.MarkStart) {
				h.Snippets[f] = append(h.Snippets[f], libindex.Marks(s))
			}
		}
	}
	return h
}
