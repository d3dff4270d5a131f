package testweb

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	htmlcharset "golang.org/x/net/html/charset"
)

// ask sends one request straight to the handler and returns everything of the answer as text.
func dump(w *Web, url string, header ...string) string {
	rec := request(w, url, header...)
	if rec == nil {
		return "broken"
	}
	var b strings.Builder
	fmt.Fprintln(&b, rec.Code)
	rec.Header().Write(&b)
	b.Write(rec.Body.Bytes())
	return b.String()
}

// request returns nil when the web broke the connection.
func request(w *Web, url string, header ...string) (rec *httptest.ResponseRecorder) {
	req := httptest.NewRequest(http.MethodGet, url, nil)
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	defer func() {
		if p := recover(); p == http.ErrAbortHandler {
			rec = nil
		} else if p != nil {
			panic(p)
		}
	}()
	rec = httptest.NewRecorder()
	w.ServeHTTP(rec, req)
	return rec
}

// TestSameSeedSameWeb asks two webs for the same URLs, the second backwards; n-th answers must be equal.
func TestSameSeedSameWeb(t *testing.T) {
	small := func(c *Config) { c.Pages, c.Shares.Trap = 1500, 0.3 }
	a, b := newWeb(t, small), newWeb(t, small)
	refs := allRefs(a)
	gz := []string{"Accept-Encoding", "br, gzip"}
	want := make([][3]string, len(refs))
	for n := range 3 {
		for i, r := range refs {
			want[i][n] = dump(a, a.url(r), gz...)
		}
	}
	changed := 0
	for i := len(refs) - 1; i >= 0; i-- {
		u := b.url(refs[i])
		for n := range 3 {
			if got := dump(b, u, gz...); got != want[i][n] {
				t.Fatalf("request %d of %s:\n%s", n+1, u, cmp.Diff(want[i][n], got))
			}
		}
		if want[i][0] != want[i][2] {
			changed++
		}
	}
	if changed == 0 {
		t.Error("no answer depends on the number of its request")
	}
	other := newWeb(t, func(c *Config) { small(c); c.Seed = 99 })
	if dump(other, other.PageURL(0)) == dump(a, a.PageURL(0)) {
		t.Error("another seed gives the same page")
	}
}

// TestConcurrentAnswersAreTheSame guards what requests share: buffers and compressors.
func TestConcurrentAnswersAreTheSame(t *testing.T) {
	w := newWeb(t, func(c *Config) { c.Pages, c.Shares = 300, Stable(); c.Shares.Gzip, c.Shares.Charset = 0.5, 0.5 })
	want := make([]string, w.cfg.Pages)
	for n := range want {
		want[n] = dump(w, w.PageURL(n), "Accept-Encoding", "gzip")
	}
	var all sync.WaitGroup
	for g := range 4 {
		all.Go(func() {
			for i := range want {
				n := (i*7 + g*50) % len(want)
				if got := dump(w, w.PageURL(n), "Accept-Encoding", "gzip"); got != want[n] {
					t.Errorf("%s differs", w.PageURL(n))
				}
			}
		})
	}
	all.Wait()
}

