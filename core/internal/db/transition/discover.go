package transition

import (
	"fmt"
	"strings"
	"time"

	"github.com/gonutch/crawler/sdk/model"
)

// Link is what is known of a URL that a page, redirect or sitemap names.
type Link struct {
	Score    int64        // start score by the scoring chain, in micro-units
	Fields   model.Fields // start fields by the scoring chain
	Metadata model.Metadata
	ReprURL  string
}

// Linked returns the record of a URL that was linked to, and whether it is to be
// written. A URL that has a record keeps it as it is: a link never revives a
// gone page and never moves its schedule (what links do to scores goes through effects).
// A new one becomes db_unfetched, due at now, if additions are allowed.
func Linked(old *model.CrawlDatum, l Link, now time.Time, r Rules) (model.CrawlDatum, bool) {
	if old != nil {
		return Clone(*old), false
	}
	if !r.AdditionsAllowed {
		return model.CrawlDatum{}, false
	}
	return r.Schedule.Initialize(Clone(model.CrawlDatum{
		Status: model.StatusDBUnfetched, Score: l.Score, Fields: l.Fields, Metadata: l.Metadata, ReprURL: l.ReprURL,
	}), now), true
}

// Seed is one line of a seed list, after the scoring chain saw it.
type Seed struct {
	Score         int64 // micro-units; counts only with ScoreSet
	ScoreSet      bool  // the line names nutch.score (or a scoring plugin set it)
	Fields        model.Fields
	Interval      time.Duration // 0 when the line names none
	FixedInterval bool          // the interval came as nutch.fetchInterval.fixed
	Metadata      model.Metadata
}

// InjectMode says what a seed does to a record that exists.
type InjectMode uint8

// The modes: a seed for a known URL is ignored, updates score, interval and
// metadata (db.injector.update), or replaces the record (db.injector.overwrite).
const (
	InjectNew InjectMode = iota
	InjectUpdate
	InjectOverwrite
)

// String returns the mode's name.
func (m InjectMode) String() string {
	switch m {
	case InjectNew:
		return "new"
	case InjectUpdate:
		return "update"
	case InjectOverwrite:
		return "overwrite"
	}
	return fmt.Sprintf("unknown(%d)", uint8(m))
}

// ParseInjectMode returns the mode called s, letter case aside.
func ParseInjectMode(s string) (InjectMode, error) {
	for _, m := range []InjectMode{InjectNew, InjectUpdate, InjectOverwrite} {
		if strings.EqualFold(s, m.String()) {
			return m, nil
		}
	}
	return InjectNew, fmt.Errorf("inject mode %q: want new, update or overwrite", s)
}

// Injected says what a seed did.
type Injected uint8

// What a seed can do.
const (
	SeedAdded       Injected = iota // it made a record
	SeedIgnored                     // the URL was known
	SeedUpdated                     // it changed the record
	SeedOverwritten                 // it replaced the record
)

// Inject merges a seed with the record of its URL, nil when there is none, by
// Nutch's rules (Injector). Adding seeds is always allowed. Update leaves
// status and due time alone.
func Inject(old *model.CrawlDatum, s Seed, mode InjectMode, now time.Time, r Rules) (model.CrawlDatum, Injected) {
	switch {
	case old == nil:
		return fromSeed(s, now, r), SeedAdded
	case mode == InjectOverwrite:
		return fromSeed(s, now, r), SeedOverwritten
	case mode == InjectUpdate:
		d := Clone(*old)
		if s.ScoreSet {
			d.Score = s.Score
			for k, v := range s.Fields {
				if d.Fields == nil {
					d.Fields = model.Fields{}
				}
				d.Fields[k] = v
			}
		}
		if s.Interval > 0 {
			d.Interval, d.FixedInterval = s.Interval, s.FixedInterval
		}
		d.Metadata = overlay(d.Metadata, s.Metadata)
		return d, SeedUpdated
	}
	return Clone(*old), SeedIgnored
}

func fromSeed(s Seed, now time.Time, r Rules) model.CrawlDatum {
	d := r.Schedule.Initialize(Clone(model.CrawlDatum{
		Status: model.StatusDBUnfetched, Score: r.InjectedScore, Fields: s.Fields, Metadata: s.Metadata,
	}), now)
	if s.ScoreSet {
		d.Score = s.Score
	}
	if s.Interval > 0 {
		d.Interval, d.FixedInterval = s.Interval, s.FixedInterval
	}
	return d
}
