package chain

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gonutch/crawler/core/internal/pluginhost"
	"github.com/gonutch/crawler/sdk/extension/indexwriter"
	"github.com/gonutch/crawler/sdk/extension/protocol"
	"github.com/gonutch/crawler/sdk/extension/urlnormalizer"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/model"
)

// TestPoison has 200 poisonous URLs among 5,000: only these are marked.
func TestPoison(t *testing.T) {
	c, host := outOfProcess(t, Options{}, pluginhost.Options{CallTimeout: 2 * time.Second, BackoffMin: time.Millisecond}, nil, "chaos")
	poison := func(i int) bool { return i%25 == 7 }
	res := normalizeMany(t, c, 5000, 50, func(i int) string {
		if poison(i) {
			return fmt.Sprintf("http://h/chaos-crash/%d", i)
		}
		return fmt.Sprintf("http://h/%d", i)
	})
	marked := 0
	for i, r := range res {
		switch {
		case !poison(i):
			if r.Err != nil || r.Dropped || r.URL != fmt.Sprintf("http://h/%d", i) {
				t.Fatalf("URL %d: %+v", i, r)
			}
		case !fault.Is(r.Err, fault.Permanent) || !strings.Contains(r.Err.Error(), "poisonous: plugin chaos crashed 3 times on this record"):
			t.Fatalf("poisonous URL %d: %+v", i, r)
		default:
			marked++
		}
	}
	s := host.Stats()[0]
	t.Logf("marked %d; %d deaths, %d alone, %d starts", marked, s.Deaths[pluginhost.Crashed], s.Quarantined, s.Starts)
	if marked != 200 || s.Poisonous != 200 {
		t.Errorf("marked %d of 200, %+v", marked, s)
	}
}

// normalizeMany normalizes and filters n URLs, page of them at a time from
// eight goroutines.
func normalizeMany(t testing.TB, c *Chains, n, page int, url func(int) string) []URLResult {
	t.Helper()
	out := make([]URLResult, n)
	var next atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for {
				from := int(next.Add(int64(page))) - page
				if from >= n {
					return
				}
				urls := make([]string, min(page, n-from))
				for k := range urls {
					urls[k] = url(from + k)
				}
				res, err := c.NormalizeFilter(context.Background(), urlnormalizer.ScopeOutlink, urls)
				if err != nil {
					t.Error(err)
					return
				}
				copy(out[from:], res)
			}
		})
	}
	wg.Wait()
	return out
}

// TestMisbehaviour shows what becomes of single URLs that a plugin treats
// badly, and that their neighbours are not touched.
func TestMisbehaviour(t *testing.T) {
	for _, c := range []struct {
		word, err string
		kind      fault.Kind
	}{
		{"fatal", "crashed 3 times on this record: panic: chaos: http://h/chaos-fatal", fault.Permanent},
		{"kill", "crashed 3 times on this record: killed", fault.Permanent},
		{"hang", "hung 3 times on this record: no answer within", fault.Permanent},
		{"hog", "ran out of memory 3 times on this record", fault.Permanent},
		{"panic", "panic: chaos", fault.Permanent},
		{"short", "answered 0 of 1", fault.Invalid},
		{"long", "answered 2 of 1", fault.Invalid},
		{"huge", "larger than max", fault.Invalid},
		{"refuse", "refused", fault.Transient},
		{"permanent", "chaos: http://h/chaos-permanent", fault.Permanent},
		{"transient", "chaos: http://h/chaos-transient", fault.Transient},
		{"noise", "", 0},
		{"hostile", "", 0},
		{"fork", "", 0},
		{"slow", "", 0},
	} {
		t.Run(c.word, func(t *testing.T) {
			if c.word == "hog" && raceEnabled {
				t.Skip("the race detector's own memory ends the plugin first, with another message")
			}
			t.Parallel()
			limit := 5 * time.Second
			if c.word == "hang" {
				limit = 500 * time.Millisecond
			}
			ch, _ := outOfProcess(t, Options{RetryDelay: time.Millisecond}, pluginhost.Options{
				CallTimeout: limit, BackoffMin: time.Millisecond, MaxMessage: 4 << 20,
				MemoryLimit: 128 << 20, WatchInterval: 20 * time.Millisecond,
			}, map[string]map[string]any{"chaos": {"points": []string{"urlfilter"}, "huge": "5MiB", "slow": "50ms", "hog": "200MiB"}}, "chaos")
			urls := []string{"http://h/0", "http://h/1", "http://h/chaos-" + c.word, "http://h/3"}
			res, err := ch.NormalizeFilter(t.Context(), urlnormalizer.ScopeOutlink, urls)
			if err != nil {
				t.Fatal(err)
			}
			for i, r := range res {
				if i == 2 && c.err != "" {
					if r.Err == nil || !strings.Contains(r.Err.Error(), c.err) || !strings.Contains(r.Err.Error(), "plugin chaos") || fault.KindOf(r.Err) != c.kind {
						t.Errorf("got %+v (%v), want %q (%v)", r, fault.KindOf(r.Err), c.err, c.kind)
					}
					continue
				}
				if r.Err != nil || r.Dropped || r.URL != urls[i] {
					t.Errorf("URL %d: %+v", i, r)
				}
			}
		})
	}
}

