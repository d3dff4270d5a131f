package crawldb

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gonutch/crawler/core/internal/store"
	"github.com/gonutch/crawler/core/internal/urlkey"
	"github.com/gonutch/crawler/sdk/model"
)

// DocState is what is known of a page's document in each index writer, by the
// writers' names. A writer without an entry holds nothing of the page.
type DocState struct {
	Writers []WriterState
}

// WriterState is one writer's part.
type WriterState struct {
	Name string
	// Held says that the writer has a document of the page, or may have one: an
	// operation whose end is not known was sent.
	Held    bool
	Hash    []byte // of the document it acknowledged, as mapped for it; nil when that is not known
	Segment string // the document was made from
	// Pending says that the writer still has to be sent something, and Why what
	// kept it from being sent, when there was a reason.
	Pending bool
	Why     string
	Refused *Refusal // the last operation was refused for good; nil when it was not
}

// Refusal is an operation that a writer refused for good.
type Refusal struct {
	At      time.Time
	Reason  string
	Hash    []byte // of the document; nil for a delete
	Segment string
}

// Writer returns the entry of the writer called name, or an empty one. It works
// on nil, too.
func (s *DocState) Writer(name string) WriterState {
	if s != nil {
		for _, w := range s.Writers {
			if w.Name == name {
				return w
			}
		}
	}
	return WriterState{Name: name}
}

// With returns a state in which w is the entry of its writer. An entry that says
// nothing is left out. The receiver, which may be nil, is not changed.
func (s *DocState) With(w WriterState) *DocState {
	out := &DocState{}
	if s != nil {
		for _, o := range s.Writers {
			if o.Name != w.Name {
				out.Writers = append(out.Writers, o)
			}
		}
	}
	if w.Held || w.Pending || w.Refused != nil {
		out.Writers = append(out.Writers, w)
		slices.SortFunc(out.Writers, func(a, b WriterState) int { return strings.Compare(a.Name, b.Name) })
	}
	return out
}

const docStateVersion = 2

const (
	flagHeld = 1 << iota
	flagPending
	flagRefused
)

func encodeDocState(s *DocState) []byte {
	b := store.AppendUint([]byte{docStateVersion}, uint64(len(s.Writers)))
	for _, w := range s.Writers {
		var flags uint64
		if w.Held {
			flags |= flagHeld
		}
		if w.Pending {
			flags |= flagPending
		}
		if w.Refused != nil {
			flags |= flagRefused
		}
		b = store.AppendText(b, w.Name)
		b = store.AppendUint(b, flags)
		b = store.AppendText(b, w.Hash)
		b = store.AppendText(b, w.Segment)
		b = store.AppendText(b, w.Why)
		if r := w.Refused; r != nil {
			b = store.AppendTime(b, r.At)
			b = store.AppendText(b, r.Reason)
			b = store.AppendText(b, r.Hash)
			b = store.AppendText(b, r.Segment)
		}
	}
	return b
}

func decodeDocState(k, v []byte) (*DocState, error) {
	d, version := store.NewDecoder(v, docStateVersion)
	s := &DocState{}
	if version == 1 { // one hash of the document before mapping: to be sent once more
		d.Blob()
		seg := d.Text()
		for range d.Count(1) {
			s.Writers = append(s.Writers, WriterState{Name: d.Text(), Held: true, Segment: seg})
		}
		return s, d.Finish(k)
	}
	for range d.Count(5) {
		w := WriterState{Name: d.Text()}
		flags := d.Uint()
		w.Held, w.Pending = flags&flagHeld != 0, flags&flagPending != 0
		w.Hash, w.Segment, w.Why = some(d.Blob()), d.Text(), d.Text()
		if flags&flagRefused != 0 {
			w.Refused = &Refusal{At: d.Time(), Reason: d.Text(), Hash: some(d.Blob()), Segment: d.Text()}
		}
		s.Writers = append(s.Writers, w)
	}
	return s, d.Finish(k)
}

func some(b []byte) []byte {
	if len(b) == 0 {
		return nil
	}
	return b
}

// DocState returns what the writers hold of key, or nil.
func (db *DB) DocState(key urlkey.Key) (*DocState, error) {
	k := store.Key(store.PrefixDocState, key)
	v, err := db.s.Get(k)
	if err != nil || v == nil {
		return nil, err
	}
	return decodeDocState(k, v)
}

// EachDocState calls f with everything the writers hold, in key order, until f
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

// DocState returns what the writers hold of key, or nil.
func (tx *Tx) DocState(key urlkey.Key) (*DocState, error) {
	k := store.Key(store.PrefixDocState, key)
	v, err := tx.Tx.Get(k)
	if err != nil || v == nil {
		return nil, err
	}
	return decodeDocState(k, v)
}

