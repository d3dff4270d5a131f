package segment

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/nlnwa/gowarc/v3"

	"github.com/gonutch/crawler/core/internal/store"
	"github.com/gonutch/crawler/core/internal/urlkey"
	"github.com/gonutch/crawler/sdk/extension/protocol"
	"github.com/gonutch/crawler/sdk/model"
)

var t0 = time.Date(2026, 1, 2, 3, 4, 5, 678000, time.UTC)

const seg = "20260102030405"

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func open(t testing.TB, fsys store.FS, dir string, o Options) (*store.Store, *Segments) {
	t.Helper()
	s, err := store.Open(dir, store.Options{FS: fsys, MemTableSize: 1 << 20, CacheSize: 8 << 20})
	must(t, err)
	g, err := Open(context.Background(), s, o)
	must(t, err)
	return s, g
}

func item(url, body string) FetchItem {
	return FetchItem{
		Fetch: Fetch{
			URL: url, Status: model.StatusFetchSuccess, Protocol: model.ProtocolStatus{Code: model.ProtocolSuccess, HTTP: 200},
			FetchTime: t0, ContentType: "text/html; charset=utf-8", MIMEType: "text/html", IP: "127.0.0.1", ProtocolVersion: "h2",
			Headers: model.Metadata{"Content-Type": {"text/html"}}, Signature: []byte{1, 2},
		},
		Request: []byte("GET /x HTTP/1.1\r\nHost: a.test\r\n\r\n"),
		Response: []byte("HTTP/2.0 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: br\r\ncontent-length: 3\r\n" +
			"Set-Cookie: a=1\r\nSet-Cookie: b=2\r\n\r\n"),
		Body: []byte(body),
	}
}

func TestContentRoundTrip(t *testing.T) {
	s, g := open(t, store.NewMemFS(), "crawl", Options{MaxFileSize: 2000})
	defer s.Close()
	defer g.Close()
	ctx := context.Background()
	must(t, s.Update(ctx, func(tx *store.Tx) error { PutMeta(tx, Meta{ID: seg}); return nil }))
	var items []FetchItem
	for i := range 20 {
		items = append(items, item(fmt.Sprintf("http://a.test/%d", i), strings.Repeat(fmt.Sprintf("body %d \r\n\r\n", i), i*i)))
	}
	items[3].Response, items[3].Request = nil, nil // a resource record
	items[4].NoContent = true
	also := func(tx *store.Tx) error { tx.Set([]byte("Cextra"), []byte("x")); return nil }
	must(t, g.CommitFetches(ctx, seg, items[:10], also))
	must(t, g.CommitFetches(ctx, seg, items[10:], nil))
	if v, err := s.Get([]byte("Cextra")); err != nil || v == nil {
		t.Fatal("what was to be committed too was not", err)
	}
	for i := range items {
		key := urlkey.FromURL(items[i].Fetch.URL)
		f, err := g.GetFetch(seg, key)
		must(t, err)
		if d := cmp.Diff(&items[i].Fetch, f, cmpopts.EquateEmpty()); d != "" {
			t.Fatalf("crawl_fetch %d (-want +got):\n%s", i, d)
		}
		c, err := g.GetContent(seg, key)
		if items[i].NoContent {
			if !errors.Is(err, ErrNoContent) {
				t.Fatalf("content of none: %v", err)
			}
			continue
		}
		must(t, err)
		if string(c.Body) != string(items[i].Body) {
			t.Fatalf("body %d: %q", i, c.Body)
		}
		if i != 3 {
			want := model.Metadata{"Content-Type": {"text/html"}, "Content-Encoding": {"br"}, "Content-Length": {"3"}, "Set-Cookie": {"a=1", "b=2"}}
			if d := cmp.Diff(want, c.Headers); d != "" {
				t.Fatalf("headers (-want +got):\n%s", d)
			}
		}
	}
	names, err := s.FS().List(g.dir(seg))
	must(t, err)
	if len(names) < 2 {
		t.Fatalf("files did not rotate: %v", names)
	}
	m, _, err := GetMeta(s, seg)
	must(t, err)
	if m.Counts.Fetched != 20 {
		t.Fatalf("counts %+v", m.Counts)
	}
	readWARC(t, s.FS(), g.dir(seg), items)
}

