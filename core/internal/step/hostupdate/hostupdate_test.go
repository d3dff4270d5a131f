package hostupdate

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gonutch/crawler/core/internal/chain"
	"github.com/gonutch/crawler/core/internal/db/crawldb"
	"github.com/gonutch/crawler/core/internal/db/hostdb"
	"github.com/gonutch/crawler/core/internal/store"
	"github.com/gonutch/crawler/core/internal/urlkey"
	"github.com/gonutch/crawler/sdk/extension/urlnormalizer"
	"github.com/gonutch/crawler/sdk/model"
)

var t0 = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// names answers look-ups: what is not there does not exist.
type names struct {
	mu    sync.Mutex
	known map[string]error // nil: has an address
	asked []string
}

func (n *names) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.asked = append(n.asked, host)
	err, ok := n.known[host]
	switch {
	case !ok:
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	case err != nil:
		return nil, err
	}
	return []netip.Addr{netip.MustParseAddr("192.0.2.1")}, nil
}

type bench struct {
	t     *testing.T
	s     *store.Store
	db    *crawldb.DB
	hosts *hostdb.DB
	cfg   Config
	now   time.Time
	names
	rules
}

// rules reject URLs with /no in them, fail on those with /odd, and know an old host's new name.
type rules struct{ moved string }

func (r *rules) one(url string, normalize, filter bool) (out chain.URLResult) {
	out.URL = url
	if strings.Contains(url, "/odd") {
		out.Err = errors.New("odd")
	}
	if normalize {
		out.URL = strings.Replace(url, "old.test", r.moved, 1)
	}
	out.Dropped = filter && strings.Contains(url, "/no")
	return out
}

func (r *rules) all(urls []string, normalize, filter bool) ([]chain.URLResult, error) {
	out := make([]chain.URLResult, len(urls))
	for i, u := range urls {
		out[i] = r.one(u, normalize, filter)
	}
	return out, nil
}

func (r *rules) NormalizeFilter(_ context.Context, _ urlnormalizer.Scope, urls []string) ([]chain.URLResult, error) {
	return r.all(urls, true, true)
}

func (r *rules) Normalize(_ context.Context, _ urlnormalizer.Scope, urls []string) ([]chain.URLResult, error) {
	return r.all(urls, true, false)
}

func (r *rules) Filter(_ context.Context, urls []string) ([]chain.URLResult, error) {
	return r.all(urls, false, true)
}

