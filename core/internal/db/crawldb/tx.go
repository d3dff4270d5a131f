package crawldb

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gonutch/crawler/core/internal/segment"
	"github.com/gonutch/crawler/core/internal/store"
	"github.com/gonutch/crawler/core/internal/urlkey"
	"github.com/gonutch/crawler/sdk/manifest"
	"github.com/gonutch/crawler/sdk/model"
)

// Tx is one Update of the CrawlDB. The embedded store.Tx is for the other
// databases that change in the same batch (linkdb, hostdb, segment); its Get,
// Set and Delete take raw store keys and are called as tx.Tx.Set. A Tx is valid
// inside Update's function only and not safe for concurrent use.
type Tx struct {
	*store.Tx
	db       *DB
	entries  map[urlkey.Key]*entry
	order    []*entry
	effects  map[urlkey.Key]*store.Operand
	slab     []entry
	operands []store.Operand
	fields   []store.FieldEffect
	buf, key []byte
	noDedup  bool // Dedup's own changes don't make groups dirty again
}

// entry is what the Tx knows of one record.
type entry struct {
	key      urlkey.Key
	loaded   bool
	had      bool   // the record was stored before
	old      Record // as stored before; shares maps with what Get returned
	rec      *Record
	changed  bool   // rec is to be stored, or deleted when nil
	leased   string // segment it is leased to by this Tx
	unleased string
}

func newTx(db *DB, raw *store.Tx) *Tx {
	return &Tx{Tx: raw, db: db, entries: make(map[urlkey.Key]*entry)}
}

func (tx *Tx) entry(key urlkey.Key) *entry {
	if e, ok := tx.entries[key]; ok {
		return e
	}
	if len(tx.slab) == 0 {
		tx.slab = make([]entry, 32)
	}
	e := &tx.slab[0]
	tx.slab = tx.slab[1:]
	e.key = key
	tx.entries[key] = e
	tx.order = append(tx.order, e)
	return e
}

// load reads what is stored of e, once.
func (tx *Tx) load(e *entry) error {
	if e.loaded {
		return nil
	}
	tx.key = append(append(tx.key[:0], store.PrefixRecord), e.key...)
	had, err := tx.Store().View(tx.key, func(v []byte) error { return decodeRecord(tx.key, v, &e.old) })
	if err != nil {
		return err
	}
	e.loaded, e.had = true, had
	return nil
}

// Load reads the records of keys, in whatever order, and costs less than a Get
// of each. Keys that were read before are passed over.
func (tx *Tx) Load(keys []urlkey.Key) (err error) {
	var es []*entry
	for _, k := range keys {
		if e := tx.entry(k); !e.loaded {
			es = append(es, e)
		}
	}
	if len(es) == 0 {
		return nil
	}
	slices.SortFunc(es, func(a, b *entry) int { return strings.Compare(string(a.key), string(b.key)) })
	recs, err := tx.db.records()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, recs.Close()) }()
	for _, e := range es {
		tx.key = append(append(tx.key[:0], store.PrefixRecord), e.key...)
		if at(recs, tx.key) {
			if err := decodeRecord(tx.key, recs.Value(), &e.old); err != nil {
				return err
			}
			e.had = true
		}
		e.loaded = true
	}
	return nil
}

// records returns an iterator over all records.
func (db *DB) records() (*store.Iter, error) {
	return db.s.Iter([]byte{store.PrefixRecord}, []byte{store.PrefixRecord + 1})
}

// at moves it to key and reports whether it is there.
func at(it *store.Iter, key []byte) bool { return it.Seek(key) && bytes.Equal(it.Key(), key) }

// preload tells the Tx what is stored of key, when the caller has just read it
// under the writer lock.
func (tx *Tx) preload(key urlkey.Key, old *Record) *entry {
	e := tx.entry(key)
	e.loaded = true
	if old != nil {
		e.had, e.old = true, *old
	}
	return e
}

// Get returns the record of key as this Tx would leave it, or nil when it is
// unknown. The record is the Tx's own: change it and Put it.
func (tx *Tx) Get(key urlkey.Key) (*Record, error) {
	e := tx.entry(key)
	if e.changed || e.rec != nil {
		return e.rec, nil
	}
	if err := tx.load(e); err != nil {
		return nil, err
	}
	if e.had {
		rec := e.old // flush needs none of the shared maps
		e.rec = &rec
	}
	return e.rec, nil
}

// Put stores rec under key and keeps every index and counter in step. rec
// belongs to the Tx from now on.
func (tx *Tx) Put(key urlkey.Key, rec *Record) {
	e := tx.entry(key)
	e.rec, e.changed = rec, true
}