// TestAttachments: what belongs to a document lies behind it, is found again, and is a
// resource record of its own to every WARC reader.
func TestAttachments(t *testing.T) {
	s, g := open(t, store.NewMemFS(), "crawl", Options{})
	defer s.Close()
	defer g.Close()
	must(t, s.Update(t.Context(), func(tx *store.Tx) error { PutMeta(tx, Meta{ID: seg}); return nil }))
	items := []FetchItem{item("http://a.test/0", "plain"), item("http://a.test/1", "pictured"), item("http://a.test/2", "after")}
	items[1].Attachments = []protocol.Attachment{
		{Name: "view", ContentType: "image/png", Body: []byte("\x89PNG\r\n\r\n small")}, {Name: "fullPage", Body: []byte("large")},
	}
	must(t, g.CommitFetches(t.Context(), seg, items, nil))
	for i := range items {
		key := urlkey.FromURL(items[i].Fetch.URL)
		c, err := g.GetContent(seg, key)
		must(t, err)
		if string(c.Body) != string(items[i].Body) {
			t.Errorf("body %d: %q", i, c.Body)
		}
		f, err := g.GetFetch(seg, key)
		must(t, err)
		if i != 1 {
			if _, _, err := g.Attachment(seg, f, "view"); !errors.Is(err, ErrNoContent) {
				t.Errorf("attachment of %d: %v", i, err)
			}
			continue
		}
		for j, ct := range []string{"image/png", "application/octet-stream"} {
			a := items[1].Attachments[j]
			body, got, err := g.Attachment(seg, f, a.Name)
			if err != nil || string(body) != string(a.Body) || got != ct {
				t.Errorf("%s: %q %s %v", a.Name, body, got, err)
			}
		}
	}
	readWARC(t, s.FS(), g.dir(seg), items)
}

