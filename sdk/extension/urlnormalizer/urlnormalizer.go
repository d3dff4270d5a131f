// Package urlnormalizer is the URLNormalizer extension point: bring a URL into
// its normal form.
//
// Normalizers run in chain order, each on what the one before returned, for
// every URL where it first appears. On the wire a call carries about 500 URLs.
package urlnormalizer

import "context"

// Scope says where a URL appeared (Nutch's scopes).
type Scope string

// The scopes a normalizer may treat differently.
const (
	ScopeDefault           Scope = "default"
	ScopeInject            Scope = "inject"
	ScopeOutlink           Scope = "outlink"
	ScopeFetcher           Scope = "fetcher"
	ScopeCrawlDB           Scope = "crawldb"
	ScopeLinkDB            Scope = "linkdb"
	ScopeGenerateHostCount Scope = "generate_host_count"
	ScopePartition         Scope = "partition"
	ScopeIndexer           Scope = "indexer"
)

// Scopes returns all scopes, the default one first.
func Scopes() []Scope {
	return []Scope{
		ScopeDefault, ScopeInject, ScopeOutlink, ScopeFetcher, ScopeCrawlDB, ScopeLinkDB, ScopeGenerateHostCount, ScopePartition, ScopeIndexer,
	}
}

// Result is the outcome for one URL. An empty URL means it is dropped, and
// Reason says why.
type Result struct {
	URL    string
	Reason string
}

// Normalizer rewrites URLs. Implementations are safe for concurrent use and
// deterministic: the core caches answers.
type Normalizer interface {
	// NormalizeURL returns the normal form of url, which need not be a valid
	// URL, or an empty Result.URL with a Reason to drop it.
	NormalizeURL(ctx context.Context, scope Scope, url string) (Result, error)
}
