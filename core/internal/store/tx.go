package store

import (
	"bytes"
	"slices"

	"github.com/cespare/xxhash/v2"
	"github.com/cockroachdb/pebble/v2"
)

type opKind uint8

const (
	opSet opKind = iota
	opDelete
	opMerge
)

// op is one pending change; key and value lie in the arena. There is at most
// one op per key.
type op struct {
	kind       opKind
	key, keyN  uint32
	val, valN  uint32
	hash       uint64
	nextInHash int32 // next op with the same hash, -1 for none
}

// Tx collects the changes of one Update. It reads its own writes. It is valid
// inside Update's function only and not safe for concurrent use. Keys and
// values are copied.
type Tx struct {
	s        *Store
	arena    []byte
	ops      []op
	byHash   map[uint64]int32
	ranges   [][2][]byte
	counts   map[string]int64
	onCommit []func()
	order    []int32
}

func newTx(s *Store) *Tx {
	return &Tx{s: s, byHash: make(map[uint64]int32), counts: make(map[string]int64)}
}

// Most of a Tx is reused by the next Update, unless one batch made it huge.
// Clearing a map costs what it once held, so a large one is not kept.
const keepArena, keepMap = 8 << 20, 1 << 13

func (tx *Tx) reset() {
	if cap(tx.arena) > keepArena {
		*tx = *newTx(tx.s)
		return
	}
	if len(tx.ops) > keepMap {
		tx.byHash = make(map[uint64]int32)
	}
	tx.arena, tx.ops, tx.order = tx.arena[:0], tx.ops[:0], tx.order[:0]
	clear(tx.byHash)
	clear(tx.counts)
	clear(tx.ranges)
	tx.ranges = tx.ranges[:0]
	clear(tx.onCommit)
	tx.onCommit = tx.onCommit[:0]
}

func (tx *Tx) opKey(o *op) []byte { return tx.arena[o.key : o.key+o.keyN : o.key+o.keyN] }
func (tx *Tx) opVal(o *op) []byte { return tx.arena[o.val : o.val+o.valN : o.val+o.valN] }

func (tx *Tx) find(h uint64, key []byte) *op {
	i, ok := tx.byHash[h]
	for ok && i >= 0 {
		o := &tx.ops[i]
		if bytes.Equal(tx.opKey(o), key) {
			return o
		}
		i = o.nextInHash
	}
	return nil
}

func (tx *Tx) put(b []byte) (uint32, uint32) {
	off := len(tx.arena)
	tx.arena = append(tx.arena, b...)
	return uint32(off), uint32(len(b)) //nolint:gosec // a batch is bounded far below 4 GiB
}

// at returns the pending op of key and whether it was there before.
func (tx *Tx) at(key []byte) (*op, bool) {
	h := xxhash.Sum64(key)
	if o := tx.find(h, key); o != nil {
		return o, true
	}
	next := int32(-1)
	if i, ok := tx.byHash[h]; ok {
		next = i
	}
	o := op{hash: h, nextInHash: next}
	o.key, o.keyN = tx.put(key)
	tx.byHash[h] = int32(len(tx.ops)) //nolint:gosec // bounded
	tx.ops = append(tx.ops, o)
	return &tx.ops[len(tx.ops)-1], false
}

// Set stores value under key.
func (tx *Tx) Set(key, value []byte) {
	o, _ := tx.at(key)
	o.kind = opSet
	o.val, o.valN = tx.put(value)
}

// SetFunc is Set for a value that f appends to what it is given: the value is made
// in place. f must not use the Tx.
func (tx *Tx) SetFunc(key []byte, f func([]byte) []byte) {
	o, _ := tx.at(key)
	n := len(tx.arena)
	tx.arena = f(tx.arena)
	o.kind, o.val, o.valN = opSet, uint32(n), uint32(len(tx.arena)-n) //nolint:gosec // a batch is bounded far below 4 GiB
}

