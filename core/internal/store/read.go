package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
)

// Get returns a copy of the value of key, or nil when there is none.
func (s *Store) Get(key []byte) ([]byte, error) { return get(s.db, key) }

func get(r pebble.Reader, key []byte) ([]byte, error) {
	v, closer, err := r.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read store: key %q: %w", key, err)
	}
	out := append(make([]byte, 0, len(v)), v...)
	return out, closer.Close()
}

// View calls f with the value of key and reports whether there is one. The
// value is valid during the call only.
func (s *Store) View(key []byte, f func(value []byte) error) (bool, error) {
	v, closer, err := s.db.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read store: key %q: %w", key, err)
	}
	return true, errors.Join(f(v), closer.Close())
}

// Has reports whether key is there.
func (s *Store) Has(key []byte) (bool, error) {
	_, closer, err := s.db.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read store: key %q: %w", key, err)
	}
	return true, closer.Close()
}

// Snapshot returns a view that later Updates don't change; close it soon, it
// keeps deleted data on disk.
func (s *Store) Snapshot() (*Snapshot, error) {
	var snap *pebble.Snapshot
	err := s.guard(func() error { snap = s.db.NewSnapshot(); return nil })
	if err != nil {
		return nil, err
	}
	return &Snapshot{snap}, nil
}

// Snapshot is a frozen view of the store, safe for concurrent use.
type Snapshot struct{ snap *pebble.Snapshot }

// Get is Store.Get as of the snapshot.
func (s *Snapshot) Get(key []byte) ([]byte, error) { return get(s.snap, key) }

// Iter is Store.Iter as of the snapshot.
func (s *Snapshot) Iter(lo, hi []byte) (*Iter, error) { return newIter(s.snap, lo, hi) }

// Close frees the snapshot.
func (s *Snapshot) Close() error { return s.snap.Close() }

// Reader is what Store and Snapshot have in common.
type Reader interface {
	Get(key []byte) ([]byte, error)
	Iter(lo, hi []byte) (*Iter, error)
}

// Iter returns an iterator over the keys k with lo <= k < hi, as of now.
func (s *Store) Iter(lo, hi []byte) (*Iter, error) { return newIter(s.db, lo, hi) }

// Iter walks keys in order. Start with First or Seek. Key and Value are valid
// until the next move. Not safe for concurrent use.
type Iter struct{ it *pebble.Iterator }

func newIter(r pebble.Reader, lo, hi []byte) (*Iter, error) {
	it, err := r.NewIter(&pebble.IterOptions{LowerBound: bytes.Clone(lo), UpperBound: bytes.Clone(hi)})
	if err != nil {
		return nil, fmt.Errorf("read store: %w", err)
	}
	return &Iter{it}, nil
}

// First moves to the first key and reports whether there is one.
func (i *Iter) First() bool { return i.it.First() }

// Last moves to the last key and reports whether there is one.
func (i *Iter) Last() bool { return i.it.Last() }

// Next moves on and reports whether there is a key.
func (i *Iter) Next() bool { return i.it.Next() }

// Seek moves to the first key >= key and reports whether there is one.
func (i *Iter) Seek(key []byte) bool { return i.it.SeekGE(key) }

// Valid reports whether the iterator is at a key.
func (i *Iter) Valid() bool { return i.it.Valid() }

// Key returns the present key.
func (i *Iter) Key() []byte { return i.it.Key() }

// Value returns the present value, or nil after a failure that Close returns.
func (i *Iter) Value() []byte {
	v, err := i.it.ValueAndErr()
	if err != nil {
		return nil
	}
	return v
}

// Close frees the iterator and returns the first failure of any call.
func (i *Iter) Close() error {
	if err := i.it.Close(); err != nil {
		return fmt.Errorf("read store: %w", err)
	}
	return nil
}

// Each calls f for every key that starts with prefix, in order, until f fails.
// Key and value are valid during the call only.
func Each(ctx context.Context, r Reader, prefix []byte, f func(key, value []byte) error) (err error) {
	it, err := r.Iter(prefix, After(prefix))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	n := 0
	for ok := it.First(); ok; ok = it.Next() {
		if n++; n%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := f(it.Key(), it.Value()); err != nil {
			return err
		}
	}
	return nil
}

// DiskUsage estimates the bytes that the files hold of the keys k with lo <= k < hi.
func (s *Store) DiskUsage(lo, hi []byte) (int64, error) {
	n, err := s.db.EstimateDiskUsage(lo, hi)
	if err != nil {
		return 0, fmt.Errorf("read store: %w", err)
	}
	return int64(n), nil //nolint:gosec // far below
}

// Counters returns every named counter.
func (s *Store) Counters(ctx context.Context) (map[string]int64, error) {
	m := make(map[string]int64)
	err := Each(ctx, s, []byte{PrefixCounter}, func(k, v []byte) error {
		cs, err := DecodeCounts(k, v)
		if err != nil {
			return err
		}
		for _, c := range cs {
			m[string(k[1:])] += c.N
		}
		return nil
	})
	return m, err
}

var (
	_ Reader = (*Store)(nil)
	_ Reader = (*Snapshot)(nil)
)
