// Package libevent is the form in which publishers send fetch events on: Nutch's
// FetcherThreadEvent as JSON. It owns no transport.
package libevent

import (
	"encoding/json"

	"github.com/gonutch/crawler/sdk/extension/publisher"
)

// event has Nutch's names. Its timestamp is in milliseconds since 1970.
type event struct {
	Type      string         `json:"eventType"`
	Data      map[string]any `json:"eventData,omitempty"`
	URL       string         `json:"url"`
	Timestamp int64          `json:"timestamp"`
}

// JSON returns ev as one line without its end. Outlinks are a list of objects with
// url and anchor, as Nutch has them; other data are texts, or lists when there are several.
func JSON(ev *publisher.Event) ([]byte, error) {
	out := event{Type: string(ev.Type), URL: ev.URL, Timestamp: ev.Time.UnixMilli()}
	if len(ev.Data) > 0 {
		out.Data = make(map[string]any, len(ev.Data))
	}
	for k, v := range ev.Data {
		switch {
		case k == "anchors" && len(ev.Data["outlinks"]) > 0:
		case k == "outlinks":
			links := make([]map[string]string, len(v))
			for i, url := range v {
				links[i] = map[string]string{"url": url}
				if a := ev.Data["anchors"]; len(a) == len(v) {
					links[i]["anchor"] = a[i]
				}
			}
			out.Data[k] = links
		case len(v) == 1:
			out.Data[k] = v[0]
		default:
			out.Data[k] = v
		}
	}
	return json.Marshal(out)
}