// readWARC reads all files with an independent library in strict mode and
// compares payloads.
func readWARC(t *testing.T, fsys store.FS, dir string, items []FetchItem) {
	t.Helper()
	want := make(map[string]string)
	for i := range items {
		if !items[i].NoContent {
			want[items[i].Fetch.URL] = string(items[i].Body)
			for _, a := range items[i].Attachments {
				want["urn:"+a.Name+":"+items[i].Fetch.URL] = string(a.Body)
			}
		}
	}
	names, err := fsys.List(dir)
	must(t, err)
	got := make(map[string]string)
	requests := 0
	for _, name := range names {
		for _, r := range warcRecords(t, fsys, fsys.PathJoin(dir, name)) {
			switch r.kind {
			case "response", "resource":
				got[r.uri] = r.payload
				if r.kind == "response" && r.ip != "127.0.0.1" {
					t.Errorf("%s comes from %q", r.uri, r.ip)
				}
			case "request":
				requests++
			}
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Fatalf("payloads (-want +got):\n%s", d)
	}
	if requests == 0 {
		t.Fatal("no request records")
	}
}

type warcRecord struct{ kind, uri, payload, ip string }

func warcRecords(t testing.TB, fsys store.FS, path string) []warcRecord {
	t.Helper()
	data, err := store.ReadFile(fsys, path, 1<<30)
	must(t, err)
	um := gowarc.NewUnmarshaler(gowarc.WithStrictValidation())
	in := bufio.NewReader(bytes.NewReader(data))
	var out []warcRecord
	for {
		rec, _, validation, err := um.Unmarshal(in)
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil || len(validation) > 0 {
			t.Fatalf("%s, record %d: %v %v", path, len(out), err, validation)
		}
		h := rec.WarcHeader()
		r := warcRecord{kind: h.Get("WARC-Type"), uri: h.Get("WARC-Target-URI"), ip: h.Get("WARC-IP-Address")}
		if len(out) == 0 && r.kind != "warcinfo" {
			t.Fatalf("%s starts with %s", path, r.kind)
		}
		var body io.Reader
		if p, ok := rec.Block().(gowarc.PayloadBlock); ok {
			body, err = p.PayloadBytes()
		} else {
			body, err = rec.Block().RawBytes()
		}
		must(t, err)
		b, err := io.ReadAll(body)
		must(t, err)
		r.payload = string(b)
		must(t, rec.Close())
		out = append(out, r)
	}
}

func TestParseRoundTrip(t *testing.T) {
	s, g := open(t, store.NewMemFS(), "crawl", Options{})
	defer s.Close()
	key := urlkey.FromURL("http://a.test/")
	want := &Parsed{
		Status: model.ParseStatus{Major: model.ParseSuccess, Minor: model.ParseSuccessRedirect, Message: "m", Args: []string{"a", "b"}},
		Title:  "T", Text: strings.Repeat("text ", 500), AllLinks: 7, Signature: []byte{0, 1},
		Outlinks: []Link{{URL: "http://b.test/", Anchor: "b", Tag: "a", Metadata: model.Metadata{"rel": {"x", ""}}}, {URL: "http://c.test/"}},
		Dropped:  map[string]int64{"filter": 2, "limit": 1}, Robots: model.RobotsMeta{NoFollow: true, NoArchive: true},
		Canonical: "http://a.test/c", Charset: "utf-8", Language: "de", Base: "http://a.test/", Parser: "parse-html",
		ContentMeta: model.Metadata{"a": {"1", "2"}}, ParseMeta: model.Metadata{"b": {"3"}},
	}
	must(t, s.Update(context.Background(), func(tx *store.Tx) error {
		PutParse(tx, seg, key, want, nil)
		MarkApplied(tx, seg, key, "", seg)
		return nil
	}))
	got, err := g.GetParse(seg, key, Want{Text: true, Outlinks: true})
	must(t, err)
	if d := cmp.Diff(want, got); d != "" {
		t.Fatalf("(-want +got):\n%s", d)
	}
	if p, err := g.GetParse(seg, "org:http/", Want{}); p != nil || err != nil {
		t.Fatal("a parse of nothing", p, err)
	}
}

func TestEachWithout(t *testing.T) {
	s, g := open(t, store.NewMemFS(), "crawl", Options{})
	defer s.Close()
	must(t, s.Update(context.Background(), func(tx *store.Tx) error {
		for i := range 10 {
			key := urlkey.Key(fmt.Sprintf("a:http/%d", i))
			PutFetch(tx, seg, key, &Fetch{Status: model.StatusFetchSuccess})
			if i%3 == 0 {
				PutParse(tx, seg, key, &Parsed{}, nil)
			}
		}
		PutParse(tx, seg, "a:http/00", &Parsed{}, nil)
		return nil
	}))
	var got []string
	must(t, g.EachWithout(context.Background(), seg, PartFetch, PartParseData, func(k urlkey.Key) error {
		got = append(got, strings.TrimPrefix(string(k), "a:http/"))
		return nil
	}))
	if s := strings.Join(got, ""); s != "124578" {
		t.Fatal(s)
	}
}

func TestDelete(t *testing.T) {
	s, g := open(t, store.NewMemFS(), "crawl", Options{})
	defer s.Close()
	ctx := context.Background()
	must(t, s.Update(ctx, func(tx *store.Tx) error { PutMeta(tx, Meta{ID: seg, State: StateGenerated}); return nil }))
	must(t, g.CommitFetches(ctx, seg, []FetchItem{item("http://a.test/", "x")}, nil))
	must(t, g.Delete(ctx, seg))
	if _, ok, err := GetMeta(s, seg); ok || err != nil {
		t.Fatal("meta is still there", err)
	}
	if _, err := s.FS().Stat(g.dir(seg)); err == nil {
		t.Fatal("files are still there")
	}
	if f, err := g.GetFetch(seg, urlkey.FromURL("http://a.test/")); f != nil || err != nil {
		t.Fatal("records are still there", err)
	}
}

func TestNewID(t *testing.T) {
	s, _ := open(t, store.NewMemFS(), "crawl", Options{})
	defer s.Close()
	for _, want := range []string{seg, seg + "-1", seg + "-2"} {
		id, err := NewID(s, t0)
		must(t, err)
		if id != want {
			t.Fatalf("got %s, want %s", id, want)
		}
		must(t, s.Update(context.Background(), func(tx *store.Tx) error {
			PutMeta(tx, Meta{ID: id, Round: 3, State: StateFetched, Created: t0})
			return nil
		}))
	}
	must(t, Change(context.Background(), s, seg, func(m *Meta) { m.State = StateParsed }))
	ms, err := List(context.Background(), s)
	must(t, err)
	if len(ms) != 3 || ms[0].State != StateParsed || ms[1].Round != 3 || !ms[2].Created.Equal(t0.Truncate(time.Microsecond)) {
		t.Fatalf("%+v", ms)
	}
	if err := Change(context.Background(), s, "nope", func(*Meta) {}); !errors.Is(err, ErrNoSegment) {
		t.Fatal(err)
	}
}

// TestRestart opens a directory whose WARC files are longer than committed,
// stray or too short.
func TestRestart(t *testing.T) {
	fsys := store.NewMemFS()
	s, g := open(t, fsys, "crawl", Options{})
	ctx := context.Background()
	items := []FetchItem{item("http://a.test/", "hello")}
	must(t, g.CommitFetches(ctx, seg, items, nil))
	must(t, g.Close())
	must(t, s.Close())
	name := items[0].Fetch.WARC.File
	path := fsys.PathJoin("crawl/segments", seg, name)
	data, err := store.ReadFile(fsys, path, 1<<20)
	must(t, err)
	must(t, store.WriteFile(fsys, path, append(bytes.Clone(data), "half a member"...)))
	stray := fsys.PathJoin("crawl/segments", seg, "crawler-"+seg+"-00009.warc.gz")
	must(t, store.WriteFile(fsys, stray, []byte("nothing committed")))
	mine := fsys.PathJoin("crawl/segments", seg, "notes.txt")
	must(t, store.WriteFile(fsys, mine, []byte("a user's file")))

	s, g = open(t, fsys, "crawl", Options{})
	got, err := store.ReadFile(fsys, path, 1<<20)
	must(t, err)
	if !bytes.Equal(got, data) {
		t.Fatalf("file has %d bytes, committed were %d", len(got), len(data))
	}
	if _, err := fsys.Stat(stray); err == nil {
		t.Fatal("the stray file is still there")
	}
	if _, err := fsys.Stat(mine); err != nil {
		t.Fatal("the user's file is gone")
	}
	more := []FetchItem{item("http://a.test/2", "more")}
	must(t, g.CommitFetches(ctx, seg, more, nil))
	if more[0].Fetch.WARC.File == name {
		t.Fatal("appended to a file of an earlier process")
	}
	must(t, g.Close())
	must(t, s.Close())

	must(t, store.WriteFile(fsys, path, data[:len(data)-1]))
	s, err = store.Open("crawl", store.Options{FS: fsys})
	must(t, err)
	defer s.Close()
	if _, err := Open(ctx, s, Options{}); !errors.Is(err, store.ErrIncomplete) || !strings.Contains(err.Error(), name) {
		t.Fatalf("a short file: %v", err)
	}
}

// fullFS has no space for WARC files.
type fullFS struct{ store.FS }

type fullFile struct{ store.File }

func (fullFile) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

func (f fullFS) Create(name string, c store.Category) (store.File, error) {
	file, err := f.FS.Create(name, c)
	if err == nil && strings.HasSuffix(name, ".warc.gz") {
		file = fullFile{file}
	}
	return file, err
}

func TestFullDisk(t *testing.T) {
	mem := store.NewMemFS()
	s, g := open(t, fullFS{mem}, "crawl", Options{})
	it := item("http://a.test/", "x")
	err := g.CommitFetches(context.Background(), seg, []FetchItem{it}, nil)
	if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), seg) {
		t.Fatal(err)
	}
	if f, err := g.GetFetch(seg, urlkey.FromURL(it.Fetch.URL)); f != nil || err != nil {
		t.Fatal("a record without its content", err)
	}
	if err := s.Update(context.Background(), func(tx *store.Tx) error { tx.Set([]byte("Cx"), nil); return nil }); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("the store goes on: %v", err)
	}
	must(t, s.Close())
	s, g = open(t, mem, "crawl", Options{})
	defer s.Close()
	defer g.Close()
	must(t, g.CommitFetches(context.Background(), seg, []FetchItem{it}, nil))
}

