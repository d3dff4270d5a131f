package importnutch_test

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gonutch/crawler/core/internal/db/crawldb"
	"github.com/gonutch/crawler/core/internal/db/linkdb"
	"github.com/gonutch/crawler/core/internal/importnutch"
	"github.com/gonutch/crawler/core/internal/segment"
	"github.com/gonutch/crawler/core/internal/store"
	"github.com/gonutch/crawler/core/internal/urlkey"
	"github.com/gonutch/crawler/sdk/model"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// unpack makes a crawl by Nutch of testdata/crawls/NAME.tgz.
func unpack(t testing.TB, name string) string {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", "crawls", name+".tgz"))
	must(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	must(t, err)
	dir := t.TempDir()
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return filepath.Join(dir, name)
		}
		must(t, err)
		to := filepath.Join(dir, filepath.FromSlash(h.Name))
		if h.Typeflag == tar.TypeDir {
			must(t, os.MkdirAll(to, 0o755))
			continue
		}
		b, err := io.ReadAll(r)
		must(t, err)
		must(t, os.WriteFile(to, b, 0o644))
	}
}

// target is a new crawl.
func target(t testing.TB) *importnutch.Target {
	t.Helper()
	ctx := context.Background()
	s, err := store.Open("crawl", store.Options{FS: store.NewMemFS(), MemTableSize: 1 << 20, CacheSize: 4 << 20})
	must(t, err)
	db, err := crawldb.Open(ctx, s, crawldb.Options{})
	must(t, err)
	segs, err := segment.Open(ctx, s, segment.Options{})
	must(t, err)
	t.Cleanup(func() { must(t, errors.Join(segs.Close(), s.Close())) })
	return &importnutch.Target{Store: s, DB: db, Links: linkdb.Open(s, linkdb.Options{}), Segs: segs}
}

func imported(t testing.TB, dir string) (*importnutch.Target, importnutch.Report) {
	t.Helper()
	src, err := importnutch.Find(dir, "", "", "")
	must(t, err)
	dst := target(t)
	rep, err := importnutch.Run(context.Background(), src, dst, importnutch.Options{})
	must(t, err)
	return dst, rep
}

// kinds are the crawls of testdata.
func kinds() []string {
	return []string{
		"plain", "record-deflate", "record-snappy", "block-deflate", "block-gzip", "block-bzip2", "block-snappy", "block-lz4", "block-zstd",
	}
}

func golden(kind, name string) string { return filepath.Join("testdata", "golden", kind, name) }

// TestGolden compares every record with what Nutch's own readers print of it.
func TestGolden(t *testing.T) {
	for _, kind := range kinds() {
		t.Run(kind, func(t *testing.T) {
			dst, rep := imported(t, unpack(t, kind))
			compareRecords(t, dst, kind)
			compareLinks(t, dst, kind)
			compareSegments(t, dst, kind)
			check, err := dst.DB.Check(context.Background())
			must(t, err)
			if check.Total != 0 {
				t.Errorf("the CrawlDB is inconsistent: %q", check.Problems)
			}
			if len(rep.Segments) == 0 || rep.Records == 0 {
				t.Errorf("report %+v", rep)
			}
		})
	}
}

// dumped is a line of readdb -dump -format json.
type dumped struct {
	URL          string                     `json:"url"`
	StatusName   string                     `json:"statusName"`
	FetchTime    string                     `json:"fetchTime"`
	ModifiedTime string                     `json:"modifiedTime"`
	Retries      int                        `json:"retriesSinceFetch"`
	Interval     int64                      `json:"retryIntervalSeconds"`
	Score        float64                    `json:"score"`
	Signature    string                     `json:"signature"`
	Metadata     map[string]json.RawMessage `json:"metadata"`
}

const javaDate = "Mon Jan 02 15:04:05 MST 2006"

