package fetch

import (
	"github.com/gonutch/crawler/core/internal/frontier"
	"github.com/gonutch/crawler/core/internal/urlkey"
	"github.com/gonutch/crawler/sdk/extension/protocol"
	"github.com/gonutch/crawler/sdk/model"
)

// hostPace returns how the host of url is to be asked when that is not as the settings
// say: by its sheet, or by Deps.Delay.
func (e *Engine) hostPace(url string) *frontier.Pace {
	set := e.cfg.Sheets.OfURL(url)
	if set == nil && e.deps.Delay == nil {
		return nil
	}
	var p frontier.Pace
	if set != nil {
		p = frontier.Pace{Delay: set.CrawlDelay.V, HasDelay: set.CrawlDelay.Set(), Threads: set.Threads.V}
	}
	if !p.HasDelay && e.deps.Delay != nil {
		p.Delay, p.HasDelay = e.deps.Delay(urlkey.Host(url))
	}
	if p == (frontier.Pace{}) {
		return nil
	}
	for d := int64(p.Delay); ; {
		before := e.longest.Load()
		if d <= before || e.longest.CompareAndSwap(before, d) {
			break
		}
	}
	return &p
}

// sheet puts what the sheets set for the host into its request.
func (e *Engine) sheet(req *protocol.Request) { ApplySheet(&e.cfg, req) }

// ApplySheet puts what the sheets of cfg set for the host of req into it: headers,
// and for pages without a limit of their own the limit of content.
func ApplySheet(cfg *Config, req *protocol.Request) {
	set := cfg.Sheets.OfURL(req.URL)
	if set == nil {
		return
	}
	if set.ContentLimit.Set() && req.Kind == protocol.Page && req.MaxBytes == 0 {
		req.MaxBytes = set.ContentLimit.V
	}
	for _, h := range set.Headers {
		if req.Headers == nil {
			req.Headers = make(model.Metadata, len(set.Headers))
		}
		req.Headers.Set(h.Name, h.Value)
	}
}