// Delete removes the record of key with all that is derived from it, its lease
// and its pending effects. Deleting an unknown key does nothing.
func (tx *Tx) Delete(key urlkey.Key) {
	e := tx.entry(key)
	e.rec, e.changed = nil, true
	if seg := tx.db.leasedIn(key); seg != "" && e.unleased == "" {
		tx.Unlease(seg, key)
	}
	delete(tx.effects, key)
	tx.Tx.Delete(store.Key(store.PrefixEffect, key))
}

// Lease reports whether key is still leased in seg, as this Tx would leave it.
func (tx *Tx) Lease(seg string, key urlkey.Key) bool {
	if e, ok := tx.entries[key]; ok && (e.unleased != "" || e.leased != "") {
		return e.leased == seg && seg != ""
	}
	return tx.db.leasedIn(key) == seg && seg != ""
}

// Unlease ends the lease of key in seg. Its record, stored or Put in this Tx,
// is placed in an index again. Nothing happens when key is not leased in seg, or only by
// this Tx.
func (tx *Tx) Unlease(seg string, key urlkey.Key) {
	if !tx.Lease(seg, key) || tx.entry(key).leased != "" {
		return
	}
	tx.entry(key).unleased = seg
	tx.Tx.Delete(leaseKey(seg, key))
}

// AddLease hands key out in seg beside the fetch list that Generate made: the
// target of a redirect that is followed at once. Its record must be known,
// stored or Put in this Tx, and not be leased; else nothing happens. The fetch
// list shows the record with e applied, which the record itself gets by Tx.Effect
// and Fold. It reports whether the lease was given.
func (tx *Tx) AddLease(seg string, key urlkey.Key, e Effect) (bool, error) {
	rec, err := tx.Get(key)
	if err != nil || rec == nil {
		return false, err
	}
	ent := tx.entry(key)
	if ent.leased != "" || tx.db.leasedIn(key) != "" {
		return false, nil
	}
	ent.leased = seg
	tx.Tx.Set(leaseKey(seg, key), nil)
	tx.Tx.Set(segment.PartKey(seg, segment.PartGenerate, key), appendHint(nil, tx.with(rec, e)))
	segment.AddCounts(tx.Tx, seg, segment.Counts{Generated: 1})
	tx.OnCommit(func() {
		tx.db.mu.Lock()
		defer tx.db.mu.Unlock()
		tx.db.addLease(seg, key)
	})
	return true, nil
}

// with returns rec with the fields of e reduced into its own.
func (tx *Tx) with(rec *Record, e Effect) *Record {
	if len(e.Fields) == 0 {
		return rec
	}
	var o store.Operand
	for name, v := range e.Fields {
		tx.addField(&o, name, v, e.Source)
	}
	out := *rec
	out.Datum.Fields = maps.Clone(rec.Datum.Fields)
	for i := range o.Fields {
		f := &o.Fields[i]
		present, has := out.Datum.Fields[f.Name]
		setField(&out, f.Name, f.Reduce(present, has))
	}
	return &out
}

// IndexDirty marks key for the next index step.
func (tx *Tx) IndexDirty(key urlkey.Key) { tx.Tx.Set(store.Key(store.PrefixIndexDirty, key), nil) }

// Effect is what a page does to another record, or to itself.
type Effect struct {
	Fields   model.Fields   // values by field; merged by the field's reducer
	Source   urlkey.Key     // the page; decides "first"
	Metadata model.Metadata // for a record that the CrawlDB does not know yet; of the smallest source
}

// Effect merges e into what target is waiting for; the next Fold applies it. A
// target that the CrawlDB does not know is made by that Fold. target is not read.
func (tx *Tx) Effect(target urlkey.Key, e Effect) {
	o := tx.operand(target)
	for name, v := range e.Fields {
		tx.addField(o, name, v, e.Source)
	}
	tx.addMetadata(o, e.Source, e.Metadata)
}

// Pending reports whether key has effects that are not folded yet, this Tx's included.
func (tx *Tx) Pending(key urlkey.Key) (bool, error) {
	if _, ok := tx.effects[key]; ok {
		return true, nil
	}
	return tx.Store().Has(store.Key(store.PrefixEffect, key))
}

// AddEffects merges effects that another CrawlDB has collected into what target is waiting for.
func (tx *Tx) AddEffects(target urlkey.Key, o *store.Operand) { tx.operand(target).Merge(o) }

// Column is one field's values for many targets, as in scoring.Column.
type Column struct {
	Field  string
	Values []int64
}

