package chain

import (
	"context"
	"fmt"
	"strings"

	"github.com/gonutch/crawler/sdk/extension/urlnormalizer"
	"github.com/gonutch/crawler/sdk/manifest"
)

// Step is one plugin's part in what became of a URL.
type Step struct {
	Point   string `json:"point"`
	Plugin  string `json:"plugin"`
	In      string `json:"in"`
	Out     string `json:"out,omitempty"`
	Verdict string `json:"verdict"` // unchanged, changed, accepted, dropped, error
	Reason  string `json:"reason,omitempty"`
}

// Explain tells plugin by plugin what the normalizers of the scope and the
// filters make of url. It ends with the first that drops it or fails.
func (c *Chains) Explain(ctx context.Context, scope urlnormalizer.Scope, url string) ([]Step, error) {
	normalized, err := c.ExplainNormalize(ctx, scope, []string{url})
	if err != nil {
		return nil, err
	}
	steps := normalized[0]
	if n := len(steps); n > 0 {
		if url = steps[n-1].Out; url == "" {
			return steps, nil
		}
	}
	filtered, err := c.ExplainFilter(ctx, []string{url})
	if err != nil {
		return steps, err
	}
	return append(steps, filtered[0]...), nil
}

// ExplainNormalize tells for each URL, plugin by plugin and loop by loop, what the
// normalizers of the scope make of it. A URL's steps end with the normalizer
// that drops it or fails. The answers are as many as the URLs, in their order;
// equal URLs share theirs.
func (c *Chains) ExplainNormalize(ctx context.Context, scope urlnormalizer.Scope, urls []string) ([][]Step, error) {
	w := newURLWork(urls)
	steps := make([][]Step, len(w.in))
	var pick []bool
	for loop := 0; loop < c.urls.loops; loop++ {
		changed := make([]bool, len(w.in))
		for _, m := range c.urls.order(scope) {
			where, in := w.alive(pick)
			if err := c.urls.normalizeBy(ctx, scope, m, w, pick, changed); err != nil {
				return nil, fmt.Errorf("normalize urls: %w", err)
			}
			for k, i := range where {
				steps[i] = append(steps[i], step(manifest.URLNormalizer, m.id, in[k], w.res[i], "unchanged"))
			}
		}
		pick = changed
	}
	return w.spread(steps), nil
}

// ExplainFilter tells for each URL what the filters say of it, those that accept it
// included. A URL's steps end with the filter that drops it or fails. The
// answers are as many as the URLs, in their order; equal URLs share theirs.
func (c *Chains) ExplainFilter(ctx context.Context, urls []string) ([][]Step, error) {
	w := newURLWork(urls)
	steps := make([][]Step, len(w.in))
	for _, f := range c.urls.filters {
		where, out, err := c.urls.filterBy(ctx, f, w)
		if err != nil {
			return nil, fmt.Errorf("filter urls: %w", err)
		}
		for k, i := range where {
			st := step(manifest.URLFilter, f.m.id, w.in[i], w.res[i], "accepted")
			if st.Verdict == "accepted" {
				st.Reason = out[k].Reason
			}
			steps[i] = append(steps[i], st)
		}
	}
	return w.spread(steps), nil
}

// spread gives every URL that was asked for the steps of its text.
func (w *urlWork) spread(steps [][]Step) [][]Step {
	out := make([][]Step, len(w.at))
	for i, p := range w.at {
		out[i] = steps[p]
	}
	return out
}

func step(point, id, in string, r URLResult, same string) Step {
	st := Step{Point: point, Plugin: id, In: strings.Clone(in), Out: r.URL, Reason: r.Reason}
	switch {
	case r.Err != nil:
		st.Verdict, st.Out, st.Reason = "error", "", r.Err.Error()
	case r.Dropped:
		st.Verdict, st.Out = "dropped", ""
	case r.URL == in:
		st.Verdict = same
	default:
		st.Verdict = "changed"
	}
	return st
}