// TestRandomKills kills the plugin every 200 ms while 20,000 records pass.
func TestRandomKills(t *testing.T) {
	c, host := outOfProcess(t, Options{CacheBytes: -1, MaxBatchItems: 50}, pluginhost.Options{BackoffMin: time.Millisecond}, nil, "chaos", "urlnormalizer-lower", "urlfilter-spam")
	stop := make(chan struct{})
	var wg sync.WaitGroup
	var kills atomic.Int64
	wg.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			case <-time.After(200 * time.Millisecond):
			}
			for _, s := range host.Stats() {
				if s.PID > 0 && len(s.ID)%3 == i%3 && syscall.Kill(s.PID, syscall.SIGKILL) == nil {
					kills.Add(1)
				}
			}
		}
	})
	want := func(i int) URLResult {
		u := fmt.Sprintf("http://h/%d", i)
		if i%10 == 3 {
			return URLResult{URL: u + "/spam", Dropped: true, Plugin: "urlfilter-spam", Reason: "rule spam"}
		}
		return URLResult{URL: u}
	}
	done, start := 0, time.Now()
	for done < 20000 || kills.Load() < 5 {
		res := normalizeMany(t, c, 2000, 20, func(i int) string { return strings.ToUpper(want(i).URL) })
		for i, r := range res {
			if d := cmp.Diff(want(i), r); d != "" {
				t.Fatalf("URL %d: %s", i, d)
			}
		}
		done += len(res)
		if time.Since(start) > 30*time.Second {
			break
		}
	}
	close(stop)
	wg.Wait()
	t.Logf("%d records, %d kills, %v", done, kills.Load(), time.Since(start))
	if kills.Load() < 5 {
		t.Errorf("only %d kills", kills.Load())
	}
}

func TestFetchOverProcess(t *testing.T) {
	c, _ := outOfProcess(t, Options{FetchGrace: 300 * time.Millisecond}, pluginhost.Options{BackoffMin: time.Millisecond, CallTimeout: 500 * time.Millisecond}, nil, "chaos")
	var wg sync.WaitGroup
	for i := range 40 {
		word := ""
		if i == 20 {
			word = "chaos-crash"
		}
		wg.Go(func() {
			url := fmt.Sprintf("chaos://h/%s%d", word, i)
			r, err := c.Fetch(t.Context(), &protocol.Request{URL: url, Timeout: 100 * time.Millisecond})
			switch {
			case err != nil:
				t.Error(err)
			case word == "" && r.Status.Code != model.ProtocolSuccess:
				t.Errorf("%s: %v", url, r.Status)
			case word != "" && (r.Status.Code != model.ProtocolFailed || !strings.Contains(r.Status.Message, "poisonous")):
				t.Errorf("%s: %v", url, r.Status)
			}
		})
	}
	wg.Wait()
	r, err := c.Fetch(t.Context(), &protocol.Request{URL: "gopher://h/"})
	if err != nil || r.Status.Code != model.ProtocolNotFoundProto {
		t.Errorf("unknown scheme: %+v, %v", r, err)
	}
}

