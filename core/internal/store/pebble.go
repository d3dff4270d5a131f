package store

import (
	"errors"
	"fmt"
	"runtime"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/sstable"
)

// formatMajorVersion pins Pebble's on-disk format; it may only grow.
const formatMajorVersion = pebble.FormatTableFormatV6

// openPebble opens the database in the directory's store folder.
func (s *Store) openPebble(o Options, fresh bool) error {
	cacheSize, memTable := o.CacheSize, o.MemTableSize
	if cacheSize == 0 {
		cacheSize = 160 << 20
	}
	if memTable == 0 {
		memTable = 32 << 20
	}
	cache := pebble.NewCache(cacheSize)
	defer cache.Unref()
	po := &pebble.Options{
		FS:                          s.pebbles,
		Cache:                       cache,
		MemTableSize:                uint64(memTable), //nolint:gosec // positive
		MemTableStopWritesThreshold: 4,
		FormatMajorVersion:          formatMajorVersion,
		Merger:                      merger(),
		ErrorIfNotExists:            !fresh,
		L0CompactionThreshold:       8,
		L0StopWritesThreshold:       24,
		LBaseMaxBytes:               64 << 20,
		MaxOpenFiles:                1000,
		CompactionConcurrencyRange:  func() (int, int) { return 1, max(1, min(4, runtime.GOMAXPROCS(0)/2)) },
		Logger:                      &pebbleLogger{s: s},
		EventListener:               s.events(),
	}
	for i := range po.Levels {
		po.Levels[i].BlockSize = 8 << 10
		po.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
		po.Levels[i].FilterType = pebble.TableFilter
	}
	po.ApplyCompressionSettings(func() pebble.DBCompressionSettings {
		c := pebble.DBCompressionFastest
		c.Levels[0] = sstable.NoCompression // what was flushed is soon written again, a level below
		return c
	})
	db, err := pebble.Open(s.gate.PathJoin(s.dir, storeDir), po)
	switch {
	case err == nil:
		s.db = db
		return nil
	case s.gate.Err() != nil: // the disk's fault, not the directory's
		return s.gate.Err()
	case fresh:
		return err
	}
	return fmt.Errorf("%w: %w; copy it again, whole, or restore a backup", ErrIncomplete, err)
}

// events turns trouble in Pebble's background work that is no failed write,
// such as damaged tables, into the store's failure.
func (s *Store) events() *pebble.EventListener {
	return &pebble.EventListener{
		BackgroundError: func(err error) {
			if !errors.Is(err, pebble.ErrCancelledCompaction) {
				_ = s.pebbles.refuse(s.gate.fail(err)) // or it would be tried again, without pause
			}
		},
		WriteStallBegin: func(i pebble.WriteStallBeginInfo) { s.log.Debug("store: writes wait", "reason", i.Reason) },
		DataCorruption:  func(i pebble.DataCorruptionInfo) { _ = s.gate.fail(fmt.Errorf("%w: %s", ErrIncomplete, i)) },
	}
}

// pebbleLogger keeps Pebble from ending the process.
type pebbleLogger struct{ s *Store }

func (l *pebbleLogger) Infof(format string, args ...any) {
	if l.s.log.IsTrace() {
		l.s.log.Trace("store: " + fmt.Sprintf(format, args...))
	}
}

func (l *pebbleLogger) Errorf(format string, args ...any) {
	l.s.log.Warn("store: " + fmt.Sprintf(format, args...))
}

// Fatalf is called where Pebble can't go on. What remains after a failed write
// has been parked below (see gate) is damage or a bug; a broken iterator
// is in the caller's goroutine, so it panics.
func (l *pebbleLogger) Fatalf(format string, args ...any) {
	msg := fmt.Sprintf(format, args...)
	if strings.Contains(msg, "violation") {
		panic("store: " + msg)
	}
	_ = l.s.gate.fail(errors.New(msg))
	select {}
}
