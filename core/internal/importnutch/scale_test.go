package importnutch_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/gonutch/crawler/core/internal/db/crawldb"
	"github.com/gonutch/crawler/core/internal/db/linkdb"
	"github.com/gonutch/crawler/core/internal/importnutch"
	"github.com/gonutch/crawler/core/internal/segment"
	"github.com/gonutch/crawler/core/internal/store"
)

// bigCrawlDB writes a CrawlDb of n records as Nutch does.
func bigCrawlDB(t *testing.T, n int) string {
	t.Helper()
	dir := t.TempDir()
	part := filepath.Join(dir, "crawldb", "current", "part-r-00000")
	must(t, os.MkdirAll(part, 0o755))
	f, err := os.Create(filepath.Join(part, "data"))
	must(t, err)
	w := bufio.NewWriterSize(f, 1<<20)
	text := func(b []byte, s string) []byte { return append(append(b, byte(len(s))), s...) } // up to 127 bytes
	head := append([]byte("SEQ"), 6)
	head = text(text(head, "org.apache.hadoop.io.Text"), "org.apache.nutch.crawl.CrawlDatum")
	head = append(head, 0, 0, 0, 0, 0, 0)
	const mark = "0123456789abcdef"
	w.Write(append(head, mark...))
	due := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
	for i := range n {
		k := text(nil, fmt.Sprintf("http://host%05d.test/page/%09d.html", i/100, i))
		v := append([]byte{7}, byte(1+i%3))
		v = binary.BigEndian.AppendUint64(v, uint64(due+int64(i)))
		v = binary.BigEndian.AppendUint32(append(v, 0), 2592000)
		v = binary.BigEndian.AppendUint32(v, math.Float32bits(float32(i%1000)/1000))
		v = binary.BigEndian.AppendUint64(v, uint64(due))
		v = append(binary.BigEndian.AppendUint64(append(v, 16), uint64(i)), "12345678"...)
		v = append(v, 1, 0, 0, 0, 0, 1, 0x8c)
		v = append(text(v, "Content-Type"), 0x8c)
		v = text(v, "text/html")
		if i%50 == 49 {
			w.Write(append([]byte{0xff, 0xff, 0xff, 0xff}, mark...))
		}
		b := binary.BigEndian.AppendUint32(nil, uint32(len(k)+len(v)))
		w.Write(binary.BigEndian.AppendUint32(b, uint32(len(k))))
		w.Write(k)
		w.Write(v)
	}
	must(t, errors.Join(w.Flush(), f.Close()))
	return dir
}

// TestScale imports a big CrawlDb and watches that memory does not grow with it; CRAWLER_IMPORT_RECORDS says how big.
func TestScale(t *testing.T) {
	if os.Getenv("CRAWLER_SOAK") == "" {
		t.Skip("a million records: CRAWLER_SOAK=1")
	}
	n := 1_000_000
	if s := os.Getenv("CRAWLER_IMPORT_RECORDS"); s != "" {
		var err error
		n, err = strconv.Atoi(s)
		must(t, err)
	}
	src, err := importnutch.Find(bigCrawlDB(t, n), "", "", "")
	must(t, err)
	ctx := context.Background()
	s, err := store.Open(filepath.Join(t.TempDir(), "crawl"), store.Options{})
	must(t, err)
	defer s.Close()
	db, err := crawldb.Open(ctx, s, crawldb.Options{})
	must(t, err)
	segs, err := segment.Open(ctx, s, segment.Options{})
	must(t, err)
	var peak uint64
	start := time.Now()
	rep, err := importnutch.Run(ctx, src, &importnutch.Target{Store: s, DB: db, Links: linkdb.Open(s, linkdb.Options{}), Segs: segs}, importnutch.Options{
		Progress: func(importnutch.Progress) {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			peak = max(peak, m.HeapAlloc)
		},
	})
	must(t, err)
	took := time.Since(start)
	t.Logf("%d records in %s, %.0f records/s, heap at most %d MiB", rep.Records, took.Round(time.Millisecond), float64(n)/took.Seconds(), peak>>20)
	stats, err := db.Stats(ctx)
	must(t, err)
	if rep.Records != int64(n) || stats.Total != int64(n) {
		t.Errorf("%d records, stored %d, want %d", rep.Records, stats.Total, n)
	}
	if peak > 512<<20 {
		t.Errorf("heap of %d MiB", peak>>20)
	}
}