func TestParsePoison(t *testing.T) {
	c, _ := outOfProcess(t, Options{}, pluginhost.Options{BackoffMin: time.Millisecond}, nil, "chaos")
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			url := fmt.Sprintf("http://h/%d", i)
			if i == 9 {
				url = "http://h/chaos-kill"
			}
			r, err := c.Parse(t.Context(), &model.Content{URL: url, MIMEType: "text/html", Body: []byte("<title>T</title><a href=x>y</a>")})
			switch {
			case err != nil:
				t.Error(err)
			case i == 9:
				if r.Err == nil || !strings.Contains(r.Err.Error(), "poisonous") || len(r.Parses) != 0 {
					t.Errorf("%+v", r)
				}
			case r.Err != nil || len(r.Parses) != 1 || r.Parses[0].Title != "T" || len(r.Parses[0].Outlinks) != 1:
				t.Errorf("%s: %+v", url, r)
			}
		})
	}
	wg.Wait()
}

// TestStopped shows that a plugin that can't go on ends the call.
func TestStopped(t *testing.T) {
	c, _ := outOfProcess(t, Options{}, pluginhost.Options{MaxCrashes: 1, BackoffMin: time.Millisecond}, nil, "chaos")
	_, err := c.NormalizeFilter(t.Context(), urlnormalizer.ScopeOutlink, []string{"http://h/chaos-crash"})
	if !errors.Is(err, pluginhost.ErrStopped) {
		t.Errorf("got %v", err)
	}
}

// TestWriterLosses sends documents to a writer whose process dies: nothing that
// the caller was not told of is missing in the end.
func TestWriterLosses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "index")
	c, _ := outOfProcess(t, Options{}, pluginhost.Options{BackoffMin: time.Millisecond}, nil, "indexer-file")
	ws, err := c.OpenWriters(t.Context(), []WriterConfig{{Name: "w", Plugin: "indexer-file", Params: indexwriter.Params{"file": file}}})
	if err != nil {
		t.Fatal(err)
	}
	w := ws[0]
	var since []indexwriter.Op // since the last commit
	losses, rejected := 0, map[string]string{}
	resend := func(f func() error) {
		t.Helper()
		for range 10 {
			err := f()
			if err == nil {
				return
			}
			var lost *LostWritesError
			if !errors.As(err, &lost) || !fault.Is(err, fault.Transient) {
				t.Fatal(err)
			}
			losses++
		}
		t.Fatal("no end of losses")
	}
	write := func() error {
		res, err := w.Write(t.Context(), since)
		for i, r := range res {
			if r.Rejected != "" {
				rejected[since[i].Doc.ID] = r.Rejected
			}
		}
		return err
	}
	for i, id := range []string{"a", "b", "crash", "c", "refuse", "d", "crash-once", "e"} {
		since = append(since, indexwriter.Op{Doc: model.Document{ID: id, Fields: map[string][]string{"v": {fmt.Sprint(i)}}}})
		resend(write)
		if id == "c" {
			resend(func() error {
				if err := w.Commit(t.Context()); err != nil {
					return errors.Join(err, write())
				}
				return nil
			})
			since = nil
		}
	}
	resend(func() error { return w.Commit(t.Context()) })
	if d := cmp.Diff([]string{"a", "b", "c", "crash-once", "d", "e"}, sortedIDs(readFile(file))); d != "" {
		t.Error(d)
	}
	if !strings.Contains(rejected["crash"], "poisonous: 3 times") || rejected["refuse"] != "not this one" || len(rejected) != 2 {
		t.Errorf("rejected: %v", rejected)
	}
	if losses == 0 {
		t.Error("no loss was reported")
	}
}

