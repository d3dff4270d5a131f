// Package merge brings what other crawl directories know into an open one: records of
// their CrawlDBs, links of their LinkDBs; and it makes one segment of several. It is
// Nutch's mergedb, mergelinkdb and mergesegs (nutch.md 6.11, 6.12, 6.17). It owns which of several
// versions stays and what must change with it; it must not know how URLs are judged or who
// asks.
//
// Everything streams in key order, in portions that commit whole. A merge that is cut
// short is done by the same one again: what is there already changes nothing.
package merge

import (
	"context"
	"fmt"
	"time"

	"github.com/gonutch/crawler/core/internal/chain"
	"github.com/gonutch/crawler/core/internal/db/crawldb"
	"github.com/gonutch/crawler/core/internal/db/linkdb"
	"github.com/gonutch/crawler/core/internal/db/outlinks"
	"github.com/gonutch/crawler/core/internal/store"
	"github.com/gonutch/crawler/core/internal/urlkey"
	"github.com/gonutch/crawler/sdk/extension/segmentmerge"
	"github.com/gonutch/crawler/sdk/extension/urlnormalizer"
)

// Plugins are the chains that merging needs; chain.Chains has them.
type Plugins interface {
	chain.URLChain
	KeepRecords(ctx context.Context, in []*segmentmerge.Record) (keep []bool, errs []error, err error)
}

// Deps are what the steps work with.
type Deps struct {
	DB      *crawldb.DB
	LinkDB  *linkdb.DB
	Links   outlinks.Links
	Plugins Plugins
	Now     time.Time
}

// Source is another crawl directory, open.
type Source struct {
	Dir   string
	Store *store.Store
}

// share is about how much of what src has under prefix comes before key, by the bytes of its
// files; 0 when they hold nothing.
func (s *Source) share(prefix byte, key urlkey.Key) (float64, error) {
	all, err := s.Store.DiskUsage([]byte{prefix}, []byte{prefix + 1})
	if err != nil || all == 0 {
		return 0, err
	}
	done, err := s.Store.DiskUsage([]byte{prefix}, store.Key(prefix, key))
	return float64(done) / float64(all), err
}

// Options say how URLs are treated on the way.
type Options struct {
	Normalize bool
	Filter    bool
	// Progress, when set, is told how many records are done, and about which share, from 0
	// to 1, of all; 0 when that is not known.
	Progress func(records int64, share float64)
}

// portion bounds the records of one change.
const portion = 1000

// Rejected counts URLs that were left out, by the plugin that rejected them.
type Rejected map[string]int64

// keys judges the URLs of keys. The result is as long; what is left out is "" and
// counted.
func (d *Deps) keys(ctx context.Context, scope urlnormalizer.Scope, o Options, keys []urlkey.Key, rejected Rejected) ([]urlkey.Key, error) {
	if !o.Normalize && !o.Filter {
		return keys, nil
	}
	urls := make([]string, len(keys))
	for i, k := range keys {
		var err error
		if urls[i], err = urlkey.ToURL(k); err != nil {
			return nil, fmt.Errorf("record %q: %w", k, err)
		}
	}
	res, err := chain.Judge(ctx, d.Plugins, scope, o.Normalize, o.Filter, urls)
	if err != nil {
		return nil, err
	}
	out := make([]urlkey.Key, len(keys))
	for i, r := range res {
		switch {
		case r.Err != nil: // stays as it is, as in Nutch
			out[i] = keys[i]
		case r.Dropped:
			rejected[r.Plugin]++
		default:
			out[i] = urlkey.FromURL(r.URL)
		}
	}
	return out, nil
}
