package chain

import (
	"context"
	"fmt"

	"github.com/gonutch/crawler/sdk/extension/urlexemption"
)

// Exempt reports for each link whether it is let through although external
// links are ignored: every exemption filter says so and there is at least one.
// A filter that fails on a link does not let it through.
func (c *Chains) Exempt(ctx context.Context, pairs []urlexemption.Pair) ([]bool, error) {
	if len(c.urls.exemptions) == 0 {
		return make([]bool, len(pairs)), nil
	}
	out, _, err := c.urls.exempt.do(ctx, pairs)
	if err != nil {
		return nil, fmt.Errorf("judge external links: %w", err)
	}
	return out, nil
}

func (u *urlChain) runExempt(ctx context.Context, pairs []urlexemption.Pair) ([]bool, []error, error) {
	left := make([]int, len(pairs))
	for i := range left {
		left[i] = i
	}
	for _, s := range u.exemptions {
		ask := make([]urlexemption.Pair, len(left))
		for k, i := range left {
			ask[k] = pairs[i]
		}
		out, errs, err := s.run(ctx, ask)
		if err != nil {
			return nil, nil, err
		}
		var next []int
		for k, i := range left {
			if out[k] && (errs == nil || errs[k] == nil) {
				next = append(next, i)
			}
		}
		left = next
	}
	out := make([]bool, len(pairs))
	for _, i := range left {
		out[i] = true
	}
	return out, nil, nil
}
