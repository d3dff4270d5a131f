package libevent

import (
	"testing"
	"time"

	"github.com/gonutch/crawler/sdk/extension/publisher"
	"github.com/gonutch/crawler/sdk/model"
)

func TestJSON(t *testing.T) {
	at := time.Unix(1, 5e6)
	for want, ev := range map[string]publisher.Event{
		`{"eventType":"START","url":"u","timestamp":1005}`:                                   {Type: publisher.Start, URL: "u", Time: at},
		`{"eventType":"END","eventData":{"status":"fetch_gone"},"url":"u","timestamp":1005}`: {Type: publisher.End, URL: "u", Time: at, Data: model.Metadata{"status": {"fetch_gone"}}},
		`{"eventType":"REPORT","eventData":{"outlinks":[{"anchor":"x","url":"a"},{"anchor":"","url":"b"}],"title":"t"},"url":"u","timestamp":1005}`: {
			Type: publisher.Report, URL: "u", Time: at, Data: model.Metadata{"title": {"t"}, "outlinks": {"a", "b"}, "anchors": {"x", ""}},
		},
		`{"eventType":"X","eventData":{"anchors":"x","many":["1","2"]},"url":"u","timestamp":1005}`: {Type: "X", URL: "u", Time: at, Data: model.Metadata{"anchors": {"x"}, "many": {"1", "2"}}},
	} {
		got, err := JSON(&ev)
		if err != nil || string(got) != want {
			t.Errorf("got  %s\nwant %s, %v", got, want, err)
		}
	}
}