func compareRecords(t *testing.T, dst *importnutch.Target, kind string) {
	t.Helper()
	f, err := os.Open(golden(kind, "crawldb.jsonl"))
	must(t, err)
	defer f.Close()
	n := int64(0)
	for in := bufio.NewScanner(f); in.Scan(); n++ {
		var want dumped
		must(t, json.Unmarshal(in.Bytes(), &want))
		rec, err := dst.DB.Get(urlkey.FromURL(want.URL))
		must(t, err)
		if rec == nil {
			t.Errorf("%s is missing", want.URL)
			continue
		}
		d := rec.Datum
		got := dumped{
			URL: want.URL, StatusName: d.Status.String(), FetchTime: d.FetchTime.UTC().Format(javaDate), Retries: d.Retries,
			Interval: int64(d.Interval.Seconds()), Score: want.Score, Signature: "null", ModifiedTime: time.Unix(0, 0).UTC().Format(javaDate),
		}
		if !d.ModifiedTime.IsZero() {
			got.ModifiedTime = d.ModifiedTime.UTC().Format(javaDate)
		}
		if d.Signature != nil {
			got.Signature = hex.EncodeToString(d.Signature)
		}
		if math.Abs(float64(d.Score)/model.Micro-want.Score) > 1e-6 {
			got.Score = float64(d.Score) / model.Micro
		}
		meta := want.Metadata
		want.Metadata = nil
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-Nutch +imported):\n%s", want.URL, diff)
		}
		compareMetadata(t, want.URL, meta, &d)
	}
	stats, err := dst.DB.Stats(context.Background())
	must(t, err)
	if n == 0 || stats.Total != n {
		t.Errorf("%d records, Nutch has %d", stats.Total, n)
	}
}

// compareMetadata finds each value where it went.
func compareMetadata(t *testing.T, url string, want map[string]json.RawMessage, d *model.CrawlDatum) {
	t.Helper()
	seen := 0
	for key, raw := range want {
		text := strings.Trim(string(raw), `"`)
		got := d.Metadata.First(key)
		if _, ok := d.Metadata[key]; ok {
			seen++
		}
		switch key {
		case "_pst_":
			var msg string
			if _, msg, _ = strings.Cut(text, ": "); d.ProtocolStatus.Message != msg || !strings.HasPrefix(text, fmt.Sprintf("%s(%d)", d.ProtocolStatus.Code, d.ProtocolStatus.Code)) {
				t.Errorf("%s: protocol status %s, want %s", url, d.ProtocolStatus, text)
			}
			continue
		case "nutch.protocol.code":
			got = strconv.Itoa(d.ProtocolStatus.HTTP)
		case "_repr_":
			got = d.ReprURL
		case "fixedInterval":
			if !d.FixedInterval {
				t.Errorf("%s: the interval is not fixed", url)
			}
			continue // it is the interval, which is compared
		case "m.bytes":
			b, err := base64.StdEncoding.DecodeString(text)
			must(t, err)
			text = strings.TrimSpace(regexp.MustCompile(`..`).ReplaceAllString(hex.EncodeToString(b[:3]), "$0 ")) // of Java's buffer, which is longer
		case "m.null":
			text = "(null)"
		}
		if got != text {
			t.Errorf("%s: metadata %s is %q, want %q", url, key, got, text)
		}
	}
	if d.Segment == "" && seen != len(d.Metadata) {
		t.Errorf("%s: metadata that Nutch does not have: %v, want %v", url, d.Metadata, want)
	}
}

func compareLinks(t *testing.T, dst *importnutch.Target, kind string) {
	t.Helper()
	want := map[string][]string{}
	b, err := os.ReadFile(golden(kind, "linkdb.txt"))
	must(t, err)
	url := ""
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSuffix(line, "\n")
		if u, ok := strings.CutSuffix(line, "\tInlinks:"); ok {
			url = u
		} else if from, ok := strings.CutPrefix(line, " fromUrl: "); ok {
			want[url] = append(want[url], from)
		}
	}
	got := map[string][]string{}
	must(t, dst.Links.Each(context.Background(), "", func(k urlkey.Key, links []model.Inlink) error {
		url, err := urlkey.ToURL(k)
		for _, l := range links {
			got[url] = append(got[url], l.From+" anchor: "+l.Anchor)
		}
		return err
	}))
	for _, m := range []map[string][]string{got, want} {
		for _, l := range m {
			slices.Sort(l)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" || len(want) == 0 {
		t.Errorf("inlinks (-Nutch +imported):\n%s", diff)
	}
}

// seen is what a segment has of a page, as far as readseg -dump prints it.
type seen struct {
	Status, FetchTime, Protocol, Code string
	Base, Type, Body, Digest          string
	Parse, Title, Text                string
	Outlinks, ContentMeta, ParseMeta  []string
	Stored                            bool
}

func compareSegments(t *testing.T, dst *importnutch.Target, kind string) {
	t.Helper()
	files, err := filepath.Glob(golden(kind, "segment-*.txt"))
	must(t, err)
	if len(files) == 0 {
		t.Fatal("no segments")
	}
	for _, file := range files {
		seg := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(file), "segment-"), ".txt")
		b, err := os.ReadFile(file)
		must(t, err)
		pages := 0
		for _, rec := range strings.Split(string(b), "\nRecno:: ")[1:] {
			url, want := readDump(rec)
			if want.Status == "" && !want.Stored {
				continue // only links to it
			}
			pages++
			got := stored(t, dst, seg, url)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("segment %s, %s (-Nutch +imported):\n%s", seg, url, diff)
			}
		}
		if pages == 0 {
			t.Errorf("segment %s: no pages", seg)
		}
	}
}

