package feed

import (
	"context"
	"strconv"
	"time"

	"github.com/gonutch/crawler/sdk/extension/indexingfilter"
)

// Filter adds what feeds say of their entries to documents (Nutch's
// FeedIndexingFilter). It is safe for concurrent use.
type Filter struct{}

// FilterDocument implements indexingfilter.Filter.
func (Filter) FilterDocument(_ context.Context, in *indexingfilter.Input) (*indexingfilter.Patch, error) {
	p := &indexingfilter.Patch{Add: map[string][]string{}}
	meta := in.Parse.ParseMeta
	for field, key := range map[string]string{"author": metaAuthor, "tag": metaTag, "feed": metaFeed, "feedTitle": metaFeedTitle} {
		if v := meta[key]; len(v) > 0 {
			p.Add[field] = v
		}
	}
	for field, key := range map[string]string{"publishedDate": metaPublished, "updatedDate": metaUpdated} {
		ms, err := strconv.ParseInt(meta.First(key), 10, 64)
		if err != nil {
			continue // another plugin's key of that name, in another form
		}
		p.Add[field] = []string{time.UnixMilli(ms).UTC().Format(time.RFC3339)}
	}
	if len(p.Add) == 0 {
		return nil, nil
	}
	return p, nil
}

var _ indexingfilter.Filter = Filter{}
