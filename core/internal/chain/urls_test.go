package chain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/extension/urlexemption"
	"github.com/gonutch/crawler/sdk/extension/urlfilter"
	"github.com/gonutch/crawler/sdk/extension/urlnormalizer"
	"github.com/gonutch/crawler/sdk/fault"
)

var everyURLPlugin = []string{"urlnormalizer-lower", "urlnormalizer-slash", "urlfilter-spam", "urlfilter-eggs"}

func TestNormalizeFilter(t *testing.T) {
	c := inProcess(t, Options{NormalizerLoops: 2}, everyURLPlugin...)
	urls := []string{"HTTP://A//", "http://spam.eggs/", "http://EGGS/", "http://gone/", "HTTP://A//", "", "http://a///"}
	want := []URLResult{
		{URL: "http://a"}, // two loops, a slash each
		{URL: "http://spam.eggs", Dropped: true, Plugin: "urlfilter-eggs", Reason: "rule eggs"},
		{URL: "http://eggs", Dropped: true, Plugin: "urlfilter-eggs", Reason: "rule eggs"},
		{Dropped: true, Plugin: "urlnormalizer-lower", Reason: "gone in scope outlink"},
		{URL: "http://a"},
		{Dropped: true, Plugin: "urlnormalizer-lower"},
		{URL: "http://a/"},
	}
	for _, round := range []string{"asked", "remembered"} {
		got, err := c.NormalizeFilter(t.Context(), urlnormalizer.ScopeOutlink, urls)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", round, d)
		}
	}
	n := c.Counters()
	if n["cache.hits"] != int64(len(urls)) || n["cache.misses"] != int64(len(urls)) || n["urlfilter-eggs.drops"] != 2 || n["urlnormalizer-lower.drops"] != 2 || n["urlfilter-spam.calls"] != 1 {
		t.Errorf("counters: %v", n)
	}
	got, err := c.NormalizeFilter(t.Context(), urlnormalizer.ScopeInject, []string{"http://gone/"})
	if err != nil || got[0].Reason != "gone in scope inject" {
		t.Errorf("another scope: %+v, %v", got, err)
	}
	if got, err := c.NormalizeFilter(t.Context(), urlnormalizer.ScopeInject, nil); err != nil || len(got) != 0 {
		t.Errorf("no URLs: %v, %v", got, err)
	}
	if got, err := c.Filter(t.Context(), []string{"http://EGGS/"}); err != nil || got[0].Dropped {
		t.Errorf("filters alone: %v, %v", got, err)
	}
	if got, err := c.Normalize(t.Context(), urlnormalizer.ScopeInject, []string{"http://SPAM/"}); err != nil || got[0].URL != "http://spam" {
		t.Errorf("normalizers alone: %v, %v", got, err)
	}
}

