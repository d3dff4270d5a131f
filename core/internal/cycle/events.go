package cycle

import (
	"strconv"

	"github.com/gonutch/crawler/sdk/extension/publisher"
	"github.com/gonutch/crawler/sdk/manifest"
	"github.com/gonutch/crawler/sdk/model"
)

// publishes reports whether publishers hear of fetch events.
func (d *deps) publishes() bool { return d.cfg.Fetch.Publish && d.Chains.Has(manifest.Publisher) }

// report tells publishers of a parsed page, under the keys of Nutch's
// FetcherThread (nutch.md 1.13); fetchTime is in milliseconds since 1970. It never
// waits.
func (d *deps) report(w *work) {
	if !d.publishes() {
		return
	}
	p := w.page.Parsed
	data := model.Metadata{
		"title": {p.Title}, "content-type": {w.page.Fetch.MIMEType}, "score": {strconv.FormatFloat(float64(w.page.Hint.Score)/model.Micro, 'g', -1, 64)},
		"fetchTime": {strconv.FormatInt(w.page.Fetch.FetchTime.UnixMilli(), 10)},
	}
	if p.Language != "" {
		data["content-language"] = []string{p.Language}
	}
	for _, l := range p.Outlinks {
		data["outlinks"] = append(data["outlinks"], l.URL)
		data["anchors"] = append(data["anchors"], l.Anchor)
	}
	d.Chains.Publish(publisher.Event{Type: publisher.Report, URL: w.page.URL, Time: d.now(), Data: data})
}
