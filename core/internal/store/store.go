package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/hashicorp/go-hclog"
)

// Options configure a store. The zero value is usable.
type Options struct {
	FS           FS           // nil is the operating system's
	CacheSize    int64        // bytes of block cache, memtables included; 0 is 160 MiB
	MemTableSize int64        // bytes of one memtable; 0 is 32 MiB
	LowWater     int64        // refuse commits when fewer bytes are free on the disk; 0 is off
	Logger       hclog.Logger // nil discards
	Command      string       // what holds the lock, shown to others
	MustExist    bool         // ErrNoCrawl instead of making a new directory
	Older        bool         // a directory of an older version will do: what is done understands it
}

// Store is an open crawl directory. Its methods are safe for concurrent use.
type Store struct {
	dir     string
	gate    *gate
	pebbles *gate
	db      *pebble.DB
	lock    *pebble.Lock
	log     hclog.Logger
	low     int64
	writer  chan struct{} // holds one token: the writer lock, waited for with a context
	tx      *Tx           // writer lock
	wrote   bool          // anything since it was opened; writer lock
	made    bool          // the directory was not there before Open

	diskMu   sync.Mutex
	diskAt   time.Time
	diskFree uint64

	closeOnce sync.Once
	closeErr  error
}

// Open opens the crawl directory dir, making it when there is none. Errors say
// what is wrong with the directory and what to do; nothing is changed then.
func Open(dir string, o Options) (*Store, error) {
	s, err := open(dir, o)
	if err != nil {
		return nil, fmt.Errorf("open crawl directory %s: %w", dir, err)
	}
	return s, nil
}

func open(dir string, o Options) (_ *Store, err error) {
	if o.FS == nil {
		o.FS = OSFS()
	}
	if o.Logger == nil {
		o.Logger = hclog.NewNullLogger()
	}
	st, err := o.FS.Stat(dir)
	made := errors.Is(err, fs.ErrNotExist)
	if err == nil && !st.IsDir() {
		return nil, errors.New("it is a file; a crawl is a folder")
	}
	pg, g := newGates(o.FS)
	fresh, err := layout(g, dir, o.Older)
	if err != nil {
		return nil, err
	}
	if fresh && o.MustExist {
		return nil, ErrNoCrawl
	}
	if fresh {
		if err := g.MkdirAll(dir, 0o755); err != nil {
			return nil, err
		}
	}
	lock, err := lockDir(g, dir)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, lock.Close())
		}
	}()
	if err := writeOwner(g, dir, o.Command); err != nil {
		return nil, err
	}
	if fresh {
		// Another process may have finished the directory before we got the lock.
		if fresh, err = layout(g, dir, o.Older); err != nil {
			return nil, err
		}
	}
	if fresh {
		if err := begin(g, dir); err != nil {
			return nil, err
		}
	}
	s := &Store{dir: dir, gate: g, pebbles: pg, lock: lock, log: o.Logger, low: o.LowWater, writer: make(chan struct{}, 1), made: made}
	s.tx = newTx(s)
	if err := s.openPebble(o, fresh); err != nil {
		return nil, err
	}
	if fresh {
		if err := finish(g, dir); err != nil {
			return nil, errors.Join(err, s.db.Close())
		}
	}
	s.pebbles.park.Store(true)
	return s, nil
}

// lockDir takes the lock. Pebble's own lock file lives in the store folder,
// which may be removed and made again, so ours is beside it.
func lockDir(fsys FS, dir string) (*pebble.Lock, error) {
	lock, err := pebble.LockDirectory(dir, fsys)
	if err == nil {
		return lock, nil
	}
	if isReadOnly(err) {
		return nil, fmt.Errorf("%w; it must be writable, also for reading commands", err)
	}
	return nil, fmt.Errorf("%w by %s; wait for it, stop it, or name another directory with --dir (%w)",
		ErrInUse, readOwner(fsys, dir), err)
}

func isReadOnly(err error) bool {
	s := err.Error()
	return strings.Contains(s, "read-only file system") || strings.Contains(s, "permission denied") ||
		strings.Contains(s, "no space left") || strings.Contains(s, "quota exceeded")
}

// writeOwner is not durable on purpose: it only matters while the process lives.
func writeOwner(fsys FS, dir, command string) error {
	f, err := fsys.Create(fsys.PathJoin(dir, ownerFile), category)
	if err != nil {
		return err
	}
	_, err = f.Write(self(command).encode())
	return errors.Join(err, f.Close())
}

// Dir returns the crawl directory.
func (s *Store) Dir() string { return s.dir }

// SegmentsDir returns the directory of the segments' files.
func (s *Store) SegmentsDir() string { return s.gate.PathJoin(s.dir, segmentsDir) }

// PluginsDir returns the directory of the plugins' own data.
func (s *Store) PluginsDir() string { return s.gate.PathJoin(s.dir, pluginsDir) }

// FS returns the file system that WARC files must be written through, so that
// S3 covers them.
func (s *Store) FS() FS { return s.gate }

// Logger returns the store's logger.
func (s *Store) Logger() hclog.Logger { return s.log }

