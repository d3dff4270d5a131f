package chain

import (
	"context"

	"github.com/gonutch/crawler/sdk/extension/urlnormalizer"
)

// URLChain normalizes and filters URLs; Chains is one.
type URLChain interface {
	NormalizeFilter(ctx context.Context, scope urlnormalizer.Scope, urls []string) ([]URLResult, error)
	Normalize(ctx context.Context, scope urlnormalizer.Scope, urls []string) ([]URLResult, error)
	Filter(ctx context.Context, urls []string) ([]URLResult, error)
}

// Judge runs the normalizers, the filters or both over URLs, as a step's options say. With
// neither each URL passes as it is.
func Judge(ctx context.Context, c URLChain, scope urlnormalizer.Scope, normalize, filter bool, urls []string) ([]URLResult, error) {
	switch {
	case normalize && filter:
		return c.NormalizeFilter(ctx, scope, urls)
	case normalize:
		return c.Normalize(ctx, scope, urls)
	case filter:
		return c.Filter(ctx, urls)
	}
	out := make([]URLResult, len(urls))
	for i, u := range urls {
		out[i].URL = u
	}
	return out, nil
}
