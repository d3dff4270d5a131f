package importnutch

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"encoding/binary"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gonutch/crawler/core/internal/hadoop"
	"github.com/gonutch/crawler/sdk/model"
)

// Fields as Java writes them.
func be16(n int) []byte       { return binary.BigEndian.AppendUint16(nil, uint16(n)) }
func be32(n int) []byte       { return binary.BigEndian.AppendUint32(nil, uint32(n)) }
func be64(n int64) []byte     { return binary.BigEndian.AppendUint64(nil, uint64(n)) }
func float(f float32) []byte  { return be32(int(math.Float32bits(f))) }
func text(s string) []byte    { return append([]byte{byte(len(s))}, s...) } // up to 127 bytes
func utf(s string) []byte     { return append(be16(len(s)), s...) }
func plain(s string) []byte   { return append(be32(len(s)), s...) }
func join(b ...[]byte) []byte { return bytes.Join(b, nil) }

func gzipped(s string) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Write([]byte(s))
	w.Close()
	return append(be32(b.Len()), b.Bytes()...)
}

func meta(pairs ...string) []byte {
	b := be32(len(pairs) / 2)
	for i := 0; i < len(pairs); i += 2 {
		b = join(b, text(pairs[i]), be32(1), text(pairs[i+1]))
	}
	return b
}

const at = int64(1_700_000_000_000) // milliseconds