// Err returns why the store can't be written any more, or nil.
func (s *Store) Err() error {
	if err := s.gate.Err(); err != nil {
		return fmt.Errorf("write store: %w", err)
	}
	return nil
}

// Failed is closed when the store fails; see Err.
func (s *Store) Failed() <-chan struct{} { return s.gate.failed }

// Close waits for a running Update, closes the database and releases the lock.
// No other method may be running or called later; it is safe to call twice. A
// failed store is left as it is, as after a crash.
func (s *Store) Close() error {
	s.closeOnce.Do(func() {
		var err error
		if s.gate.Err() == nil {
			s.writer <- struct{}{}
			err = s.guard(s.finish)
		}
		s.closeErr = errors.Join(err, s.lock.Close())
	})
	return s.closeErr
}

// Discard is Close for a crawl that could not begin: a directory that was not there before Open is removed again,
// with all that is in it.
func (s *Store) Discard() error {
	if !s.made {
		return s.Close()
	}
	s.closeOnce.Do(func() {
		s.writer <- struct{}{}
		// The lock is held until the directory is away, so nobody else begins a crawl in it.
		s.closeErr = errors.Join(s.db.Close(), s.gate.RemoveAll(s.dir), s.lock.Close())
	})
	return s.closeErr
}

// finish flushes, so that a closed store needs no log: Pebble does not notice
// when a copy of the directory lacks it.
func (s *Store) finish() error {
	var err error
	if s.wrote {
		err = s.db.Flush()
	}
	return errors.Join(err, s.db.Close())
}

// Update runs f as the only writer and commits its Tx as one batch, durably.
// When f fails nothing is changed and its error is returned. Waiting for the
// disk happens after the writer lock is released, so concurrent Updates share
// a sync. f must not call Update itself.
func (s *Store) Update(ctx context.Context, f func(*Tx) error) error { return s.update(ctx, true, f) }

// UpdateNoSync is Update without waiting for the disk (see S2): for work that
// is done again from scratch after a crash.
func (s *Store) UpdateNoSync(ctx context.Context, f func(*Tx) error) error {
	return s.update(ctx, false, f)
}

func (s *Store) update(ctx context.Context, sync bool, f func(*Tx) error) error {
	select {
	case s.writer <- struct{}{}:
	case <-s.gate.failed:
		return s.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
	b, err := s.apply(sync, f)
	if err != nil || b == nil {
		return err
	}
	if sync {
		err = s.write(b.SyncWait)
	}
	if err != nil {
		return err // the batch may still be in use
	}
	return b.Close()
}

// apply runs f and applies its batch; it releases the writer lock.
func (s *Store) apply(sync bool, f func(*Tx) error) (*pebble.Batch, error) {
	defer func() {
		s.tx.reset()
		<-s.writer
	}()
	if err := s.Err(); err != nil {
		return nil, err
	}
	if err := s.checkSpace(); err != nil {
		return nil, err
	}
	if err := f(s.tx); err != nil {
		return nil, err
	}
	if s.tx.empty() && len(s.tx.counts) == 0 {
		s.committed()
		return nil, nil
	}
	b, err := s.tx.batch()
	if err != nil {
		return nil, fmt.Errorf("build batch: %w", err)
	}
	err = s.write(func() error {
		if sync {
			return s.db.ApplyNoSyncWait(b, pebble.Sync)
		}
		return s.db.Apply(b, pebble.NoSync)
	})
	if err != nil {
		return nil, err
	}
	s.wrote = true
	s.committed()
	return b, nil
}

func (s *Store) committed() {
	for _, f := range s.tx.onCommit {
		f()
	}
}

// write is guard for what must not fail.
func (s *Store) write(f func() error) error {
	if err := s.guard(f); err != nil {
		_ = s.gate.fail(err)
		return s.Err()
	}
	return nil
}

// guard runs f in a goroutine of its own and returns its error, or the store's
// as soon as the store fails: then f may wait for ever (see gate) and is
// abandoned.
func (s *Store) guard(f func() error) error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-s.gate.failed:
		return s.Err()
	}
}

// Sync waits until everything committed so far is durable.
func (s *Store) Sync(ctx context.Context) error {
	if err := s.Err(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return s.write(func() error { return s.db.LogData(nil, pebble.Sync) })
}

// ErrLowSpace is in the chain of the error of an Update refused because the
// disk has fewer free bytes than Options.LowWater.
var ErrLowSpace = errors.New("disk nearly full")

func (s *Store) checkSpace() error {
	if s.low <= 0 {
		return nil
	}
	s.diskMu.Lock()
	defer s.diskMu.Unlock()
	if now := time.Now(); now.Sub(s.diskAt) >= time.Second {
		u, err := s.gate.GetDiskUsage(s.dir)
		if err != nil {
			return nil // a file system that can't tell is not full
		}
		s.diskAt, s.diskFree = now, u.AvailBytes
	}
	if s.diskFree < uint64(s.low) { //nolint:gosec // positive
		return fmt.Errorf("write store: %w: %d bytes free in %s, store.low_water asks for %d", ErrLowSpace, s.diskFree, s.dir, s.low)
	}
	return nil
}
