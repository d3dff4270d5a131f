package query

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/gonutch/crawler/core/internal/db/crawldb"
	"github.com/gonutch/crawler/core/internal/urlkey"
)

// Limits of the list of refused documents.
const (
	defaultRejected = 100
	maxRejected     = 100_000
)

// RejectedQuery asks for what index writers refused.
type RejectedQuery struct {
	Writer string `json:"writer,omitempty"` // "" is all
	Limit  int    `json:"limit,omitempty"`  // 0 is 100, at most 100,000
}

// Rejected is an operation that a writer refused for good.
type Rejected struct {
	URL    string    `json:"url"`
	Writer string    `json:"writer"`
	Op     string    `json:"op"` // add or delete
	Reason string    `json:"reason"`
	At     time.Time `json:"at"`
	// Segment is where the refused document was made from, Older the segment of the
	// document that the writer still has instead, "" when it has none.
	Segment string `json:"segment,omitempty"`
	Older   string `json:"older,omitempty"`
}

// RejectedAnswer lists refused operations.
type RejectedAnswer struct {
	Total    int64      `json:"total"`
	Rejected []Rejected `json:"rejected"` // by writer and URL, up to the limit
}

// RejectedDocs is the verb of "crawler index --rejected".
func RejectedDocs() Verb[RejectedQuery, *RejectedAnswer] {
	return Verb[RejectedQuery, *RejectedAnswer]{"rejected", rejectedDocs}
}

var errEnough = errors.New("enough")

func rejectedDocs(ctx context.Context, s *Source, q RejectedQuery) (*RejectedAnswer, error) {
	limit := q.Limit
	if limit <= 0 {
		limit = defaultRejected
	}
	limit = min(limit, maxRejected)
	db := s.Crawl.DB
	counts, err := db.DocCounts(ctx)
	if err != nil {
		return nil, err
	}
	a := &RejectedAnswer{Rejected: []Rejected{}}
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		if q.Writer != "" && q.Writer != name {
			continue
		}
		a.Total += counts[name].Refused
		err := db.RefusedBy(ctx, name, func(k urlkey.Key) error {
			if len(a.Rejected) >= limit {
				return errEnough
			}
			st, err := db.DocState(k)
			if err != nil {
				return err
			}
			if w := st.Writer(name); w.Refused != nil { // else it was settled meanwhile
				a.Rejected = append(a.Rejected, rejected(k, &w))
			}
			return nil
		})
		if err != nil && !errors.Is(err, errEnough) {
			return nil, err
		}
	}
	return a, nil
}

func rejected(k urlkey.Key, w *crawldb.WriterState) Rejected {
	url, err := urlkey.ToURL(k)
	if err != nil {
		url = string(k)
	}
	r := Rejected{URL: url, Writer: w.Name, Op: "add", Reason: w.Refused.Reason, At: w.Refused.At, Segment: w.Refused.Segment}
	if w.Refused.Hash == nil {
		r.Op = "delete"
	}
	if w.Held {
		r.Older = w.Segment
	}
	return r
}
