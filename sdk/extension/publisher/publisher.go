// Package publisher is the Publisher extension point (Nutch's NutchPublisher):
// hear of fetch events as they happen.
//
// Events are queued and dropped, counted, when a publisher can't keep up: it
// never slows the fetch.
package publisher

import (
	"context"
	"time"

	"github.com/gonutch/crawler/sdk/model"
)

// EventType names an event.
type EventType string

// The event types, spelled as Nutch spells them.
const (
	Start  EventType = "START"
	End    EventType = "END"
	Report EventType = "REPORT"
)

// Event is one event. Data's keys are those of Nutch's FetcherThreadEvent.
type Event struct {
	Type EventType
	URL  string
	Time time.Time
	Data model.Metadata
}

// Publisher sends events on. Implementations are safe for concurrent use.
type Publisher interface {
	// Publish sends a batch of events; an error loses them and is counted.
	Publish(ctx context.Context, events []Event) error
}
