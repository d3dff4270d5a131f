package crawldb

import (
	"context"

	"github.com/gonutch/crawler/core/internal/store"
	"github.com/gonutch/crawler/core/internal/urlkey"
)

// DirtyForIndex calls f for every key marked by IndexDirty, in key order, until
// f fails. It sees the marks as of the call.
func (db *DB) DirtyForIndex(ctx context.Context, f func(urlkey.Key) error) error {
	return store.Each(ctx, db.s, []byte{store.PrefixIndexDirty}, func(k, _ []byte) error { return f(keyAfter(k, 1)) })
}

// DocState returns what the index holds of key, or nil.
func (db *DB) DocState(key urlkey.Key) (*DocState, error) {
	k := store.Key(store.PrefixDocState, key)
	v, err := db.s.Get(k)
	if err != nil || v == nil {
		return nil, err
	}
	return decodeDocState(k, v)
}

// EachDocState calls f with everything the index holds, in key order, until f
// fails.
func (db *DB) EachDocState(ctx context.Context, f func(urlkey.Key, *DocState) error) error {
	return store.Each(ctx, db.s, []byte{store.PrefixDocState}, func(k, v []byte) error {
		s, err := decodeDocState(k, v)
		if err != nil {
			return err
		}
		return f(keyAfter(k, 1), s)
	})
}

// DocState is what the index holds of a page.
type DocState struct {
	Hash    []byte   // of the document as it was sent
	Segment string   // segment the document was made from
	Writers []string // that have it
}

const docStateVersion = 1

// ClearIndexDirty removes the mark set by IndexDirty.
func (tx *Tx) ClearIndexDirty(key urlkey.Key) { tx.Tx.Delete(store.Key(store.PrefixIndexDirty, key)) }

// SetDocState stores what the index holds of key; nil says that it holds nothing.
func (tx *Tx) SetDocState(key urlkey.Key, s *DocState) {
	k := store.Key(store.PrefixDocState, key)
	if s == nil {
		tx.Tx.Delete(k)
		return
	}
	b := store.AppendText([]byte{docStateVersion}, s.Hash)
	b = store.AppendText(b, s.Segment)
	b = store.AppendUint(b, uint64(len(s.Writers)))
	for _, w := range s.Writers {
		b = store.AppendText(b, w)
	}
	tx.Tx.Set(k, b)
}

// DocState returns what the index holds of key, or nil.
func (tx *Tx) DocState(key urlkey.Key) (*DocState, error) {
	k := store.Key(store.PrefixDocState, key)
	v, err := tx.Tx.Get(k)
	if err != nil || v == nil {
		return nil, err
	}
	return decodeDocState(k, v)
}

func decodeDocState(k, v []byte) (*DocState, error) {
	d, _ := store.NewDecoder(v, docStateVersion)
	s := &DocState{Hash: d.Blob(), Segment: d.Text()}
	for range d.Count(1) {
		s.Writers = append(s.Writers, d.Text())
	}
	return s, d.Finish(k)
}
