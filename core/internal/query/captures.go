package query

import (
	"context"
	"slices"

	"github.com/gonutch/crawler/core/internal/segment"
	"github.com/gonutch/crawler/core/internal/urlkey"
)

// CapturesQuery chooses what segments hold of documents.
type CapturesQuery struct {
	Segments   []string `json:"segments,omitempty"`    // ids, or paths that end in them; none means all
	Successful bool     `json:"successful,omitempty"`  // only fetch_success
	MIMETypes  []string `json:"mime_types,omitempty"`  // only these; none means all
	Parse      bool     `json:"parse,omitempty"`       // with parse data and text
	NoDocument bool     `json:"no_document,omitempty"` // those without a stored document, too
}

// Capture is one fetch of a URL: where its document lies, and what was parsed of it.
type Capture struct {
	Segment string     `json:"segment"`
	URL     string     `json:"url"`
	Fetch   *Fetched   `json:"crawlFetch"`
	Parse   *ParseData `json:"parseData,omitempty"`
	Text    string     `json:"parseText,omitempty"`
}

// Captures lists the fetches of segments, oldest segment first, each by URL key: "warc export",
// "dump". robots.txt files, which are stored for the record, are not among them.
func Captures() List[CapturesQuery, Capture] {
	return List[CapturesQuery, Capture]{"captures", captures}
}

func captures(ctx context.Context, s *Source, q CapturesQuery, f func(Capture) error) error {
	segs, err := segments(ctx, s, SegmentsQuery{Names: q.Segments})
	if err != nil {
		return err
	}
	for i := range segs.Segments {
		seg := segs.Segments[i].Name
		err := s.Crawl.Segs.EachFetch(ctx, seg, func(k urlkey.Key, r *segment.Fetch) error {
			switch {
			case q.Successful && r.Status.String() != "fetch_success", r.WARC.File == "" && !q.NoDocument,
				len(q.MIMETypes) > 0 && !slices.Contains(q.MIMETypes, r.MIMEType):
				return nil
			}
			c := Capture{Segment: seg, URL: r.URL, Fetch: fetched(r)}
			if q.Parse {
				p, err := s.Crawl.Segs.GetParse(seg, k, segment.Want{Text: true, Outlinks: true})
				if err != nil {
					return err
				}
				if p != nil {
					c.Parse, c.Text = parseData(p), p.Text
				}
			}
			return f(c)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