// TestHostileHeads writes heads that servers can send.
func TestHostileHeads(t *testing.T) {
	fsys := store.NewMemFS()
	s, g := open(t, fsys, "crawl", Options{})
	defer s.Close()
	heads := []string{
		"HTTP/1.1 200\r\nA: b\r\n\r\n", "HTTP/1.1 200 OK\nA: b\n\n", "nonsense", "HTTP/2 204\r\n\r\n",
		"HTTP/1.1 200 OK\r\nno colon here\r\n folded: x\r\n\r\n", "HTTP/1.1 200 OK\r\nX-Bin: \x00\xff\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 99999\r\n\r\n",
	}
	for i, h := range heads {
		it := item(fmt.Sprintf("http://a.test/%d?<\">\x7f ä", i), "body")
		it.Response = []byte(h)
		it.Fetch.IP = "1.2.3.4\r\nWARC-Type: evil"
		must(t, g.CommitFetches(context.Background(), seg, []FetchItem{it}, nil))
		c, err := g.GetContent(seg, urlkey.FromURL(it.Fetch.URL))
		must(t, err)
		if string(c.Body) != "body" {
			t.Fatalf("head %q: body %q", h, c.Body)
		}
	}
}

// TestPowerCuts cuts the power at random moments while four goroutines commit:
// each time the directory opens, every WARC file is valid and whatever was
// committed is there.
func TestPowerCuts(t *testing.T) {
	cuts := 50
	if v := os.Getenv("CRAWLER_SOAK_CUTS"); v != "" {
		var err error
		cuts, err = strconv.Atoi(v)
		must(t, err)
	}
	const perRun = 10
	for run := 0; run*perRun < cuts; run++ {
		powerCuts(t, run, min(perRun, cuts-run*perRun))
	}
}