// TestWriterIdleDeath kills the plugin between two calls.
func TestWriterIdleDeath(t *testing.T) {
	file := filepath.Join(t.TempDir(), "index")
	c, host := outOfProcess(t, Options{}, pluginhost.Options{BackoffMin: time.Millisecond}, nil, "indexer-file")
	ws, err := c.OpenWriters(t.Context(), []WriterConfig{{Name: "w", Plugin: "indexer-file", Params: indexwriter.Params{"file": file}}})
	if err != nil {
		t.Fatal(err)
	}
	w := ws[0]
	op := func(id string) []indexwriter.Op { return []indexwriter.Op{{Doc: model.Document{ID: id}}} }
	kill := func() {
		t.Helper()
		pid := host.Stats()[0].PID
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		for host.Stats()[0].PID == pid {
			time.Sleep(time.Millisecond)
		}
	}
	var lost *LostWritesError
	if _, err := w.Write(t.Context(), op("a")); err != nil {
		t.Fatal(err)
	}
	kill()
	if _, err := w.Write(t.Context(), op("b")); !errors.As(err, &lost) {
		t.Fatalf("a write after an idle death: %v", err)
	}
	if _, err := w.Write(t.Context(), append(op("a"), op("b")...)); err != nil {
		t.Fatal(err)
	}
	kill()
	if err := w.Commit(t.Context()); !errors.As(err, &lost) || lost.Ops != 2 {
		t.Fatalf("a commit after an idle death: %v", err)
	}
	if _, err := w.Write(t.Context(), append(op("a"), op("b")...)); err != nil {
		t.Fatal(err)
	}
	if err := w.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	kill() // nothing is uncommitted: nobody needs to know
	if _, err := w.Write(t.Context(), op("c")); err != nil {
		t.Fatal(err)
	}
	if err := w.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"a", "b", "c"}, sortedIDs(readFile(file))); d != "" {
		t.Error(d)
	}
}

func TestOpenWriters(t *testing.T) {
	p := local(t, plugins()["indexer-file"])
	c := newLocal(t, Options{}, p, local(t, plugins()["urlfilter-spam"]))
	file := indexwriter.Params{"file": filepath.Join(t.TempDir(), "f")}
	_, err := c.OpenWriters(t.Context(), []WriterConfig{
		{Name: "a", Plugin: "indexer-none"},
		{Name: "b", Plugin: "urlfilter-spam"},
		{Name: "c", Plugin: "indexer-file"},
		{Name: "d", Plugin: "indexer-file", Params: file},
		{Name: "d", Plugin: "indexer-file", Params: file},
	})
	for _, want := range []string{
		`writer a: "indexer-none" is not an active index writer`, `writer b: "urlfilter-spam" is not`,
		"open index_writer c: plugin indexer-file: parameter file is missing", "writer d is configured twice",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
	ws, err := c.OpenWriters(t.Context(), []WriterConfig{{Name: "d", Plugin: "indexer-file", Params: file}})
	if err != nil || len(ws) != 1 || ws[0].Name() != "d" {
		t.Fatal(ws, err)
	}
	if _, err := c.Search(t.Context(), "d", nil); !fault.Is(err, fault.Invalid) {
		t.Errorf("search in a writer that can't: %v", err)
	}
	if _, err := c.Search(t.Context(), "x", nil); !fault.Is(err, fault.Invalid) {
		t.Errorf("search in no writer: %v", err)
	}
	if err := errors.Join(ws[0].Close(t.Context()), ws[0].Close(t.Context())); err != nil {
		t.Error(err)
	}
}

// TestOpenLater: an index that could not be reached at first, and then can't be opened because of
// how it is configured, is nothing against the documents. One that never was open is not opened to
// be closed.
func TestOpenLater(t *testing.T) {
	c := newLocal(t, Options{}, local(t, plugins()["indexer-file"]))
	file := filepath.Join(t.TempDir(), "f")
	mark := func(suffix string) {
		if err := os.WriteFile(file+suffix, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	unmark := func(suffix string) {
		if err := os.Remove(file + suffix); err != nil {
			t.Fatal(err)
		}
	}
	mark(".down")
	params := indexwriter.Params{"file": file}
	ws, err := c.OpenWriters(t.Context(), []WriterConfig{{Name: "a", Plugin: "indexer-file", Params: params}, {Name: "b", Plugin: "indexer-file", Params: params}})
	if err != nil || len(ws) != 2 {
		t.Fatal(ws, err)
	}
	unmark(".down")
	mark(".mistake")
	ops := []indexwriter.Op{{Doc: model.Document{ID: "x"}}, {Doc: model.Document{ID: "y"}}}
	if res, err := ws[0].Write(t.Context(), ops); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "there is .mistake") {
		t.Errorf("%v %v", res, err)
	}
	if err := ws[1].Close(t.Context()); err != nil {
		t.Errorf("close: %v", err)
	}
	unmark(".mistake")
	if res, err := ws[0].Write(t.Context(), ops); err != nil || res[0].Rejected != "" || res[1].Rejected != "" {
		t.Errorf("%v %v", res, err)
	}
}