// readDump reads a record of readseg -dump.
func readDump(rec string) (url string, s seen) {
	_, rec, _ = strings.Cut(rec, "URL:: ")
	url, rec, _ = strings.Cut(rec, "\n")
	section := regexp.MustCompile(`(?m)^(ParseText|CrawlDatum|ParseData|Content)::\n`)
	at := section.FindAllStringSubmatchIndex(rec, -1)
	for i, m := range at {
		end := len(rec)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		body := rec[m[1]:end]
		field := func(name string) string { return between(body, name+": ", "\n") }
		switch rec[m[2]:m[3]] {
		case "ParseText":
			s.Text = strings.TrimSpace(body)
		case "CrawlDatum":
			status := between(field("Status"), "(", ")")
			if !strings.HasPrefix(status, "fetch_") {
				continue
			}
			s.Status, s.FetchTime = status, field("Fetch time")
			s.Protocol, s.Code = between(body, "_pst_=", ", lastModified"), between(body, "nutch.protocol.code=", "\n")
		case "ParseData":
			s.Parse, s.Title = field("Status"), field("Title")
			s.Outlinks = lines(between(body, "Outlinks: ", "Content Metadata:"), "outlink: toUrl: ")
			s.ContentMeta = lines(between(body, "Content Metadata:", "Parse Metadata:"), "")
			s.ParseMeta = lines(body[strings.Index(body, "Parse Metadata:")+15:], "")
		case "Content":
			s.Stored, s.Base, s.Type = true, field("base"), field("contentType")
			s.Body = strings.TrimRight(body[strings.Index(body, "Content:\n")+9:], "\n")
		}
	}
	return url, s
}

func between(s, from, to string) string {
	_, rest, ok := strings.Cut(s, from)
	if !ok {
		return ""
	}
	v, _, _ := strings.Cut(rest, to)
	return v
}

// lines are the lines of s without prefix, sorted.
func lines(s, prefix string) (out []string) {
	for line := range strings.Lines(s) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, prefix) && line != "" {
			out = append(out, strings.TrimPrefix(line, prefix))
		}
	}
	slices.Sort(out)
	return out
}

func metaLines(m model.Metadata) (out []string) {
	for k, vs := range m {
		for _, v := range vs {
			out = append(out, lines(k+" = "+v, "")...) // as in the dump
		}
	}
	slices.Sort(out)
	return out
}

// stored is what we have of a page, in the words of readseg -dump.
func stored(t *testing.T, dst *importnutch.Target, seg, url string) (s seen) {
	t.Helper()
	key := urlkey.FromURL(url)
	f, err := dst.Segs.GetFetch(seg, key)
	must(t, err)
	if f == nil {
		return s
	}
	s.Status, s.FetchTime = f.Status.String(), f.FetchTime.UTC().Format(javaDate)
	s.Protocol, s.Code = fmt.Sprintf("%s(%d)", f.Protocol.Code, f.Protocol.Code), strconv.Itoa(f.Protocol.HTTP)
	if c, err := dst.Segs.Content(seg, f); err == nil {
		s.Stored, s.Base, s.Type, s.Body = true, c.Base, f.MIMEType, strings.TrimRight(string(c.Body), "\n")
	} else if !errors.Is(err, segment.ErrNoContent) {
		t.Error(err)
	}
	p, err := dst.Segs.GetParse(seg, key, segment.Want{Text: true, Outlinks: true})
	must(t, err)
	if p == nil {
		return s
	}
	s.Parse, s.Title, s.Text = p.Status.String(), p.Title, strings.TrimSpace(p.Text)
	for _, l := range p.Outlinks {
		line := l.URL + " anchor: " + l.Anchor
		for _, k := range l.Metadata.Keys() {
			line += " " + k + ": " + l.Metadata.First(k)
		}
		s.Outlinks = append(s.Outlinks, line)
	}
	slices.Sort(s.Outlinks)
	s.ContentMeta, s.ParseMeta = metaLines(p.ContentMeta), metaLines(p.ParseMeta)
	if got := hex.EncodeToString(p.Signature); !slices.Contains(s.ContentMeta, "nutch.content.digest = "+got) {
		t.Errorf("segment %s, %s: signature %s is not the digest of %q", seg, url, got, s.ContentMeta)
	}
	return s
}