// TestSeedOneStaysTheSame holds the web of one seed still, over versions, machines and
// processes. If a change to it is meant, take the new sum: what was measured on the old web
// can't be compared any more.
func TestSeedOneStaysTheSame(t *testing.T) {
	const want = "36fe6e1037730591001426c66542824a669e31ea838dc7a6086167e7c8991433"
	w := newWeb(t, func(c *Config) { c.Shares.Gzip = 0 })
	sum := sha256.New()
	for _, r := range allRefs(w) {
		io.WriteString(sum, dump(w, w.url(r)))
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != want {
		t.Errorf("sum of all first answers is %s, was %s", got, want)
	}
}

// TestStableWebNeverChanges is what resumed crawls are compared on.
func TestStableWebNeverChanges(t *testing.T) {
	w := newWeb(t, func(c *Config) { c.Pages, c.Shares = 1500, Stable() })
	for _, r := range allRefs(w) {
		u := w.url(r)
		first := dump(w, u)
		if again := dump(w, u); again != first {
			t.Fatalf("%s changes:\n%s", u, cmp.Diff(first, again))
		}
	}
}

func TestPagesAreWhatTheyClaim(t *testing.T) {
	w := newWeb(t, func(c *Config) {
		c.Shares.Charset, c.Shares.Dead, c.Shares.Abrupt, c.Shares.Dying = 0.5, 0, 0, 0
	})
	bodies := map[string]string{}
	charsets, fates := map[string]int{}, map[fate]int{}
	for n := range w.cfg.Pages {
		u := w.PageURL(n)
		r := w.parse(u)
		pg := w.page(r.host, r.a)
		fates[pg.fate]++
		rec := request(w, u)
		if rec.Code != 200 || pg.fate == fateTruncated {
			continue
		}
		body := rec.Body.String()
		if was := bodies[body]; was != "" && pg.fate != fateDuplicate && w.page(w.parse(was).host, w.parse(was).a).fate != fateDuplicate {
			t.Errorf("%s equals %s", u, was)
		}
		bodies[body] = u
		if pg.fate == fateWrongType || pg.fate == fateText {
			continue
		}
		rd, err := htmlcharset.NewReader(strings.NewReader(body), rec.Header().Get("Content-Type"))
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(rd)
		if err != nil {
			t.Fatal(err)
		}
		want := Word(n)
		if pg.fate == fateDuplicate {
			want = Word(int(w.hosts[pg.srcHost].first + pg.srcPage))
		}
		if !bytes.Contains(text, []byte(want+" of "+HostWord(int(pg.srcHost))+".")) && pg.odd.every == 0 {
			t.Errorf("%s (%s) lacks its words: %.300q", u, rec.Header().Get("Content-Type"), text)
		}
		if cs := w.charsets[pg.odd.charset]; cs.word != "" {
			charsets[cs.name]++
			if word, _ := w.CharsetWord(cs.name); !bytes.Contains(text, []byte(word)) {
				t.Errorf("%s (%s) lacks %s: %.300q", u, rec.Header().Get("Content-Type"), word, text)
			}
		}
	}
	if len(charsets) != len(w.charsets)-1 {
		t.Errorf("charsets seen: %v", charsets)
	}
	if len(fates) != int(fateOriginal)+1 {
		t.Errorf("fates seen: %v", fates)
	}
}

func TestDuplicatesAreByteEqual(t *testing.T) {
	w := newWeb(t, func(c *Config) { c.Shares = Shares{Duplicate: 0.3, NearDuplicate: 0.3} })
	dups, across := 0, 0
	for n := range w.cfg.Pages {
		r := w.parse(w.PageURL(n))
		pg := w.page(r.host, r.a)
		of := ref{kind: kindPage, host: pg.srcHost, a: pg.srcPage}
		same := of != r && request(w, w.url(r)).Body.String() == request(w, w.url(of)).Body.String()
		if same != (pg.fate == fateDuplicate) {
			t.Fatalf("%s (fate %d) equals %s: %v", w.url(r), pg.fate, w.url(of), same)
		}
		if same {
			dups++
			if of.host != r.host {
				across++
			}
		}
	}
	if dups < w.cfg.Pages/5 || across == 0 || across == dups {
		t.Errorf("%d duplicates, %d of them across hosts", dups, across)
	}
}

func TestPageSizes(t *testing.T) {
	for size, want := range map[PageSize]int{Size6KB: 6 << 10, Size50KB: 50 << 10} {
		w := newWeb(t, func(c *Config) { c.Shares, c.PageSize, c.Hosts = Plain(), size, 20 })
		for n := range 200 {
			got := request(w, w.PageURL(n)).Body.Len()
			if got != want && (n != 0 || got > 2*want) { // host0's home page may need more for its links
				t.Errorf("%s: page %d has %d bytes", size, n, got)
			}
		}
	}
	w := newWeb(t, func(c *Config) { c.Pages, c.PageSize, c.Shares = 20_000, SizeRealistic, Plain() })
	total, small, large := 0, 0, 0
	for n := range w.cfg.Pages {
		r := w.parse(w.PageURL(n))
		s := w.size(r.host, r.a)
		total += s
		if s < 5_000 {
			small++
		}
		if s > 150_000 {
			large++
		}
	}
	if mean := total / w.cfg.Pages; mean < 35_000 || mean > 46_000 || small < 500 || large < 500 {
		t.Errorf("mean size %d, %d small, %d large", mean, small, large)
	}
}

func TestConditionalRequests(t *testing.T) {
	w := newWeb(t, func(c *Config) { c.Shares = Shares{Changing: 0.5} })
	unchanged, changed := 0, 0
	for n := 1; n < 300; n++ {
		u := w.PageURL(n)
		first := request(w, u)
		tag, mod := first.Header().Get("ETag"), first.Header().Get("Last-Modified")
		if tag == "" && mod == "" {
			t.Fatalf("%s has no validator", u)
		}
		var cond []string
		if tag != "" {
			cond = append(cond, "If-None-Match", tag)
		}
		if mod != "" {
			cond = append(cond, "If-Modified-Since", mod)
		}
		second := request(w, u, cond...)
		switch {
		case second.Code == 304 && second.Body.Len() == 0:
			unchanged++
		case second.Code == 200 && second.Body.String() != first.Body.String():
			changed++
		default:
			t.Errorf("%s: second answer is %d", u, second.Code)
		}
	}
	if unchanged < 50 || changed < 20 {
		t.Errorf("%d unchanged, %d changed", unchanged, changed)
	}
}

func TestGzip(t *testing.T) {
	w := newWeb(t, func(c *Config) { c.Shares = Shares{Gzip: 1} })
	u := w.PageURL(3)
	plain, zipped := request(w, u), request(w, u, "Accept-Encoding", "gzip")
	if zipped.Header().Get("Content-Encoding") != "gzip" || plain.Header().Get("Content-Encoding") != "" {
		t.Fatalf("headers: %v, %v", plain.Header(), zipped.Header())
	}
	zr, err := gzip.NewReader(zipped.Body)
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(zr)
	if err != nil || !bytes.Equal(got, plain.Body.Bytes()) {
		t.Errorf("decompressed page differs from the plain one: %v", err)
	}
	for header, want := range map[string]bool{
		"": false, "gzip": true, "br,gzip;q=0.5": true, "gzip;q=0": false, "deflate, br": false, "gzip, deflate": true,
	} {
		if got := acceptsGzip(header); got != want {
			t.Errorf("acceptsGzip(%q) is %v", header, got)
		}
	}
}

func TestProxyAndMethods(t *testing.T) {
	w := newWeb(t, func(c *Config) { c.Shares = Plain() })
	c := serve(t, w)
	resp, err := c.Get("http://host3.test/") // through http.Transport's Proxy: absolute form
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil || resp.StatusCode != 200 || !bytes.Contains(body, []byte(HostWord(3)+".")) {
		t.Errorf("by proxy: %d, %v, %.200s", resp.StatusCode, err, body)
	}
	if got := resp.Header.Get("Date"); got != "" {
		t.Errorf("answer has a date: %s", got)
	}
	if got := dump(w, "http://127.0.0.1/"); !strings.HasPrefix(got, "404") {
		t.Errorf("unknown host: %.100s", got)
	}
	direct := httptest.NewRequest(http.MethodGet, "/", nil)
	direct.Host = "host3.test:8080"
	rec := httptest.NewRecorder()
	w.ServeHTTP(rec, direct)
	if !bytes.Equal(rec.Body.Bytes(), body) {
		t.Error("by Host header: another page than by proxy")
	}
	for method, want := range map[string]int{http.MethodHead: 200, http.MethodConnect: 501, http.MethodPost: 405} {
		req := httptest.NewRequest(http.MethodGet, "http://host3.test/", nil)
		req.Method = method
		rec := httptest.NewRecorder()
		w.ServeHTTP(rec, req)
		if rec.Code != want || (method == http.MethodHead && rec.Body.Len() > 0) {
			t.Errorf("%s: %d, %d bytes", method, rec.Code, rec.Body.Len())
		}
	}
}

// TestBrokenConnections looks at what a client sees of hosts that break them.
func TestBrokenConnections(t *testing.T) {
	w := newWeb(t, func(c *Config) { c.Shares = Shares{Dead: 0.4, Abrupt: 0.3, Dying: 0.3, Truncated: 1} })
	c := serve(t, w)
	seen := map[death]int{}
	for i := range w.hosts {
		h := &w.hosts[i]
		seen[h.death]++
		_, err := get(c, w.url(ref{kind: kindRobots, host: int32(i)}))
		if broken := h.death == dead || h.death == abrupt; broken != (err != nil) {
			t.Errorf("robots.txt of host%d (death %d): %v", i, h.death, err)
		}
		if h.alive < h.size {
			if _, err := get(c, w.url(ref{kind: kindPage, host: int32(i), a: h.alive})); err == nil {
				t.Errorf("host%d should be dead from page %d on", i, h.alive)
			}
			if _, err := get(c, w.url(ref{kind: kindPage, host: int32(i)})); err != nil {
				t.Errorf("home page of dying host%d: %v", i, err)
			}
		}
	}
	if seen[dead] == 0 || seen[abrupt] == 0 || seen[dying] == 0 {
		t.Errorf("deaths: %v", seen)
	}
	if body, err := get(c, w.PageURL(2)); err != io.ErrUnexpectedEOF || len(body) == 0 {
		t.Errorf("truncated page: %d bytes, %v", len(body), err)
	}
}

func get(c *http.Client, u string) ([]byte, error) {
	resp, err := c.Get(u)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return io.ReadAll(resp.Body)
}