// Effects is Effect for all targets of one page: value i of each column and
// metadata i (which may be nil as a whole) are for target i. Columns must be as
// long as targets.
func (tx *Tx) Effects(source urlkey.Key, targets []urlkey.Key, columns []Column, metadata []model.Metadata) error {
	for _, c := range columns {
		if len(c.Values) != len(targets) {
			return fmt.Errorf("effects of %s: field %s has %d values for %d targets", source, c.Field, len(c.Values), len(targets))
		}
	}
	if metadata != nil && len(metadata) != len(targets) {
		return fmt.Errorf("effects of %s: %d metadata for %d targets", source, len(metadata), len(targets))
	}
	for i, t := range targets {
		o := tx.operand(t)
		for _, c := range columns {
			tx.addField(o, c.Field, c.Values[i], source)
		}
		if metadata != nil {
			tx.addMetadata(o, source, metadata[i])
		}
	}
	return nil
}

// Rescore lets the next Fold score key although nothing changes its fields.
func (tx *Tx) Rescore(key urlkey.Key) { tx.operand(key) }

func (tx *Tx) operand(target urlkey.Key) *store.Operand {
	if o, ok := tx.effects[target]; ok {
		return o
	}
	if tx.effects == nil {
		tx.effects = make(map[urlkey.Key]*store.Operand, 64)
	}
	if len(tx.operands) == 0 {
		tx.operands = make([]store.Operand, 64)
	}
	o := &tx.operands[0]
	tx.operands = tx.operands[1:]
	tx.effects[target] = o
	return o
}

func (tx *Tx) addField(o *store.Operand, name string, v int64, source urlkey.Key) {
	r, ok := tx.db.o.Reducers[name]
	if !ok {
		r = manifest.Add
	}
	f := store.FieldEffect{Name: name, Reducer: r, Value: v}
	if r == manifest.First {
		f.Source = string(source)
	}
	if o.Fields == nil { // most operands have one or two fields; give them room from a slab
		const room = 2
		if len(tx.fields) < room {
			tx.fields = make([]store.FieldEffect, 64*room)
		}
		o.Fields = tx.fields[:0:room]
		tx.fields = tx.fields[room:]
	}
	o.Add(f)
}

func (tx *Tx) addMetadata(o *store.Operand, source urlkey.Key, m model.Metadata) {
	if len(m) > 0 {
		o.Merge(&store.Operand{Source: string(source), Metadata: m})
	}
}

// flush turns what the Tx knows into changes of the store.
func (tx *Tx) flush() error {
	slices.SortFunc(tx.order, func(a, b *entry) int { return strings.Compare(string(a.key), string(b.key)) })
	t := tally{retry: make(map[int]int64)}
	for _, e := range tx.order {
		if !e.changed && e.unleased == "" && e.leased == "" {
			continue
		}
		if err := tx.load(e); err != nil {
			return err
		}
		if err := tx.flushEntry(e, &t); err != nil {
			return err
		}
	}
	t.flush(tx)
	for target, o := range tx.effects {
		tx.buf = o.Append(tx.buf[:0])
		tx.key = append(append(tx.key[:0], store.PrefixEffect), target...)
		tx.Tx.Merge(tx.key, tx.buf)
	}
	tx.notify()
	return nil
}

func (tx *Tx) flushEntry(e *entry, t *tally) error {
	db := tx.db
	rec := e.rec
	if !e.changed && e.had { // only its lease ended
		rec = &e.old
	}
	if rec == nil && !e.had && e.unleased == "" {
		return nil
	}
	seg := db.leasedIn(e.key)
	wasLeased, isLeased := seg != "", seg != "" && e.unleased == "" || e.leased != ""
	if rec == nil && isLeased {
		return errors.New("a deleted record is still leased")
	}
	var oldIndex, newIndex []byte
	if e.had && !wasLeased {
		oldIndex = db.indexKey(e.key, &e.old)
	}
	if rec != nil && !isLeased {
		newIndex = db.indexKey(e.key, rec)
	}
	if oldIndex != nil && !sameBytes(oldIndex, newIndex) {
		tx.Tx.Delete(oldIndex)
	}
	if newIndex != nil {
		tx.buf = appendHint(tx.buf[:0], rec)
		db.place(tx.Tx, newIndex, tx.buf)
	}
	if e.changed {
		tx.key = append(append(tx.key[:0], store.PrefixRecord), e.key...)
		if rec != nil {
			tx.buf = appendRecord(tx.buf[:0], rec)
			tx.Tx.Set(tx.key, tx.buf)
		} else if e.had {
			tx.Tx.Delete(tx.key)
		}
		tx.flushSignature(e, rec)
		host := hostOf(e.key)
		var was, is string
		if e.had {
			t.add(tx, host, &e.old, -1)
			was = e.old.Datum.Segment
		}
		if rec != nil {
			t.add(tx, host, rec, +1)
			is = rec.Datum.Segment
		}
		t.countSegment(was, is)
	}
	if e.unleased != "" {
		h := urlkey.Hash128(e.key)
		tx.OnCommit(func() {
			db.mu.Lock()
			db.dropLease(h)
			db.mu.Unlock()
		})
	}
	return nil
}