func powerCuts(t *testing.T, run, cuts int) {
	fsys := store.NewCrashFS()
	s, g := open(t, fsys, "crawl", Options{MaxFileSize: 20_000, Level: 1})
	var mu sync.Mutex
	var pause sync.RWMutex // held while a cut is verified, to bound the data
	committed := make(map[string]string)
	ctx, stop := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(run), uint64(w)))
			for n := 0; ctx.Err() == nil; n++ {
				var items []FetchItem
				for i := range 1 + r.IntN(4) {
					body := make([]byte, r.IntN(3000))
					for j := range body {
						body[j] = byte(r.IntN(256))
					}
					items = append(items, item(fmt.Sprintf("http://a.test/%d/%d/%d", w, n, i), string(body)))
				}
				pause.RLock()
				err := g.CommitFetches(context.Background(), seg, items, nil)
				pause.RUnlock()
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				for _, it := range items {
					committed[it.Fetch.URL] = string(it.Body)
				}
				mu.Unlock()
			}
		})
	}
	r := rand.New(rand.NewPCG(uint64(run), 99))
	for cut := range cuts {
		mu.Lock()
		target := len(committed) + 1 + r.IntN(20)
		mu.Unlock()
		for n := 0; n < target && !t.Failed(); runtime.Gosched() { // some commits later
			mu.Lock()
			n = len(committed)
			mu.Unlock()
		}
		mu.Lock()
		want := make(map[string]string, len(committed))
		for k, v := range committed {
			want[k] = v
		}
		mu.Unlock()
		after := fsys.Cut(r.IntN(101), uint64(run*1000+cut))
		pause.Lock()
		verifyCut(t, after, want)
		pause.Unlock()
	}
	stop()
	wg.Wait()
	must(t, g.Close())
	must(t, s.Close())
}