// Delete removes key.
func (tx *Tx) Delete(key []byte) {
	o, _ := tx.at(key)
	o.kind = opDelete
	o.valN = 0
}

// DeleteRange removes all keys k with lo <= k < hi that were stored before
// this Tx. What the Tx itself writes into the range stays, wherever in the Tx
// it was written. The Tx's own Get does not see range deletions.
func (tx *Tx) DeleteRange(lo, hi []byte) {
	tx.ranges = append(tx.ranges, [2][]byte{bytes.Clone(lo), bytes.Clone(hi)})
}

// Merge folds operand into key's value; see merge.go for the key spaces that
// merge. A damaged operand is a bug of the caller and panics.
func (tx *Tx) Merge(key, operand []byte) {
	o, had := tx.at(key)
	switch {
	case had && o.kind == opDelete:
		o.kind = opSet
	case had:
		m, err := mergeValues(key, tx.opVal(o), operand)
		if err != nil {
			panic(err)
		}
		o.val, o.valN = tx.put(m)
		return
	default:
		o.kind = opMerge
	}
	o.val, o.valN = tx.put(operand)
}

// Count adds n to the named counter.
func (tx *Tx) Count(name string, n int64) {
	if n != 0 {
		tx.counts[name] += n
	}
}

// OnCommit runs f when the batch is applied, before another Update starts.
func (tx *Tx) OnCommit(f func()) { tx.onCommit = append(tx.onCommit, f) }

// Get returns the value of key as this Tx would leave it, or nil. The caller
// owns the result; an empty value is non-nil.
func (tx *Tx) Get(key []byte) ([]byte, error) {
	o := tx.find(xxhash.Sum64(key), key)
	if o != nil && o.kind == opSet {
		return append(make([]byte, 0, o.valN), tx.opVal(o)...), nil
	}
	if o != nil && o.kind == opDelete {
		return nil, nil
	}
	v, err := tx.s.Get(key)
	if err != nil || o == nil {
		return v, err
	}
	if v == nil {
		return bytes.Clone(tx.opVal(o)), nil
	}
	return mergeValues(key, v, tx.opVal(o))
}

// Store returns the store that the Tx changes, for reads of what was there
// before the Tx.
func (tx *Tx) Store() *Store { return tx.s }

// Len returns the number of changed keys.
func (tx *Tx) Len() int { return len(tx.ops) }

// Size returns the bytes of the changes so far, replaced values included.
func (tx *Tx) Size() int { return len(tx.arena) }

func (tx *Tx) empty() bool { return len(tx.ops) == 0 && len(tx.ranges) == 0 }

// batch builds the Pebble batch: range deletions, then point changes in key
// order (sorted inserts are about twice as cheap).
func (tx *Tx) batch() (*pebble.Batch, error) {
	for name, n := range tx.counts {
		if n != 0 {
			tx.Merge(Key(PrefixCounter, name), AppendCounts(nil, Count{0, n}))
		}
	}
	b := tx.s.db.NewBatchWithSize(len(tx.arena) + 16*len(tx.ops) + 64)
	for _, r := range tx.ranges {
		if err := b.DeleteRange(r[0], r[1], nil); err != nil {
			return nil, err
		}
	}
	for i := range tx.ops {
		tx.order = append(tx.order, int32(i)) //nolint:gosec // bounded
	}
	slices.SortFunc(tx.order, func(i, j int32) int {
		return bytes.Compare(tx.opKey(&tx.ops[i]), tx.opKey(&tx.ops[j]))
	})
	for _, i := range tx.order {
		o := &tx.ops[i]
		var err error
		switch o.kind {
		case opSet:
			err = b.Set(tx.opKey(o), tx.opVal(o), nil)
		case opDelete:
			err = b.Delete(tx.opKey(o), nil)
		case opMerge:
			err = b.Merge(tx.opKey(o), tx.opVal(o), nil)
		}
		if err != nil {
			return nil, err
		}
	}
	return b, nil
}
