package transition

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gonutch/crawler/core/internal/schedule"
	"github.com/gonutch/crawler/sdk/model"
)

const maxWait = 90 * day

// live visits a record whenever it is due, for years, and checks what holds for every record.
func live(t *testing.T, r Rules, years int, visit func(n int, now time.Time) Outcome, check func(n int, d model.CrawlDatum)) int {
	t.Helper()
	d, _ := Linked(nil, Link{}, t0, r)
	n := 0
	for now := t0; now.Before(t0.AddDate(years, 0, 0)); n++ {
		o := visit(n, now)
		o.FetchTime = now
		next, ok := Apply(&d, o, now, r)
		if !ok {
			t.Fatal("known record not written")
		}
		wait := next.FetchTime.Sub(now)
		if wait <= 0 || wait > maxWait {
			t.Fatalf("visit %d at %v: next visit after %v", n, now, wait)
		}
		if next.Interval <= 0 || next.Interval > maxWait && !next.FixedInterval {
			t.Fatalf("visit %d: interval %v", n, next.Interval)
		}
		check(n, next)
		d, now = next, next.FetchTime
	}
	return n
}

func bothSchedules(t *testing.T, f func(t *testing.T, r Rules)) {
	for _, name := range []string{schedule.Default, schedule.Adaptive} {
		t.Run(name, func(t *testing.T) { f(t, newRules(t, name)) })
	}
}

func wantStatus(t *testing.T, n int, d model.CrawlDatum, want model.Status) {
	t.Helper()
	if d.Status != want {
		t.Fatalf("visit %d: %v, want %v", n, d.Status, want)
	}
}

func TestGoneFor150Years(t *testing.T) {
	bothSchedules(t, func(t *testing.T, r Rules) {
		visits := live(t, r, 150, func(int, time.Time) Outcome { return Outcome{Status: model.StatusFetchGone} },
			func(n int, d model.CrawlDatum) { wantStatus(t, n, d, model.StatusDBGone) })
		if visits < 150*365/91 {
			t.Errorf("only %d visits", visits)
		}
	})
}

// Nutch's retry count is a byte and overflows, after which the page is unfetched again.
func TestFailingFor150Years(t *testing.T) {
	bothSchedules(t, func(t *testing.T, r Rules) {
		live(t, r, 150, func(int, time.Time) Outcome { return Outcome{Status: model.StatusFetchRetry} },
			func(n int, d model.CrawlDatum) {
				want := model.StatusDBGone
				if n < r.RetryMax-1 {
					want = model.StatusDBUnfetched
				}
				wantStatus(t, n, d, want)
				if d.Retries != n+1 {
					t.Fatalf("visit %d: %d retries", n, d.Retries)
				}
			})
	})
}

func TestNeverModified(t *testing.T) {
	bothSchedules(t, func(t *testing.T, r Rules) {
		for _, byServer := range []bool{false, true} {
			live(t, r, 20, func(n int, now time.Time) Outcome {
				if byServer && n > 0 {
					return Outcome{Status: model.StatusFetchNotModified}
				}
				return Outcome{Status: model.StatusFetchSuccess, Signature: []byte("A"), Segment: "s"}
			}, func(n int, d model.CrawlDatum) {
				want := model.StatusDBNotModified
				if n == 0 {
					want = model.StatusDBFetched
				}
				wantStatus(t, n, d, want)
				if string(d.Signature) != "A" || d.Segment != "s" || d.ModifiedTime.After(t0) {
					t.Fatalf("visit %d: %+v", n, d)
				}
			})
		}
	})
}

// Content that alternates with a state without content must always come back as new.
func TestContentReturns(t *testing.T) {
	bothSchedules(t, func(t *testing.T, r Rules) {
		r.DeleteFailedParse = true
		for _, s := range []model.Status{
			model.StatusFetchGone, model.StatusFetchRedirTemp, model.StatusFetchRedirPerm, model.StatusParseFailed,
		} {
			live(t, r, 5, func(n int, _ time.Time) Outcome {
				if n%2 == 1 {
					return Outcome{Status: s}
				}
				return Outcome{Status: model.StatusFetchSuccess, Signature: []byte("A"), ETag: "e", Segment: "s"}
			}, func(n int, d model.CrawlDatum) {
				if n%2 == 0 {
					wantStatus(t, n, d, model.StatusDBFetched)
					return
				}
				if len(d.Signature) > 0 || d.ETag != "" || d.Segment != "" || string(d.PrevSignature) != "A" {
					t.Fatalf("%v, visit %d: content not forgotten: %+v", s, n, d)
				}
			})
		}
	})
}

func TestApplyPanicsOnForeignStatus(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic on a status that no fetch has")
		}
	}()
	Apply(nil, Outcome{Status: model.StatusDBFetched}, t0, newRules(t, schedule.Default))
}

func TestResultSharesNothing(t *testing.T) {
	old := model.CrawlDatum{
		Status: model.StatusDBFetched, Signature: []byte("A"), Metadata: model.Metadata{"k": {"v"}}, Fields: model.Fields{"f": 1},
	}
	want := Clone(old)
	o := Outcome{Status: model.StatusFetchSuccess, Signature: []byte("B"), ParseMeta: model.Metadata{"p": {"q"}}}
	d, _ := Apply(&old, o, t0, newRules(t, schedule.Default))
	d.Signature[0], d.PrevSignature[0], d.Metadata["k"][0], d.Metadata["p"][0], d.Fields["f"] = 'x', 'x', "x", "x", 2
	if diff := cmp.Diff(want, old); diff != "" {
		t.Error(diff)
	}
	if string(o.Signature) != "B" || o.ParseMeta.First("p") != "q" {
		t.Errorf("outcome changed: %+v", o)
	}
}

func TestFetchStatus(t *testing.T) {
	for code, want := range map[model.ProtocolCode]model.Status{
		model.ProtocolSuccess: model.StatusFetchSuccess, model.ProtocolMoved: model.StatusFetchRedirPerm,
		model.ProtocolTempMoved: model.StatusFetchRedirTemp, model.ProtocolNotModified: model.StatusFetchNotModified,
		model.ProtocolGone: model.StatusFetchGone, model.ProtocolNotFound: model.StatusFetchGone,
		model.ProtocolAccessDenied: model.StatusFetchGone, model.ProtocolRobotsDenied: model.StatusFetchGone,
		model.ProtocolException: model.StatusFetchRetry, model.ProtocolRetry: model.StatusFetchRetry,
		model.ProtocolFailed: model.StatusFetchRetry, model.ProtocolNotFoundProto: model.StatusFetchRetry, 200: model.StatusFetchRetry,
	} {
		if got := FetchStatus(code); got != want {
			t.Errorf("%v: %v, want %v", code, got, want)
		}
	}
}
