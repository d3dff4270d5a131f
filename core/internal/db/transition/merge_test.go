package transition

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gonutch/crawler/sdk/model"
)

// TestMergeRule has the rows of nutch.md 6.11.
func TestMergeRule(t *testing.T) {
	fetched := func(days, due int, meta ...string) model.CrawlDatum {
		d := model.CrawlDatum{Status: model.StatusDBFetched, FetchTime: t0.AddDate(0, 0, due), Interval: 10 * day, PrevFetchTime: t0.AddDate(0, 0, days)}
		for i := 0; i+1 < len(meta); i += 2 {
			if d.Metadata == nil {
				d.Metadata = model.Metadata{}
			}
			d.Metadata.Set(meta[i], meta[i+1])
		}
		return d
	}
	unfetched := func(due int) model.CrawlDatum {
		d := fetched(0, due)
		d.Status = model.StatusDBUnfetched
		return d
	}
	noPrevious := fetched(0, 15) // as a CrawlDB of Nutch has it: fetched on day 5
	noPrevious.PrevFetchTime = time.Time{}
	for name, c := range map[string]struct {
		own, other model.CrawlDatum
		theirs     bool
	}{
		"fetched later":                   {fetched(1, 11), fetched(2, 12), true},
		"fetched earlier":                 {fetched(2, 12), fetched(1, 20), false},
		"fetched at once, due later":      {fetched(1, 11), fetched(1, 12), true},
		"the same":                        {fetched(1, 11), fetched(1, 11), false},
		"fetched against not":             {unfetched(50), fetched(1, 11), true},
		"not fetched against fetched":     {fetched(1, 11), unfetched(50), false},
		"neither fetched, due later":      {unfetched(1), unfetched(2), true},
		"the time follows from due":       {fetched(4, 30), noPrevious, true},
		"the time follows from due, less": {fetched(6, 30), noPrevious, false},
	} {
		if _, theirs := Merge(c.own, c.other); theirs != c.theirs {
			t.Errorf("%s: theirs %v", name, theirs)
		}
	}
	own, other := fetched(1, 11, "a", "own", "b", "own"), fetched(2, 12, "b", "other", "c", "other")
	d, _ := Merge(own, other)
	if diff := cmp.Diff(model.Metadata{"a": {"own"}, "b": {"other"}, "c": {"other"}}, d.Metadata); diff != "" {
		t.Error(diff)
	}
	d, _ = Merge(other, own)
	if diff := cmp.Diff(model.Metadata{"a": {"own"}, "b": {"other"}, "c": {"other"}}, d.Metadata); diff != "" {
		t.Error(diff)
	}
	d.Metadata["a"][0] = "changed"
	if own.Metadata.First("a") != "own" {
		t.Error("the result shares metadata")
	}
}