func TestExplain(t *testing.T) {
	c := inProcess(t, Options{NormalizerLoops: 3}, everyURLPlugin...)
	got, err := c.ExplainNormalize(t.Context(), urlnormalizer.ScopeInject, []string{"http://A.EGGS/", "http://b", "http://A.EGGS/"})
	if err != nil {
		t.Fatal(err)
	}
	first := []Step{
		{"urlnormalizer", "urlnormalizer-lower", "http://A.EGGS/", "http://a.eggs/", "changed", ""},
		{"urlnormalizer", "urlnormalizer-slash", "http://a.eggs/", "http://a.eggs", "changed", ""},
		{"urlnormalizer", "urlnormalizer-lower", "http://a.eggs", "http://a.eggs", "unchanged", ""},
		{"urlnormalizer", "urlnormalizer-slash", "http://a.eggs", "http://a.eggs", "unchanged", ""},
	}
	second := []Step{
		{"urlnormalizer", "urlnormalizer-lower", "http://b", "http://b", "unchanged", ""},
		{"urlnormalizer", "urlnormalizer-slash", "http://b", "http://b", "unchanged", ""},
	}
	if d := cmp.Diff([][]Step{first, second, first}, got); d != "" {
		t.Error(d)
	}
	got, err = c.ExplainFilter(t.Context(), []string{"http://b", "http://a.eggs"})
	if err != nil {
		t.Fatal(err)
	}
	want := [][]Step{
		{
			{"urlfilter", "urlfilter-eggs", "http://b", "http://b", "accepted", ""},
			{"urlfilter", "urlfilter-spam", "http://b", "http://b", "accepted", ""},
		},
		{{"urlfilter", "urlfilter-eggs", "http://a.eggs", "", "dropped", "rule eggs"}},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestOnly(t *testing.T) {
	c := inProcess(t, Options{Only: map[string]string{"urlfilter": "urlfilter-spam"}}, everyURLPlugin...)
	want := []PointChain{
		{"urlnormalizer", []string{"urlnormalizer-lower", "urlnormalizer-slash"}},
		{"urlfilter", []string{"urlfilter-spam"}},
	}
	if d := cmp.Diff(want, c.Resolved()); d != "" {
		t.Error(d)
	}
	if got, err := c.Filter(t.Context(), []string{"http://a.eggs"}); err != nil || got[0].Dropped {
		t.Errorf("judged by a filter that was left out: %+v, %v", got, err)
	}
}

func TestOrder(t *testing.T) {
	c := inProcess(t, Options{
		Order:           map[string][]string{"urlfilter": {"urlfilter-spam"}},
		NormalizerOrder: map[urlnormalizer.Scope][]string{urlnormalizer.ScopeInject: {"urlnormalizer-slash"}},
	}, everyURLPlugin...)
	want := []PointChain{
		{"urlnormalizer", []string{"urlnormalizer-lower", "urlnormalizer-slash"}},
		{"urlfilter", []string{"urlfilter-spam", "urlfilter-eggs"}},
	}
	if d := cmp.Diff(want, c.Resolved()); d != "" {
		t.Error(d)
	}
	steps, err := c.ExplainNormalize(t.Context(), urlnormalizer.ScopeInject, []string{"http://a"})
	if err != nil || steps[0][0].Plugin != "urlnormalizer-slash" {
		t.Errorf("order of a scope: %+v, %v", steps, err)
	}
	for _, o := range []Options{
		{Order: map[string][]string{"urlfilter": {"urlfilter-ham"}}},
		{Order: map[string][]string{"urlfilter": {"urlnormalizer-lower"}}},
		{Order: map[string][]string{"urlfilter": {"urlfilter-spam", "urlfilter-spam"}}},
		{Order: map[string][]string{"urlfilters": {"urlfilter-spam"}}},
		{NormalizerOrder: map[urlnormalizer.Scope][]string{"injekt": nil}},
		{ParserTypes: map[string][]string{"text/html": {"parse-html"}}},
		{Exchanges: []ExchangeConfig{{Name: "x", Plugin: "exchange-x"}}},
	} {
		if _, err := NewLocal([]LocalPlugin{local(t, plugins()["urlfilter-spam"]), local(t, plugins()["urlnormalizer-lower"])}, o); !fault.Is(err, fault.Invalid) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

// counting is a filter and normalizer that counts what it is asked and fails on
// request.
type counting struct {
	asked *atomic.Int64
	fail  *atomic.Bool
}

func (f counting) FilterURL(_ context.Context, url string) (urlfilter.Verdict, error) {
	f.asked.Add(1)
	if f.fail.Load() {
		return urlfilter.Verdict{}, errors.New("no mood")
	}
	return urlfilter.Verdict{Accept: true}, nil
}

func newCounting(t *testing.T, id, more string) (LocalPlugin, counting) {
	f := counting{new(atomic.Int64), new(atomic.Bool)}
	return local(t, simple(id, more+"\nprovide \"urlfilter\" {}", &sdk.Extensions{URLFilter: f})), f
}

func TestFailuresAreNotRemembered(t *testing.T) {
	p, f := newCounting(t, "urlfilter-count", "")
	c := newLocal(t, Options{}, p)
	f.fail.Store(true)
	ask := func() URLResult {
		r, err := c.NormalizeFilter(t.Context(), urlnormalizer.ScopeOutlink, []string{"http://a/"})
		if err != nil {
			t.Fatal(err)
		}
		return r[0]
	}
	if r := ask(); r.Err == nil || r.Plugin != "urlfilter-count" || !strings.Contains(r.Err.Error(), "no mood") {
		t.Errorf("got %+v", r)
	}
	f.fail.Store(false)
	if r := ask(); r.Err != nil || r.URL != "http://a/" {
		t.Errorf("got %+v", r)
	}
	if ask(); f.asked.Load() != 2 {
		t.Errorf("asked %d times, want 2", f.asked.Load())
	}
	if n := c.Counters(); n["urlfilter-count.errors"] != 1 {
		t.Errorf("counters: %v", n)
	}
}

// TestCacheOptOut shows that a plugin that opts out is asked every time, and
// those before it once.
func TestCacheOptOut(t *testing.T) {
	a, fa := newCounting(t, "urlfilter-a", "")
	b, fb := newCounting(t, "urlfilter-b", "cache = false")
	c3, fc := newCounting(t, "urlfilter-c", "")
	c := newLocal(t, Options{}, a, b, c3)
	for range 3 {
		if r, err := c.NormalizeFilter(t.Context(), urlnormalizer.ScopeOutlink, []string{"http://a/"}); err != nil || r[0].URL != "http://a/" || r[0].Dropped {
			t.Fatal(r, err)
		}
	}
	if got := []int64{fa.asked.Load(), fb.asked.Load(), fc.asked.Load()}; !cmp.Equal(got, []int64{1, 3, 3}) {
		t.Errorf("asked %v", got)
	}
}

// TestBatches shows that callers share calls and that calls keep their bounds.
func TestBatches(t *testing.T) {
	var mu sync.Mutex
	var sizes []int
	batch := batchFilter(func(urls []string) { mu.Lock(); sizes = append(sizes, len(urls)); mu.Unlock() })
	p := local(t, simple("urlfilter-batch", `provide "urlfilter" {}`, &sdk.Extensions{URLFilter: batch}))
	c := newLocal(t, Options{CacheBytes: -1, Linger: time.Second, MaxBatchItems: 40, MaxBatchBytes: 300}, p)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			var urls []string
			for k := range 10 {
				urls = append(urls, fmt.Sprintf("http://%d/%d", i, k)) // 10 bytes and 4 each
			}
			res, err := c.NormalizeFilter(context.Background(), urlnormalizer.ScopeOutlink, urls)
			for k := range res {
				if res[k].URL != urls[k] {
					t.Errorf("%s became %+v", urls[k], res[k])
				}
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	total := 0
	for _, n := range sizes {
		total += n
		if n > 21 {
			t.Errorf("a call of %d URLs: too many bytes", n)
		}
	}
	if total != 80 || len(sizes) > 5 {
		t.Errorf("calls of %v", sizes)
	}
}

type batchFilter func(urls []string)

func (f batchFilter) FilterURL(context.Context, string) (urlfilter.Verdict, error) {
	return urlfilter.Verdict{}, nil
}

func (f batchFilter) FilterURLs(_ context.Context, urls []string) ([]urlfilter.Verdict, []error, error) {
	f(urls)
	out := make([]urlfilter.Verdict, len(urls))
	for i := range out {
		out[i].Accept = true
	}
	return out, nil, nil
}

// TestCallersLeave shows that a caller that gives up takes only its own batch
// with it.
func TestCallersLeave(t *testing.T) {
	c := inProcess(t, Options{Linger: 3 * time.Second}, "urlfilter-spam") // the caller leaves long before, also on a busy machine
	gone, cancel := context.WithCancel(t.Context())
	errs := make(chan error, 1)
	go func() {
		_, err := c.NormalizeFilter(gone, urlnormalizer.ScopeOutlink, []string{"http://a/"})
		errs <- err
	}()
	time.AfterFunc(time.Millisecond, cancel)
	if err := <-errs; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if r, err := c.NormalizeFilter(t.Context(), urlnormalizer.ScopeOutlink, []string{"http://b/"}); err != nil || r[0].URL != "http://b/" {
		t.Errorf("got %v, %v", r, err)
	}
}

func TestCacheBounds(t *testing.T) {
	c := newResultCache(1 << 20)
	for i := range 100_000 {
		u := fmt.Sprintf("http://host/%d", i)
		c.put(1, u, cacheValue{url: u})
		if v, ok := c.get(1, u); !ok || v.url != u {
			t.Fatalf("%s is not remembered", u)
		}
		if _, ok := c.get(2, u); ok {
			t.Fatal("scopes are mixed up")
		}
	}
	entries := 0
	for i := range c.shards {
		entries += len(c.shards[i].young) + len(c.shards[i].old)
	}
	if limit := 1 << 20 / entryOverhead; entries > limit || entries < limit/4 {
		t.Errorf("%d entries in 1 MiB, at most %d have room", entries, limit)
	}
}

// TestCachedIsKept shows that what is asked for stays while new URLs push the
// rest out.
func TestCachedIsKept(t *testing.T) {
	c := newResultCache(1 << 20)
	c.put(1, "hot", cacheValue{url: "hot", plugin: "p", reason: "r", dropped: true})
	for i := range 200_000 {
		c.put(1, fmt.Sprint(i), cacheValue{})
		if i%20 == 0 {
			if v, ok := c.get(1, "hot"); !ok || v != (cacheValue{url: "hot", plugin: "p", reason: "r", dropped: true}) {
				t.Fatalf("lost after %d others: %+v", i, v)
			}
		}
	}
}

func TestFingerprint(t *testing.T) {
	rules := filepath.Join(t.TempDir(), "rules.txt")
	write := func(s string) {
		if err := os.WriteFile(rules, []byte(s), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("-spam")
	ruled := simple("urlfilter-ruled", "provide \"urlfilter\" {}\nsetting \"file\" {\n type = \"file\"\n default = \"\"\n meaning = \"Rules.\"\n}\nsetting \"n\" {\n type = \"int\"\n default = 1\n meaning = \"N.\"\n}", &sdk.Extensions{URLFilter: reject("spam")})
	finger := func(opts Options, change func(*LocalPlugin), more ...string) string {
		p := local(t, ruled)
		p.Settings = defaults(p.Manifest, map[string]any{"file": rules})
		if change != nil {
			change(&p)
		}
		ps := []LocalPlugin{p}
		for _, id := range more {
			ps = append(ps, local(t, plugins()[id]))
		}
		c, err := NewLocal(ps, opts)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close(t.Context()) }()
		return c.Fingerprint()
	}
	seen := map[string]string{}
	note := func(what, f string) {
		t.Helper()
		if prev, ok := seen[f]; ok {
			t.Errorf("%s has the fingerprint of %s", what, prev)
		}
		seen[f] = what
	}
	base := finger(Options{}, nil)
	note("the first", base)
	if again := finger(Options{CacheBytes: 1, MaxBatchItems: 7}, nil); again != base {
		t.Error("limits change the fingerprint")
	}
	write("-spam\n-eggs")
	note("other rules", finger(Options{}, nil))
	write("-spam")
	if finger(Options{}, nil) != base {
		t.Error("the first is not found again")
	}
	note("another setting", finger(Options{}, func(p *LocalPlugin) {
		p.Settings = defaults(p.Manifest, map[string]any{"file": rules, "n": 2})
	}))
	note("another version", finger(Options{}, func(p *LocalPlugin) { p.Manifest.Version = "2" }))
	note("one filter more", finger(Options{}, nil, "urlfilter-spam"))
	note("another order", finger(Options{Order: map[string][]string{"urlfilter": {"urlfilter-spam"}}}, nil, "urlfilter-spam"))
	note("two loops", finger(Options{NormalizerLoops: 2}, nil))
	p := local(t, ruled)
	raw, _ := json.Marshal(map[string]any{"file": filepath.Join(t.TempDir(), "none")})
	p.Settings.Own = raw
	if _, err := NewLocal([]LocalPlugin{p}, Options{}); !fault.Is(err, fault.Invalid) || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a rule file that is not there: %v", err)
	}
}

type exempt string

func (e exempt) Exempt(_ context.Context, p urlexemption.Pair) (bool, error) {
	if p.To == "fail" {
		return true, errors.New("failed")
	}
	return strings.Contains(p.To, string(e)), nil
}

func TestExempt(t *testing.T) {
	pairs := []urlexemption.Pair{{From: "x", To: "ab"}, {From: "x", To: "a"}, {From: "x", To: "b"}, {From: "x", To: "fail"}}
	none := inProcess(t, Options{}, "urlfilter-spam")
	if got, err := none.Exempt(t.Context(), pairs); err != nil || !cmp.Equal(got, make([]bool, 4)) {
		t.Errorf("without a filter: %v, %v", got, err)
	}
	c := newLocal(t, Options{},
		local(t, simple("urlexemption-a", `provide "urlexemption" {}`, &sdk.Extensions{URLExemption: exempt("a")})),
		local(t, simple("urlexemption-b", `provide "urlexemption" {}`, &sdk.Extensions{URLExemption: exempt("b")})))
	if got, err := c.Exempt(t.Context(), pairs); err != nil || !cmp.Equal(got, []bool{true, false, false, false}) {
		t.Errorf("got %v, %v", got, err)
	}
}

// flaky is a filter that fails each URL, or the whole call, a number of times
// before it answers.
type flaky struct {
	whole bool
	times int
	mu    sync.Mutex
	seen  map[string]int
}

func (f *flaky) FilterURL(context.Context, string) (urlfilter.Verdict, error) {
	return urlfilter.Verdict{}, nil
}

func (f *flaky) FilterURLs(_ context.Context, urls []string) ([]urlfilter.Verdict, []error, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	out, errs := make([]urlfilter.Verdict, len(urls)), make([]error, len(urls))
	for i, u := range urls {
		out[i].Accept = true
		if !strings.Contains(u, "odd") {
			continue
		}
		if f.seen[u]++; f.seen[u] <= f.times {
			errs[i] = fault.Errorf(fault.Transient, "not now")
		}
		if f.whole && errs[i] != nil {
			return nil, nil, errs[i]
		}
	}
	return out, errs, nil
}

func TestTransient(t *testing.T) {
	for _, c := range []struct {
		whole bool
		times int
		fails bool
	}{{false, 3, false}, {false, 4, true}, {true, 3, false}, {true, 50, true}} {
		f := &flaky{whole: c.whole, times: c.times, seen: map[string]int{}}
		ch := newLocal(t, Options{RetryDelay: time.Microsecond, Retries: 3}, local(t, simple("urlfilter-flaky", `provide "urlfilter" {}`, &sdk.Extensions{URLFilter: f})))
		urls := []string{"a", "b", "odd", "c", "d"}
		res, err := ch.NormalizeFilter(t.Context(), urlnormalizer.ScopeOutlink, urls)
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range res {
			if want := c.fails && urls[i] == "odd"; (r.Err != nil) != want || want && !fault.Is(r.Err, fault.Transient) {
				t.Errorf("%+v: %s: %+v", c, urls[i], r)
			}
		}
	}
}
