package libhttp

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"

	"github.com/gonutch/crawler/plugins/internal/libtest"
	"github.com/gonutch/crawler/sdk/extension/protocol"
	"github.com/gonutch/crawler/sdk/model"
	"github.com/gonutch/crawler/sdk/setting"
	"github.com/gonutch/crawler/sdk/testsite"
)

func encode(t testing.TB, name string, body []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	var w io.WriteCloser
	var err error
	switch name {
	case "gzip", "x-gzip":
		w = gzip.NewWriter(&b)
	case "zlib":
		w = zlib.NewWriter(&b)
	case "raw deflate":
		w, err = flate.NewWriter(&b, 6)
	case "br":
		w = brotli.NewWriter(&b)
	case "zstd":
		w, err = zstd.NewWriter(&b, zstd.WithWindowSize(1<<20))
	default:
		return body
	}
	if err == nil {
		_, err = w.Write(body)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// text is n bytes that compress to about a quarter.
func text(n int) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	b := make([]byte, n)
	for i := range b {
		b[i] = "eeettaoin "[r.IntN(10)]
	}
	return b
}

func serve(t testing.TB, header string, body []byte, chunked bool) *testsite.Site {
	s := testsite.Start(t, testsite.Options{})
	return s.Site().Handle("/", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		if header != "" {
			w.Header().Set("Content-Encoding", header)
		}
		if chunked {
			_ = http.NewResponseController(w).Flush()
		} else {
			w.Header().Set("Content-Length", fmt.Sprint(len(body)))
		}
		_, _ = w.Write(body)
	})
}

func TestEncodings(t *testing.T) {
	plain := text(100_000)
	gz := encode(t, "gzip", plain)
	for _, tc := range []struct {
		name, header string
		body         []byte
		want         []byte
		truncated    string
	}{
		{"none", "", plain, plain, ""},
		{"gzip", "gzip", gz, plain, ""},
		{"upper case", "GZip", gz, plain, ""},
		{"x-gzip", "x-gzip", gz, plain, ""},
		{"zlib", "deflate", encode(t, "zlib", plain), plain, ""},
		{"raw deflate", "deflate", encode(t, "raw deflate", plain), plain, ""},
		{"br", "br", encode(t, "br", plain), plain, ""},
		{"zstd", "zstd", encode(t, "zstd", plain), plain, ""},
		{"two layers", "br, gzip", encode(t, "gzip", encode(t, "br", plain)), plain, ""},
		{"identity", "identity", plain, plain, ""},
		{"unknown", "utf-8", plain, plain, ""},
		{"unknown and gzip", "foo, gzip", gz, plain, ""},
		{"gzip that is none", "gzip", plain, plain, ""},
		{"zstd that is none", "zstd", plain, plain, ""},
		{"empty body", "gzip", nil, nil, ""},
		{"empty content", "gzip", encode(t, "gzip", nil), nil, ""},
		{"two members", "gzip", append(bytes.Clone(gz), gz...), append(bytes.Clone(plain), plain...), ""},
		{"padded", "gzip", append(bytes.Clone(gz), "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"...), plain, ""},
		{"cut gzip", "gzip", gz[:len(gz)-4], plain, "disconnect"},
		{"wrong checksum", "gzip", append(bytes.Clone(gz[:len(gz)-8]), "\x00\x00\x00\x00\x00\x00\x00\x00"...), plain, "disconnect"},
		{"gzip header only", "gzip", gz[:5], nil, "disconnect"},
		{"one byte", "gzip", []byte("x"), []byte("x"), ""},
		{"too many layers", "gzip, gzip, gzip, gzip", gz, nil, "disconnect"},
	} {
		for _, chunked := range []bool{false, true} {
			site := serve(t, tc.header, tc.body, chunked)
			f := fetcher(t)
			for range 3 { // pooled decoders
				r := libtest.Get(t, f, site.URL("/"))
				if r.Status.Code != model.ProtocolSuccess || r.Truncated != tc.truncated {
					t.Errorf("%s, chunked %t: %v, truncated %q, want %q", tc.name, chunked, r.Status, r.Truncated, tc.truncated)
				}
				if !bytes.Equal(r.Body, tc.want) {
					t.Errorf("%s, chunked %t: %d bytes %.20q, want %d", tc.name, chunked, len(r.Body), r.Body, len(tc.want))
				}
				if (tc.truncated != "") != (r.Status.Message != "") {
					t.Errorf("%s: message %q", tc.name, r.Status.Message)
				}
			}
		}
	}
}

// Cut streams give what was decoded up to the cut.
func TestCutEncodings(t *testing.T) {
	plain := text(200_000)
	for name, header := range map[string]string{"gzip": "gzip", "zlib": "deflate", "raw deflate": "deflate", "br": "br"} {
		enc := encode(t, name, plain)
		r := libtest.Get(t, fetcher(t), serve(t, header, enc[:len(enc)/2], true).URL("/"))
		if r.Truncated != "disconnect" || len(r.Body) < len(plain)/4 || !bytes.HasPrefix(plain, r.Body) {
			t.Errorf("%s: truncated %q, %d bytes of %d", name, r.Truncated, len(r.Body), len(plain))
		}
	}
}