func TestReadDatum(t *testing.T) {
	status := join([]byte{2, 14}, be64(0), be32(1), plain("gone away"))
	newMap := join([]byte{1, 1}, utf(classProtocolStatus), be32(1), []byte{0x8c}, text("_pst_"), []byte{1}, status)
	oldMap := join(be32(2), []byte{1, 0x90}, text("com.example.Odd"), []byte{0x83, 0x83}, text("k"), text("v"), []byte{0x83, 0x8e}, text("_pst_"), status)
	pst := hadoop.MapValue{{Key: hadoop.Text("_pst_"), Value: protocolStatus{Code: 14, Args: []string{"gone away"}}}}
	base := datum{Status: 2, FetchTime: time.UnixMilli(at).UTC(), Retries: 1, Interval: 30 * 24 * time.Hour, Score: 0.5}
	with := func(f func(*datum)) datum { d := base; f(&d); return d }
	front := func(version, status byte, interval []byte) []byte {
		return join([]byte{version, status}, be64(at), []byte{1}, interval, float(0.5))
	}
	signed := join(be64(at), []byte{3}, []byte("sig"))
	seconds, days := be32(30*86400), float(30)
	for _, c := range []struct {
		name, err string
		in        []byte
		want      datum
	}{
		{name: "version 1", in: front(1, 2, days), want: base},
		{name: "version 3", in: join(front(3, 2, days), signed), want: with(func(d *datum) { d.Modified, d.Signature = d.FetchTime, []byte("sig") })},
		{name: "version 4, statuses of old", in: join(front(4, 7, days), be64(0), []byte{0, 0}), want: with(func(d *datum) { d.Status = 37 })},
		{name: "version 4, no such status", in: join(front(4, 70, days), be64(0), []byte{0, 0}), want: with(func(d *datum) { d.Status = 1 })},
		{name: "version 5, a map of old", in: join(front(5, 2, days), be64(0), []byte{0, 1}, oldMap), want: with(func(d *datum) {
			d.Meta = append(hadoop.MapValue{{Key: hadoop.Text("k"), Value: hadoop.Text("v")}}, pst...)
		})},
		{name: "version 6, a map of Hadoop's", in: join(front(6, 2, seconds), be64(0), []byte{0, 1}, newMap), want: with(func(d *datum) { d.Meta = pst })},
		{name: "version 7", in: join(front(7, 2, seconds), signed, []byte{1}, newMap), want: with(func(d *datum) {
			d.Modified, d.Signature, d.Meta = d.FetchTime, []byte("sig"), pst
		})},
		{
			name: "a class that is not known", in: join(front(7, 2, seconds), be64(0), []byte{0, 1}, []byte{1, 1}, utf("com.example.Thing"), be32(1), []byte{0x8c}, text("k"), []byte{1, 9, 9}),
			want: with(func(d *datum) { d.Lost = "com.example.Thing" }),
		},
		{name: "version 8", in: front(8, 2, seconds), err: "CrawlDatum of version 8; 1 to 7 can be read"},
		{name: "too short", in: front(7, 2, seconds), err: "8 bytes wanted at byte 19, there are 0"},
		{name: "too long", in: join(front(7, 2, seconds), be64(0), []byte{0, 0, 1}), err: "1 bytes too many"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := newReader().readDatum(c.in)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Fatalf("got %v, want %s", err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestOldForms reads what other versions of Nutch than that of the test data wrote.
func TestOldForms(t *testing.T) {
	r := newReader()
	fields := join(text("http://a/"), text("http://b/"), plain("body"), text("text/html"), meta("Server", "x"))
	var z bytes.Buffer
	w := zlib.NewWriter(&z)
	w.Write(append([]byte{2}, fields...))
	w.Close()
	want := content{URL: "http://a/", Base: "http://b/", Body: []byte("body"), Type: "text/html", Meta: model.Metadata{"Server": {"x"}}}
	for _, in := range [][]byte{join(be32(0xffffffff), fields), append(be32(z.Len()), z.Bytes()...)} {
		got, err := r.readContent(in)
		if d := cmp.Diff(want, got); d != "" || err != nil {
			t.Error(err, d)
		}
	}
	for in, want := range map[string]string{"\x02" + string(text("some text")): "some text", "\x01" + string(gzipped("packed text")): "packed text", "\x01\xff\xff\xff\xff": ""} {
		if got, err := r.readParseText([]byte(in)); got != want || err != nil {
			t.Errorf("%q: got %q, %v", in, got, err)
		}
	}
	status := join([]byte{1, 2}, be16(200), be32(1), gzipped("why"))
	wantData := parseData{
		Status: model.ParseStatus{Major: 2, Minor: 200, Args: []string{"why"}}, Title: "t",
		Outlinks: []link{{URL: "http://x/", Anchor: "a"}}, ContentMeta: model.Metadata{"k": {"v"}}, ParseMeta: model.Metadata{},
	}
	for _, noMeta := range [][]byte{{0}, nil} { // since 1.6, and before
		in := join([]byte{5}, status, text("t"), be32(1), text("http://x/"), text("a"), noMeta, meta("k", "v"), meta())
		got, err := r.readParseData(in)
		if d := cmp.Diff(wantData, got); d != "" || err != nil {
			t.Error(err, d)
		}
	}
	md := join([]byte{1}, []byte{0}, be32(1), []byte{0x8c}, text("rel"), []byte{0x8c}, text("me"))
	for _, c := range []struct {
		in   []byte
		want []link
	}{
		{join(be32(1), text("http://x/"), text("a")), []link{{URL: "http://x/", Anchor: "a"}}},
		{join(be32(2), text("http://x/"), text("a"), []byte{0}, text("http://y/"), text(""), md), []link{{URL: "http://x/", Anchor: "a"}, {URL: "http://y/", Meta: model.Metadata{"rel": {"me"}}}}},
	} {
		got, err := r.readInlinks(c.in)
		if d := cmp.Diff(c.want, got); d != "" || err != nil {
			t.Error(err, d)
		}
	}
}

func TestRecordOf(t *testing.T) {
	entry := func(k string, v any) hadoop.Entry {
		switch v := v.(type) {
		case float32:
			return hadoop.Entry{Key: hadoop.Text(k), Value: hadoop.Float(v)}
		case int:
			return hadoop.Entry{Key: hadoop.Text(k), Value: hadoop.Int(v)}
		}
		return hadoop.Entry{Key: hadoop.Text(k), Value: hadoop.Text(v.(string))}
	}
	m := datum{Status: 66, FetchTime: time.UnixMilli(at).UTC(), Interval: time.Hour, Score: 0.1, Meta: hadoop.MapValue{
		entry("fixedInterval", float32(60)), entry("_depth_", 3), entry("_maxdepth_", 7), entry("_repr_", "http://r/"), entry("_ngt_", 5), entry("nutch.protocol.code", "404"), entry("own", "x"),
	}}
	rec, ok := m.record(false)
	if !ok {
		t.Fatal("no record")
	}
	d := rec.Datum
	if d.Status != model.StatusDBUnfetched || !d.FixedInterval || d.Interval != time.Minute || d.ReprURL != "http://r/" || d.ProtocolStatus.HTTP != 404 || d.Score != 100_000 {
		t.Errorf("%+v", d)
	}
	if diff := cmp.Diff(model.Fields{"opic_cash": 100_000, "depth": 3, "depth_left": 4}, d.Fields); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(model.Metadata{"own": {"x"}, "_maxdepth_": {"7"}}, d.Metadata); diff != "" {
		t.Error(diff)
	}
	m.Status = 2
	if rec, _ := m.record(true); rec.Sort != 100_000 || rec.Datum.Fields["opic_cash"] != 100_000 {
		t.Errorf("with mode nutch: %+v", rec)
	}
	for _, status := range []byte{0, 33, 65, 200} {
		m.Status = status
		if _, ok := m.record(false); ok {
			t.Errorf("status %d made a record", status)
		}
	}
	for in, want := range map[float32]int64{0.1: 100_000, -2.5: -2_500_000, 1e-9: 0, float32(math.NaN()): 0, float32(math.Inf(1)): 0} {
		if got := micro(in); got != want {
			t.Errorf("score %g: %d, want %d", in, got, want)
		}
	}
}

func FuzzWritables(f *testing.F) {
	f.Add(join([]byte{7, 2}, be64(at), []byte{1}, be32(5), float(1), be64(0), []byte{2, 1, 2, 1, 0}, be32(0)))
	f.Add(join(be32(0xffffffff), text("u"), text("b"), plain("x"), text("t"), meta("a", "b")))
	f.Add(join([]byte{5, 2, 1}, be16(0), be32(0), text("t"), be32(0), meta(), meta()))
	f.Add(join(be32(1), text("http://x/"), text("a")))
	f.Fuzz(func(t *testing.T, b []byte) {
		r := newReader()
		p := page{url: "http://a/"}
		if m, err := r.readDatum(b); err == nil {
			m.record(false)
			p.fetch = &m
		}
		if c, err := r.readContent(b); err == nil {
			p.content = &c
		}
		if d, err := r.readParseData(b); err == nil {
			p.data = &d
			p.parsed()
		}
		p.item(time.Now())
		_, _ = r.readParseText(b)
		_, _ = r.readInlinks(b)
	})
}