// SetDocState stores what the writers hold of key; nil says that they hold
// nothing. The lists of what is pending and refused, and the counts, follow.
func (tx *Tx) SetDocState(key urlkey.Key, s *DocState) error {
	old, err := tx.DocState(key)
	if err != nil {
		return err
	}
	if old != nil {
		for _, w := range old.Writers {
			tx.relist(key, w, s.Writer(w.Name))
		}
	}
	if s != nil {
		for _, w := range s.Writers {
			if before := old.Writer(w.Name); before.counts() == [3]int64{} {
				tx.relist(key, before, w)
			}
		}
	}
	k := store.Key(store.PrefixDocState, key)
	if s == nil || len(s.Writers) == 0 {
		tx.Tx.Delete(k)
		return nil
	}
	tx.Tx.Set(k, encodeDocState(s))
	return nil
}

// counts are what an entry adds to the writer's counts: held, pending, refused.
func (w *WriterState) counts() [3]int64 {
	n := func(b bool) int64 {
		if b {
			return 1
		}
		return 0
	}
	return [3]int64{n(w.Held && !w.Pending), n(w.Pending), n(w.Refused != nil)}
}

// relist moves key between the lists of a writer.
func (tx *Tx) relist(key urlkey.Key, before, now WriterState) {
	mark := func(prefix byte, was, is bool) {
		k := store.Key2(prefix, before.Name, key)
		switch {
		case is && !was:
			tx.Tx.Set(k, []byte{})
		case was && !is:
			tx.Tx.Delete(k)
		}
	}
	mark(store.PrefixPending, before.Pending, now.Pending)
	mark(store.PrefixRefused, before.Refused != nil, now.Refused != nil)
	a, b := before.counts(), now.counts()
	var delta []store.Count
	for i := range a {
		if b[i] != a[i] {
			delta = append(delta, store.Count{ID: uint64(i), N: b[i] - a[i]})
		}
	}
	if delta != nil {
		tx.Tx.Merge(docCounter(before.Name), store.AppendCounts(nil, delta...))
	}
}

const docCounterPrefix = "crawldb.docs/"

func docCounter(writer string) []byte { return store.Key(store.PrefixCounter, docCounterPrefix+writer) }

// DocCounts counts a writer's documents.
type DocCounts struct {
	Held    int64 `json:"held"`    // acknowledged by the writer
	Pending int64 `json:"pending"` // to be sent to it
	Refused int64 `json:"refused"` // by it, in the version it should have
}

// DocCounts returns the counts of every writer that has or had documents.
func (db *DB) DocCounts(ctx context.Context) (map[string]DocCounts, error) {
	out := map[string]DocCounts{}
	err := store.Each(ctx, db.s, store.Key(store.PrefixCounter, docCounterPrefix), func(k, v []byte) error {
		cs, err := store.DecodeCounts(k, v)
		if err != nil {
			return err
		}
		var c DocCounts
		for _, x := range cs {
			switch x.ID {
			case 0:
				c.Held = x.N
			case 1:
				c.Pending = x.N
			case 2:
				c.Refused = x.N
			}
		}
		if c != (DocCounts{}) {
			out[string(k[1+len(docCounterPrefix):])] = c
		}
		return nil
	})
	return out, err
}

// PendingFor calls f for every key of which the writer still has to be sent
// something, in key order, until f fails. It sees the list as of the call.
func (db *DB) PendingFor(ctx context.Context, writer string, f func(urlkey.Key) error) error {
	return db.eachOf(ctx, store.PrefixPending, writer, f)
}

// RefusedBy calls f for every key of which the writer refused something, in key
// order, until f fails. It sees the list as of the call.
func (db *DB) RefusedBy(ctx context.Context, writer string, f func(urlkey.Key) error) error {
	return db.eachOf(ctx, store.PrefixRefused, writer, f)
}

func (db *DB) eachOf(ctx context.Context, prefix byte, writer string, f func(urlkey.Key) error) error {
	head := store.Key2(prefix, writer, "")
	return store.Each(ctx, db.s, head, func(k, _ []byte) error { return f(keyAfter(k, len(head))) })
}

// changeStates changes the entries of writer in portions, for those keys that
// walk goes through; change says whether there is anything to change.
func (db *DB) changeStates(ctx context.Context, walk func(func(urlkey.Key) error) error, change func(*DocState) (*DocState, bool)) (int64, error) {
	var keys []urlkey.Key
	var n int64
	flush := func() error {
		defer func() { keys = keys[:0] }()
		return db.Update(ctx, func(tx *Tx) error {
			for _, k := range keys {
				s, err := tx.DocState(k)
				if err != nil {
					return err
				}
				now, ok := change(s)
				if !ok {
					continue
				}
				if err := tx.SetDocState(k, now); err != nil {
					return err
				}
				n++
			}
			return nil
		})
	}
	err := walk(func(k urlkey.Key) error {
		if keys = append(keys, k); len(keys) < 1000 {
			return nil
		}
		return flush()
	})
	if err == nil && len(keys) > 0 {
		err = flush()
	}
	return n, err
}