func TestContentLimit(t *testing.T) {
	body := text(10_000)
	for _, tc := range []struct {
		header    string
		limit     int64 // of the settings
		maxBytes  int64 // of the request
		want      int
		truncated string
	}{
		{"", 10_000, 0, 10_000, ""},
		{"", 9_999, 0, 9_999, "length"},
		{"", 1, 0, 1, "length"},
		{"", 0, 0, 0, "length"},
		{"", -1, 0, 10_000, ""},
		{"", 5, 20_000, 10_000, ""},
		{"", 20_000, 5, 5, "length"},
		{"", 5, -1, 10_000, ""},
		{"gzip", 10_000, 0, 10_000, ""},
		{"gzip", 9_999, 0, 9_999, "length"},
		{"gzip", -1, 0, 10_000, ""},
		{"br", 100, 0, 100, "length"},
	} {
		for _, chunked := range []bool{false, true} {
			site := serve(t, tc.header, encode(t, tc.header, body), chunked)
			f := fetcher(t, func(c *Config) { c.HTTP.ContentLimit = setting.Size(tc.limit) })
			r := libtest.Fetch(t, f, &protocol.Request{URL: site.URL("/"), MaxBytes: tc.maxBytes})
			if len(r.Body) != tc.want || r.Truncated != tc.truncated || r.Status.Code != model.ProtocolSuccess || !bytes.HasPrefix(body, r.Body) {
				t.Errorf("%+v chunked %t: %d bytes, truncated %q, %v", tc, chunked, len(r.Body), r.Truncated, r.Status)
			}
		}
	}
}

// A few KB that decode to gigabytes cost what the limits allow, in memory too.
func TestBombs(t *testing.T) {
	zeros := make([]byte, 16<<20)
	for _, name := range []string{"gzip", "br", "zstd"} {
		bomb := encode(t, name, zeros)
		site := serve(t, name, bomb, false)
		f := fetcher(t, func(c *Config) { c.HTTP.ContentLimit = -1 })
		r := libtest.Get(t, f, site.URL("/"))
		if most := max(2*ratioFloor, 2*f.cfg.Own.CompressionRatio*len(bomb)); r.Truncated != "length" || len(r.Body) > most || len(r.Body) < ratioFloor {
			t.Errorf("%s: %d bytes of %d encoded, truncated %q", name, len(r.Body), len(bomb), r.Truncated)
		}
		if !strings.Contains(r.Status.Message, "multiple") {
			t.Errorf("%s: message %q", name, r.Status.Message)
		}
		f = fetcher(t, func(c *Config) { c.Own.CompressionRatio, c.HTTP.ContentLimit = 0, 3<<20 })
		if r := libtest.Get(t, f, site.URL("/")); r.Truncated != "length" || len(r.Body) != 3<<20 {
			t.Errorf("%s without a ratio: %d bytes, truncated %q", name, len(r.Body), r.Truncated)
		}
	}
	// Encoded bytes without end that decode to nothing.
	empty := encode(t, "gzip", nil)
	site := serve(t, "gzip", bytes.Repeat(empty, (1<<20)/len(empty)), true)
	r := libtest.Get(t, fetcher(t, func(c *Config) { c.HTTP.ContentLimit = 1 << 10 }), site.URL("/"))
	if r.Truncated != "length" || len(r.Body) != 0 {
		t.Errorf("empty members: truncated %q, %d bytes", r.Truncated, len(r.Body))
	}
	// Two layers multiply.
	site = serve(t, "gzip, gzip", encode(t, "gzip", encode(t, "gzip", zeros)), false)
	if r := libtest.Get(t, fetcher(t), site.URL("/")); r.Truncated != "length" || len(r.Body) > 2*ratioFloor {
		t.Errorf("layers: truncated %q, %d bytes", r.Truncated, len(r.Body))
	}
}

// The limit is not allocated in advance, nor what a header promises.
func TestMemoryFollowsBytes(t *testing.T) {
	s := testsite.Start(t, testsite.Options{})
	s.Site().RawText("/", "HTTP/1.1 200 OK\r\nContent-Length: 9000000\r\n\r\nsmall")
	f := fetcher(t)
	libtest.Get(t, f, s.Site().URL("/"))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	const n = 20
	for range n {
		libtest.Get(t, f, s.Site().URL("/"))
	}
	runtime.ReadMemStats(&after)
	if per := (after.TotalAlloc - before.TotalAlloc) / n; per > 256<<10 {
		t.Errorf("%d bytes allocated for an answer of 5", per)
	}
}

// Every encoding that the test site knows.
func TestSiteEncodings(t *testing.T) {
	s := testsite.Start(t, testsite.Options{})
	f := fetcher(t)
	want := strings.Repeat("<p>some words\n", 5000)
	for _, name := range testsite.Encodings() {
		s.Site().Encoded("/"+name, "text/html", name, []byte(want))
		if r := libtest.Get(t, f, s.Site().URL("/"+name)); string(r.Body) != want || r.Truncated != "" {
			t.Errorf("%s: %v, %d bytes, truncated %q", name, r.Status, len(r.Body), r.Truncated)
		}
	}
}
