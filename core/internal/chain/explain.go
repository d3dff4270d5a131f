package chain

import (
	"context"
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
	var steps []Step
	for loop := 0; loop < c.urls.loops; loop++ {
		before := url
		for _, m := range c.urls.order(scope) {
			w := newURLWork([]string{url})
			if err := c.urls.normalize(ctx, scope, []*member{m}, 1, w); err != nil {
				return steps, err
			}
			st := step(manifest.URLNormalizer, m.id, url, w.res[0], "unchanged", "changed")
			steps = append(steps, st)
			if st.Out == "" {
				return steps, nil
			}
			url = st.Out
		}
		if url == before {
			break
		}
	}
	for _, f := range c.urls.filters {
		w := newURLWork([]string{url})
		if err := c.urls.filter(ctx, []*filterStage{f}, w); err != nil {
			return steps, err
		}
		st := step(manifest.URLFilter, f.m.id, url, w.res[0], "accepted", "changed")
		steps = append(steps, st)
		if st.Out == "" {
			return steps, nil
		}
	}
	return steps, nil
}

func step(point, id, in string, r URLResult, same, changed string) Step {
	st := Step{Point: point, Plugin: id, In: strings.Clone(in), Out: r.URL, Reason: r.Reason}
	switch {
	case r.Err != nil:
		st.Verdict, st.Out, st.Reason = "error", "", r.Err.Error()
	case r.Dropped:
		st.Verdict, st.Out = "dropped", ""
	case r.URL == in:
		st.Verdict = same
	default:
		st.Verdict = changed
	}
	return st
}