// MarkAll makes every page that has or may have a document pending for the
// writer, whatever it holds, and returns how many there are.
func (db *DB) MarkAll(ctx context.Context, writer string) (int64, error) {
	n, err := db.changeStates(ctx, func(f func(urlkey.Key) error) error {
		err := db.Scan(ctx, "", func(k urlkey.Key, r *Record) error {
			if r.Datum.Segment == "" || r.Datum.Status == model.StatusDBUnfetched {
				return nil
			}
			return f(k)
		})
		if err != nil {
			return err
		}
		// And what else the writers hold: of pages that are no more or are to be retried.
		return db.EachDocState(ctx, func(k urlkey.Key, s *DocState) error {
			if w := s.Writer(writer); w.Pending {
				return nil
			}
			return f(k)
		})
	}, func(s *DocState) (*DocState, bool) {
		w := s.Writer(writer)
		if w.Pending && w.Hash == nil && w.Refused == nil {
			return nil, false
		}
		w.Pending, w.Why, w.Hash, w.Refused = true, "", nil, nil
		return s.With(w), true
	})
	if err != nil {
		return n, fmt.Errorf("mark all pages for writer %s: %w", writer, err)
	}
	return n, nil
}

// RetryRefused makes everything that the writer refused pending again.
func (db *DB) RetryRefused(ctx context.Context, writer string) (int64, error) {
	return db.changeStates(ctx, func(f func(urlkey.Key) error) error { return db.RefusedBy(ctx, writer, f) }, func(s *DocState) (*DocState, bool) {
		w := s.Writer(writer)
		w.Pending, w.Why, w.Refused = true, "", nil
		return s.With(w), true
	})
}

// ForgetWriter drops everything known of a writer's documents, and the writer.
func (db *DB) ForgetWriter(ctx context.Context, writer string) (int64, error) {
	n, err := db.changeStates(ctx, func(f func(urlkey.Key) error) error {
		return db.EachDocState(ctx, func(k urlkey.Key, s *DocState) error {
			if w := s.Writer(writer); w.counts() == [3]int64{} && !w.Held {
				return nil
			}
			return f(k)
		})
	}, func(s *DocState) (*DocState, bool) { return s.With(WriterState{Name: writer}), true })
	if err != nil {
		return n, err
	}
	return n, db.Update(ctx, func(tx *Tx) error {
		tx.Tx.Delete(writerKey(writer))
		return nil
	})
}

// WriterInfo is what is known of an index writer itself.
type WriterInfo struct {
	Since    time.Time // it was first used
	Plugin   string
	Params   []byte    // hash of its parameters
	Complete bool      // it was sent every document; false for one that came later
	Reindex  time.Time // when the reindex that is not done yet began; zero when there is none
	Marked   bool      // of the reindex: every page is marked
	Down     time.Time // since when it takes nothing; zero while it does
	Mapping  []byte    // hash of its mapping; nil when it is not known
	Remapped bool      // the mapping changed since the writer was sent every document
}

const writerInfoVersion = 2

func writerKey(name string) []byte { return store.Key(store.PrefixMeta, "indexwriter/"+name) }

// WriterInfo returns what is known of the writer, or nil.
func (db *DB) WriterInfo(name string) (*WriterInfo, error) {
	k := writerKey(name)
	v, err := db.s.Get(k)
	if err != nil || v == nil {
		return nil, err
	}
	d, version := store.NewDecoder(v, writerInfoVersion)
	w := &WriterInfo{Since: d.Time(), Plugin: d.Text(), Params: d.Blob(), Reindex: d.Time()}
	flags := d.Uint()
	w.Complete, w.Marked, w.Remapped = flags&1 != 0, flags&2 != 0, flags&4 != 0
	if version > 1 {
		w.Down, w.Mapping = d.Time(), some(d.Blob())
	}
	return w, d.Finish(k)
}

// SetWriterInfo stores what is known of the writer.
func (db *DB) SetWriterInfo(ctx context.Context, name string, w *WriterInfo) error {
	var flags uint64
	if w.Complete {
		flags |= 1
	}
	if w.Marked {
		flags |= 2
	}
	if w.Remapped {
		flags |= 4
	}
	b := store.AppendTime([]byte{writerInfoVersion}, w.Since)
	b = store.AppendText(b, w.Plugin)
	b = store.AppendText(b, w.Params)
	b = store.AppendTime(b, w.Reindex)
	b = store.AppendUint(b, flags)
	b = store.AppendTime(b, w.Down)
	b = store.AppendText(b, w.Mapping)
	return db.Update(ctx, func(tx *Tx) error {
		tx.Tx.Set(writerKey(name), b)
		return nil
	})
}

// sameHash reports whether a and b are the hash of one document; nil is of none.
func sameHash(a, b []byte) bool { return len(a) > 0 && bytes.Equal(a, b) }

// Has reports whether the writer acknowledged the document of that hash and
// nothing came after it.
func (w *WriterState) Has(hash []byte) bool { return w.Held && sameHash(w.Hash, hash) }

// Refuses reports whether the writer refused the document of that hash.
func (w *WriterState) Refuses(hash []byte) bool {
	return w.Refused != nil && sameHash(w.Refused.Hash, hash)
}