func newBench(t *testing.T) *bench {
	s, err := store.Open("crawl", store.Options{FS: store.NewMemFS()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	db, err := crawldb.Open(t.Context(), s, crawldb.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return &bench{t: t, s: s, db: db, hosts: hostdb.Open(s), now: t0, names: names{known: map[string]error{}}, cfg: Config{
		New: true, Known: true, Failed: true, Recheck: time.Hour, Threshold: 3, Resolvers: 4,
		Numeric: []string{"_rs_"}, Strings: []string{"Content-Type"}, Percentiles: []float64{50, 95},
	}}
}

func (b *bench) put(url string, d model.CrawlDatum) {
	b.t.Helper()
	err := b.db.Update(b.t.Context(), func(tx *crawldb.Tx) error { tx.Put(urlkey.FromURL(url), &crawldb.Record{Datum: d}); return nil })
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) run(scores map[string]int64) Report {
	b.t.Helper()
	b.asked = nil
	rep, err := Run(b.t.Context(), Deps{DB: b.db, Hosts: b.hosts, Plugins: &b.rules, Resolver: &b.names, Now: func() time.Time { return b.now }}, b.cfg,
		func(host string) (int64, bool, error) { n, ok := scores[host]; return n, ok, nil })
	if err != nil {
		b.t.Fatal(err)
	}
	return rep
}

func (b *bench) get(host string) *hostdb.Record {
	b.t.Helper()
	r, err := b.hosts.Get(host)
	if err != nil || r == nil {
		b.t.Fatalf("%s: %v, %v", host, r, err)
	}
	return r
}

// TestLookUps follows hosts over days (nutch.md section 12: eligibility and purge are
// inverted in Nutch, and the interval overflows).
func TestLookUps(t *testing.T) {
	b := newBench(t)
	for _, h := range []string{"ok", "dead", "dozing", "192.0.2.7"} {
		b.put("http://"+h+"/", model.CrawlDatum{Status: model.StatusDBUnfetched, FetchTime: t0})
		b.put("http://"+h+"/x", model.CrawlDatum{Status: model.StatusDBUnfetched, FetchTime: t0})
	}
	b.known["ok"], b.known["dozing"] = nil, &net.DNSError{Err: "server misbehaving", IsTemporary: true}
	want := func(name string, want Report) {
		t.Helper()
		want.Hosts = 4
		if d := cmp.Diff(want, b.run(nil)); d != "" {
			t.Errorf("%s: (-want +got)\n%s", name, d)
		}
	}
	want("first", Report{Checked: 4, NewKnown: 2, NewUnknown: 1, Undecided: 1})
	if r := b.get("dozing"); !r.Checked.IsZero() || r.DNSFailures != 0 {
		t.Errorf("a resolver that fails counts against the host: %+v", r)
	}
	b.now = t0.Add(59 * time.Minute)
	want("too early", Report{NotEligible: 3, Checked: 1, Undecided: 1})
	b.now = t0.Add(time.Hour)
	want("the interval is over", Report{Checked: 4, Known: 2, Unknown: 1, Undecided: 1})
	b.now = t0.Add(2 * time.Hour) // dead failed twice: it waits two hours
	want("a failed host waits longer", Report{NotEligible: 1, Checked: 3, Known: 2, Undecided: 1})
	b.cfg.Known = false
	b.now = t0.Add(3 * time.Hour)
	want("given up", Report{NotEligible: 2, Checked: 2, Unknown: 1, Purged: 1, Undecided: 1})
	held, next, err := b.hosts.Held(t.Context(), b.now)
	if err != nil || !held("dead") || held("ok") || !next.Equal(t0.Add(6*time.Hour)) {
		t.Errorf("held: dead %v, ok %v until %v, %v", held("dead"), held("ok"), next, err)
	}
	b.known["dead"] = nil
	b.cfg.Failed = false
	want("failed ones are not asked for", Report{NotEligible: 3, Checked: 1, Undecided: 1})
	b.cfg.Failed, b.cfg.Force = true, true
	want("found again", Report{NotEligible: 2, Checked: 2, Rediscovered: 1, Undecided: 1})
	if held, _, err := b.hosts.Held(t.Context(), b.now); err != nil || held("dead") {
		t.Errorf("still held, %v", err)
	}
	b.cfg.New = false
	want("new ones are not asked for", Report{NotEligible: 4})
	if len(b.asked) != 0 {
		t.Errorf("asked about %v", b.asked)
	}
}

func TestFigures(t *testing.T) {
	b := newBench(t)
	b.cfg.New = false
	for i := range 100 {
		b.put(fmt.Sprintf("http://a.test/%d", i), model.CrawlDatum{Status: model.StatusDBFetched, Metadata: model.Metadata{
			"_rs_": {fmt.Sprint(i + 1)}, "Content-Type": {[]string{"text/html", "application/pdf"}[i/90]},
		}})
	}
	b.put("http://a.test/", model.CrawlDatum{Status: model.StatusDBFetched})
	b.put("https://a.test/", model.CrawlDatum{Status: model.StatusDBRedirPerm})
	b.put("http://b.test/", model.CrawlDatum{Status: model.StatusDBRedirTemp, ReprURL: "http://b.test/start", Metadata: model.Metadata{"_rs_": {"no number"}}})
	b.put("http://c.test/?x", model.CrawlDatum{Status: model.StatusDBFetched})
	rep := b.run(map[string]int64{"b.test": 3 * model.Micro, "unknown.test": 1})
	if rep.Scored != 1 || rep.Hosts != 3 {
		t.Errorf("%+v", rep)
	}
	wantA := model.Metadata{
		"min._rs_": {"1"}, "max._rs_": {"100"}, "avg._rs_": {"50.5"}, "pct50._rs_": {"51"}, "pct95._rs_": {"96"},
		"Content-Type.text/html": {"90"}, "Content-Type.application/pdf": {"10"},
	}
	a := b.get("a.test")
	for _, p := range []string{"pct50._rs_", "pct95._rs_"} { // each its own, near enough
		wantA[p] = a.Metadata[p]
	}
	if d := cmp.Diff(wantA, a.Metadata); d != "" {
		t.Error(d)
	}
	vars := hostdb.Variables("a.test", hostdb.Counts{}, a)
	if x := vars["pct50"].(map[string]any)["_rs_"].(float64); x < 50 || x > 52 {
		t.Errorf("pct50 is %v", x)
	}
	if x := vars["pct95"].(map[string]any)["_rs_"].(float64); x < 94.5 || x > 97 {
		t.Errorf("pct95 is %v", x)
	}
	bb := b.get("b.test")
	if a.Homepage != "http://a.test/" || bb.Homepage != "http://b.test/start" || b.get("c.test").Homepage != "" {
		t.Errorf("homepages %q %q", a.Homepage, bb.Homepage)
	}
	if bb.Metadata != nil || bb.Score != 3*model.Micro || vars["score"] != 0.0 {
		t.Errorf("b.test: %+v", bb)
	}
	// What others keep stays, what is no longer so goes.
	err := b.s.Update(t.Context(), func(tx *store.Tx) error {
		a.Metadata["_sitemap_"] = []string{"x"}
		hostdb.Put(tx, "a.test", a)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		b.put(fmt.Sprintf("http://a.test/%d", i), model.CrawlDatum{Status: model.StatusDBGone})
	}
	b.run(nil)
	if d := cmp.Diff(model.Metadata{"_sitemap_": {"x"}}, b.get("a.test").Metadata); d != "" {
		t.Error(d)
	}
	if b.get("b.test").Score != 3*model.Micro {
		t.Error("a score is lost")
	}
}

// counts returns what is counted of each host, "-" for what the CrawlDB has.
func (b *bench) counts() map[string]string {
	b.t.Helper()
	out := map[string]string{}
	err := b.hosts.Each(b.t.Context(), func(host string, _ hostdb.Counts, rec *hostdb.Record) error {
		out[host] = "-"
		if rec != nil && rec.Passed != nil {
			out[host] = fmt.Sprint(rec.Passed.URLs)
		}
		return nil
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return out
}

// TestFilterNormalize: counts are those of what passes, under the host of the normal form, whatever
// was counted before.
func TestFilterNormalize(t *testing.T) {
	b := newBench(t)
	b.rules.moved = "new.test"
	fetched, gone := model.CrawlDatum{Status: model.StatusDBFetched}, model.CrawlDatum{Status: model.StatusDBGone}
	for i := range 700 { // more than are judged at once
		b.put(fmt.Sprintf("http://big.test/%d", i), fetched)
		b.put(fmt.Sprintf("http://big.test/no/%d", i), fetched)
	}
	for _, u := range []string{"http://old.test/a", "http://old.test/b", "http://new.test/c", "http://only.test/no", "http://new.test/odd/no"} {
		b.put(u, fetched)
	}
	b.put("http://old.test/gone", gone)
	step := func(name string, filter, normalize bool, want Report, counts map[string]string) {
		t.Helper()
		b.now = b.now.Add(time.Minute)
		b.cfg.Filter, b.cfg.Normalize = filter, normalize
		got := b.run(nil)
		got = Report{Hosts: got.Hosts, Filtered: got.Filtered, Moved: got.Moved, BelowLimit: got.BelowLimit}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
		if d := cmp.Diff(counts, b.counts()); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
	const f, g = model.StatusDBFetched, model.StatusDBGone
	n := func(m map[model.Status]int64) string { return fmt.Sprint(m) }
	both := map[string]string{
		"big.test": n(map[model.Status]int64{f: 700}), "new.test": n(map[model.Status]int64{f: 4, g: 1}), "old.test": "map[]", "only.test": "map[]",
	}
	step("both", true, true, Report{Hosts: 4, Filtered: 701, Moved: 3}, both)
	if len(b.asked) != 2 { // hosts of which nothing passes are not looked up
		t.Errorf("asked about %v", b.asked)
	}
	step("again", true, true, Report{Hosts: 4, Filtered: 701, Moved: 3}, both)
	step("filter", true, false, Report{Hosts: 4, Filtered: 701}, map[string]string{
		"big.test": n(map[model.Status]int64{f: 700}), "new.test": n(map[model.Status]int64{f: 2}), "old.test": n(map[model.Status]int64{f: 2, g: 1}), "only.test": "map[]",
	})
	b.rules.moved = "elsewhere.test" // that the CrawlDB has nothing of
	step("normalize", false, true, Report{Hosts: 4, Moved: 3}, map[string]string{
		"big.test": n(map[model.Status]int64{f: 1400}), "new.test": n(map[model.Status]int64{f: 2}), "old.test": "map[]", "only.test": n(map[model.Status]int64{f: 1}),
		"elsewhere.test": n(map[model.Status]int64{f: 2, g: 1}),
	})
	plain := map[string]string{"big.test": "-", "new.test": "-", "old.test": "-", "only.test": "-", "elsewhere.test": "-"}
	step("neither", false, false, Report{Hosts: 4}, plain)
	b.cfg.URLLimit = 3
	step("limit", true, false, Report{Hosts: 2, Filtered: 701, BelowLimit: 2}, map[string]string{
		"big.test": n(map[model.Status]int64{f: 700}), "new.test": "-", "old.test": n(map[model.Status]int64{f: 2, g: 1}), "only.test": "-", "elsewhere.test": "-",
	})
}

// TestStopped: what is cut short says so, and leaves no host half done.
func TestStopped(t *testing.T) {
	b := newBench(t)
	b.put("http://a.test/", model.CrawlDatum{Status: model.StatusDBUnfetched})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Run(ctx, Deps{DB: b.db, Hosts: b.hosts, Plugins: &b.rules, Resolver: &b.names, Now: time.Now}, b.cfg, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if r, err := b.hosts.Get("a.test"); r != nil || err != nil {
		t.Errorf("%+v, %v", r, err)
	}
}