func verifyCut(t *testing.T, fsys store.CrashFS, want map[string]string) {
	t.Helper()
	s, g := open(t, fsys, "crawl", Options{})
	for url, body := range want {
		c, err := g.GetContent(seg, urlkey.FromURL(url))
		if err != nil {
			t.Fatalf("committed, and lost: %v", err)
		}
		if string(c.Body) != body {
			t.Fatalf("%s: another body", url)
		}
	}
	names, err := fsys.List(g.dir(seg))
	must(t, err)
	for _, name := range names {
		warcRecords(t, fsys, fsys.PathJoin(g.dir(seg), name))
	}
	must(t, g.EachFetch(context.Background(), seg, func(_ urlkey.Key, f *Fetch) error {
		_, err := g.Content(seg, f)
		return err
	}))
	must(t, g.Close())
	must(t, s.Close())
}

func FuzzFetch(f *testing.F) {
	it := item("http://a.test/", "x")
	f.Add(appendFetch(nil, &it.Fetch))
	f.Fuzz(func(t *testing.T, b []byte) {
		var rec, again Fetch
		if decodeFetch([]byte("P"), b, &rec) != nil {
			return
		}
		must(t, decodeFetch([]byte("P"), appendFetch(nil, &rec), &again))
		if d := cmp.Diff(rec, again, cmpopts.EquateEmpty()); d != "" {
			t.Fatal(d)
		}
	})
}

func FuzzParse(f *testing.F) {
	p := Parsed{Title: "t", Dropped: map[string]int64{"a": 1}, ParseMeta: model.Metadata{"k": {"v"}}}
	f.Add(appendParseData(nil, &p), pack(nil, outlinksVersion, appendOutlinks(nil, []Link{{URL: "u", Anchor: "a"}})))
	f.Fuzz(func(t *testing.T, data, links []byte) {
		var rec, again Parsed
		if decodeParseData([]byte("P"), data, &rec) == nil {
			must(t, decodeParseData([]byte("P"), appendParseData(nil, &rec), &again))
			if d := cmp.Diff(rec, again, cmpopts.EquateEmpty()); d != "" {
				t.Fatal(d)
			}
		}
		if ls, err := decodeOutlinks([]byte("P"), links); err == nil {
			again, err := decodeOutlinks([]byte("P"), pack(nil, outlinksVersion, appendOutlinks(nil, ls)))
			must(t, err)
			if d := cmp.Diff(ls, again, cmpopts.EquateEmpty()); d != "" {
				t.Fatal(d)
			}
		}
	})
}

// FuzzDecode feeds damaged WARC records to the reader of contents.
func FuzzDecode(f *testing.F) {
	it := item("http://a.test/", "body")
	f.Add(appendResponse(nil, &it, "<urn:uuid:0>"), int64(4))
	f.Fuzz(func(t *testing.T, raw []byte, size int64) {
		rec := Fetch{Size: size}
		if c, err := rec.decode(raw); err == nil && int64(len(c.Body)) != size {
			t.Fatalf("%d bytes of %d", len(c.Body), size)
		}
	})
}

// BenchmarkCommitFetches writes pages in groups of 100.
func BenchmarkCommitFetches(b *testing.B) {
	for _, size := range []int{6_000, 50_000} {
		b.Run(fmt.Sprintf("size=%d", size), func(b *testing.B) {
			s, g := open(b, store.OSFS(), filepath.Join(b.TempDir(), "crawl"), Options{})
			defer s.Close()
			defer g.Close()
			r := rand.New(rand.NewPCG(1, 1))
			var text []byte
			for len(text) < size {
				text = fmt.Appendf(text, "<p class=\"x%d\">word%d <a href=\"/page-%d.html\">link</a></p>\n", r.IntN(9), r.IntN(1000), r.IntN(100000))
			}
			b.SetBytes(int64(size))
			b.ResetTimer()
			for i := 0; i < b.N; i += 100 {
				items := make([]FetchItem, min(100, b.N-i))
				for j := range items {
					items[j] = item(fmt.Sprintf("http://a.test/%d", i+j), string(text))
				}
				must(b, g.CommitFetches(context.Background(), seg, items, nil))
			}
		})
	}
}
