package scoringorphan_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	orphan "github.com/gonutch/crawler/plugins/scoring-orphan"

	"github.com/gonutch/crawler/sdk/extension/scoring"
	"github.com/gonutch/crawler/sdk/model"
	"github.com/gonutch/crawler/sdk/plugintest"
	"github.com/gonutch/crawler/sdk/setting"
)

const day = 24 * 60 * 60

func filter(gone, orphaned int) *orphan.Filter {
	d := func(days int) setting.Duration { return setting.Duration(time.Duration(days) * day * time.Second) }
	return &orphan.Filter{Config: orphan.Config{GoneAfter: d(gone), OrphanAfter: d(orphaned)}}
}

// The cases follow nutch.md 2.6 (scoring-orphan).
func TestOrphaned(t *testing.T) {
	const start = 1_700_000_000
	at := func(days int64) scoring.OrphanInput {
		return scoring.OrphanInput{Status: model.StatusDBFetched, Fields: model.Fields{"orphan_since": start}, NowUnix: start + days*day}
	}
	gone := at(35)
	gone.Status = model.StatusDBGone
	exactly := at(30)
	justAfter := at(30)
	justAfter.NowUnix++
	for _, c := range []struct {
		name string
		f    *orphan.Filter
		in   scoring.OrphanInput
		want scoring.OrphanOutput
	}{
		{"seed", filter(30, 40), scoring.OrphanInput{Status: model.StatusDBFetched, NowUnix: start}, scoring.OrphanOutput{}},
		{"lost its last inlink", filter(30, 40), scoring.OrphanInput{Fields: model.Fields{"orphan_since": 0}, NowUnix: start}, scoring.OrphanOutput{Set: model.Fields{"orphan_since": start}, Again: start + 30*day + 1}},
		{"for a day", filter(30, 40), at(1), scoring.OrphanOutput{Again: start + 30*day + 1}},
		{"for 30 days", filter(30, 40), exactly, scoring.OrphanOutput{Again: start + 30*day + 1}},
		{"and a second", filter(30, 40), justAfter, scoring.OrphanOutput{Status: model.StatusDBGone, Again: start + 40*day + 1}},
		{"gone already", filter(30, 40), gone, scoring.OrphanOutput{Again: start + 40*day + 1}},
		{"for 40 days", filter(30, 40), at(40), scoring.OrphanOutput{Status: model.StatusDBGone, Again: start + 40*day + 1}},
		{"for 41 days", filter(30, 40), at(41), scoring.OrphanOutput{Status: model.StatusDBOrphan}},
		{"gone is off", filter(50, 40), at(35), scoring.OrphanOutput{Again: start + 40*day + 1}},
		{"gone is off, orphan is not", filter(50, 40), at(55), scoring.OrphanOutput{Status: model.StatusDBOrphan}},
	} {
		out, err := c.f.Orphaned(t.Context(), []scoring.OrphanInput{c.in})
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(c.want, out[0]); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, d)
		}
	}
}

// TestALinkSetsTheCountBack: the effect of a link, merged by the minimum that the
// manifest declares, starts the count anew.
func TestALinkSetsTheCountBack(t *testing.T) {
	f := filter(1, 2)
	out, err := f.Distribute(t.Context(), []scoring.DistributeInput{{Targets: []scoring.Target{{URL: "http://a/"}, {URL: "http://b/"}}}, {}})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]scoring.DistributeOutput{{Columns: []scoring.Column{{Field: "orphan_since", Values: []int64{0, 0}}}}, {}}, out); d != "" {
		t.Fatalf("(-want +got):\n%s", d)
	}
	fields := model.Fields{"orphan_since": min(100, out[0].Columns[0].Values[0])}
	judged, err := f.Orphaned(t.Context(), []scoring.OrphanInput{{Fields: fields, NowUnix: 100 + 10*day}})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(scoring.OrphanOutput{Set: model.Fields{"orphan_since": 100 + 10*day}, Again: 100 + 11*day + 1}, judged[0]); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestConformance(t *testing.T) { plugintest.Run(t, orphan.Plugin(), plugintest.Options{}) }
