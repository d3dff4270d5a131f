package query

import (
	"context"
	"strconv"

	"github.com/gonutch/crawler/core/internal/sheet"
	"github.com/gonutch/crawler/core/internal/step/update"
	"github.com/gonutch/crawler/sdk/setting"
)

// SheetValue is a setting that a sheet sets for a host.
type SheetValue struct {
	Setting string `json:"setting"`
	Value   string `json:"value"` // "(hidden)" for headers
	Sheet   string `json:"sheet"` // that decides
	Place   string `json:"place"` // where it is written
}

// TargetState is the freshness target that a URL belongs to.
type TargetState struct {
	update.TargetReport
	Place string `json:"place"` // where it is written
}

// sheets tells what sheets set for the URL's host, and its freshness target.
func (e *Explanation) sheets(ctx context.Context, s *Source) error {
	cfg := s.Crawl.Config
	e.Sheets = sheetValues(s, s.Crawl.Rules.Sheets.OfURL(e.URL))
	up, err := update.LoadConfig(cfg, s.Crawl.Rules)
	if err != nil {
		return err
	}
	target := up.Targets.Of(e.URL)
	reports, err := up.Freshness(ctx, s.Crawl.DB)
	for i := range reports {
		if reports[i].Target != target {
			continue
		}
		e.Fresh = &TargetState{TargetReport: reports[i]}
		if v, ok := cfg.Get("db.fetch_schedule_freshness_age"); ok {
			e.Fresh.Place = v.Origin.String()
		}
		for _, r := range cfg.Rules("freshness") {
			if r.Name == target && r.Has("age") {
				e.Fresh.Place = r.Place("age").String()
			}
		}
	}
	return err
}

func sheetValues(s *Source, set *sheet.Settings) (out []SheetValue) {
	if set == nil {
		return nil
	}
	add := func(key, value, name string) {
		if name == "" {
			return
		}
		v := SheetValue{Setting: key, Value: value, Sheet: name}
		for _, r := range s.Crawl.Config.Rules("sheet") {
			if r.Name == name {
				v.Place = r.Place(key).String()
			}
		}
		out = append(out, v)
	}
	add("crawl_delay", set.CrawlDelay.V.String(), set.CrawlDelay.Sheet)
	add("threads", strconv.Itoa(set.Threads.V), set.Threads.Sheet)
	add("max_count", strconv.Itoa(set.MaxCount.V), set.MaxCount.Sheet)
	add("interval", span(int64(set.Interval.V.Seconds())), set.Interval.Sheet)
	add("content_limit", setting.Size(set.ContentLimit.V).String(), set.ContentLimit.Sheet)
	for _, h := range set.Headers {
		add("headers", h.Name+": (hidden)", h.Sheet)
	}
	return out
}
