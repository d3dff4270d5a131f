package store

import (
	"bytes"
	"context"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
)

// Checkpoint makes a copy of the database in dir/store, which must not exist,
// by hard links where possible, and copies the format file. Files of segments
// are the caller's to copy: before the checkpoint was taken their committed
// parts were complete.
func (s *Store) Checkpoint(dir string) error {
	g := s.gate
	if err := g.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("back up store: %w", err)
	}
	err := s.guard(func() error { return s.db.Checkpoint(g.PathJoin(dir, storeDir), pebble.WithFlushedWAL()) })
	if err != nil {
		return fmt.Errorf("back up store: %w", err)
	}
	b, err := ReadFile(g, g.PathJoin(s.dir, formatFile), maxSmallFile)
	if err == nil {
		err = WriteFile(g, g.PathJoin(dir, formatFile), b)
	}
	if err != nil {
		return fmt.Errorf("back up store: %w", err)
	}
	return nil
}

// Compact rewrites the keys k with lo <= k < hi (nil bounds: all) without
// deleted data.
func (s *Store) Compact(ctx context.Context, lo, hi []byte) error {
	if hi == nil {
		hi = bytes.Repeat([]byte{0xff}, 4)
	}
	return s.guard(func() error { return s.db.Compact(ctx, lo, hi, true) })
}

// Metrics are figures for reports.
type Metrics struct {
	DiskBytes       uint64 // of the database, without WARC files
	WALBytes        uint64 // written to the log since the store was opened
	Flushes         int64
	Compactions     int64
	CacheBytes      int64
	CacheHits       int64
	CacheMisses     int64
	MemTableBytes   uint64
	L0Files         int64
	CompactionDebt  uint64
	ReadAmp         int
	FreeBytesOnDisk uint64 // as of the last check; 0 when unknown
}

// Metrics returns the store's present figures; zeros when the store failed.
func (s *Store) Metrics() Metrics {
	var m *pebble.Metrics
	if err := s.guard(func() error { m = s.db.Metrics(); return nil }); err != nil {
		return Metrics{}
	}
	s.diskMu.Lock()
	free := s.diskFree
	s.diskMu.Unlock()
	return Metrics{
		DiskBytes: m.DiskSpaceUsage(), WALBytes: m.WAL.BytesWritten, Flushes: m.Flush.Count,
		Compactions: m.Compact.Count, CacheBytes: m.BlockCache.Size, CacheHits: m.BlockCache.Hits,
		CacheMisses: m.BlockCache.Misses, MemTableBytes: m.MemTable.Size, L0Files: m.Levels[0].TablesCount,
		CompactionDebt: m.Compact.EstimatedDebt, ReadAmp: m.ReadAmp(), FreeBytesOnDisk: free,
	}
}
