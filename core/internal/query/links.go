package query

import (
	"context"
	"regexp"

	"github.com/gonutch/crawler/core/internal/urlkey"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/model"
)

// InlinksQuery chooses targets of the LinkDB.
type InlinksQuery struct {
	URL   string `json:"url,omitempty"`   // only this one
	Regex string `json:"regex,omitempty"` // the whole URL of the target must match
}

// Inlinks are a page's inlinks.
type Inlinks struct {
	URL     string   `json:"url"`
	Inlinks []Inlink `json:"inlinks"`
}

// AllInlinks lists the LinkDB: "readlinkdb".
func AllInlinks() List[InlinksQuery, Inlinks] {
	return List[InlinksQuery, Inlinks]{"inlinks", inlinks}
}

func inlinks(ctx context.Context, s *Source, q InlinksQuery, f func(Inlinks) error) error {
	emit := func(url string, links []model.Inlink) error {
		a := Inlinks{URL: url, Inlinks: make([]Inlink, len(links))}
		for i, l := range links {
			a.Inlinks[i] = Inlink{l.From, l.Anchor}
		}
		return f(a)
	}
	if q.URL != "" {
		urls := []string{q.URL}
		if normal, ok := s.normalize(ctx, q.URL); ok && normal != q.URL {
			urls = append(urls, normal)
		}
		for _, url := range urls {
			links, err := s.Crawl.Links.Inlinks(urlkey.FromURL(url), maxInlinks)
			if err != nil {
				return err
			}
			if len(links) > 0 {
				return emit(url, links)
			}
		}
		return nil
	}
	re, err := regexp.Compile("^(?:" + q.Regex + ")$")
	if err != nil {
		return fault.Errorf(fault.Invalid, "regex: %w", err)
	}
	return s.Crawl.Links.Each(ctx, "", func(k urlkey.Key, links []model.Inlink) error {
		url, err := urlkey.ToURL(k)
		if err != nil {
			return err
		}
		if q.Regex != "" && !re.MatchString(url) {
			return nil
		}
		return emit(url, links)
	})
}
