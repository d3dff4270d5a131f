// Package linkdb is the LinkDB: for every URL the links that point at it, with
// anchor and metadata.
//
// It owns the inlink records, the limit per target and the rules of what counts as
// internal. It must not know pages, statuses or scores. Changes take part in
// the caller's Tx, so that they commit with whatever they belong to.
package linkdb

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/cespare/xxhash/v2"

	"github.com/gonutch/crawler/core/internal/store"
	"github.com/gonutch/crawler/core/internal/urlkey"
	"github.com/gonutch/crawler/sdk/model"
)

// Options configure a DB.
type Options struct {
	// MaxInlinks is how many inlinks of a target count: the first by source
	// key, whatever the order in which they were found. 0 is 10,000. The store
	// may hold more for a while; see Trim.
	MaxInlinks     int
	IgnoreInternal bool // leave out links within a host
	IgnoreExternal bool // leave out links between hosts
	MaxAnchor      int  // longest anchor in characters; 0 is 100
}

// Link is a link of one page.
type Link struct {
	Target   urlkey.Key
	Anchor   string
	Metadata model.Metadata
}

// DB is the LinkDB of an open store. Its methods are safe for concurrent use,
// except that Replace needs the writer lock that its Tx implies.
type DB struct {
	s *store.Store
	o Options
	// adds estimates how many inlinks targets got in this process, by hash, to
	// find those worth trimming without counting each. Writer lock.
	adds [1 << 14]uint32
	full map[urlkey.Key]struct{} // targets to be trimmed; bounded by maxFull
}

const maxFull = 10_000

// Open returns the LinkDB of s.
func Open(s *store.Store, o Options) *DB {
	if o.MaxInlinks <= 0 {
		o.MaxInlinks = 10_000
	}
	if o.MaxAnchor <= 0 {
		o.MaxAnchor = 100
	}
	return &DB{s: s, o: o, full: make(map[urlkey.Key]struct{})}
}

const linkVersion = 1

func linkKey(target, source urlkey.Key) []byte { return store.Key2(store.PrefixLink, target, source) }

// Stats say what a Replace did.
type Stats struct {
	Added, Removed  int
	IgnoredInternal int
	IgnoredExternal int
	Lost            []urlkey.Key // targets that lost the link
	Changed         []urlkey.Key // targets that gained or lost the link, or whose link changed; no order
}

// Replace makes now the links of source, of which before were the last ones
// given for it. Links that stay the same cost nothing. Of several links to one
// target the first with an anchor counts.
func (db *DB) Replace(tx *store.Tx, source urlkey.Key, before, now []Link) Stats {
	var st Stats
	host := hostOf(source)
	old := db.fold(host, before, nil)
	fresh := db.fold(host, now, &st)
	for target := range old {
		if _, ok := fresh[target]; !ok {
			tx.Delete(linkKey(target, source))
			st.Removed++
			st.Lost = append(st.Lost, target)
			st.Changed = append(st.Changed, target)
		}
	}
	var buf []byte
	for target, l := range fresh {
		o, had := old[target]
		buf = appendLink(buf[:0], l)
		if had && bytes.Equal(buf, appendLink(nil, o)) {
			continue
		}
		tx.Set(linkKey(target, source), buf)
		st.Changed = append(st.Changed, target)
		if !had {
			st.Added++
			db.added(target)
		}
	}
	return st
}

func (db *DB) fold(host string, links []Link, st *Stats) map[urlkey.Key]*Link {
	m := make(map[urlkey.Key]*Link, len(links))
	for i := range links {
		l := &links[i]
		internal := hostOf(l.Target) == host
		if internal && db.o.IgnoreInternal || !internal && db.o.IgnoreExternal {
			if st != nil && internal {
				st.IgnoredInternal++
			} else if st != nil {
				st.IgnoredExternal++
			}
			continue
		}
		c := &Link{Target: l.Target, Anchor: cutText(l.Anchor, db.o.MaxAnchor), Metadata: l.Metadata}
		if o, ok := m[l.Target]; !ok || o.Anchor == "" && c.Anchor != "" {
			m[l.Target] = c
		}
	}
	return m
}

// Add stores a link of source beside those that Replace is told of, unless there is one already or
// it is of a kind that is left out. It reports whether it did.
func (db *DB) Add(tx *store.Tx, source urlkey.Key, link Link) (bool, error) {
	fresh := db.fold(hostOf(source), []Link{link}, nil)[link.Target]
	if fresh == nil {
		return false, nil
	}
	k := linkKey(link.Target, source)
	if v, err := tx.Get(k); err != nil || v != nil {
		return false, err
	}
	tx.Set(k, appendLink(nil, fresh))
	db.added(link.Target)
	return true, nil
}

func (db *DB) added(target urlkey.Key) {
	n := &db.adds[xxhash.Sum64String(string(target))%uint64(len(db.adds))]
	if *n++; int(*n) >= db.o.MaxInlinks/2+1 && len(db.full) < maxFull {
		*n = 0
		db.full[target] = struct{}{}
	}
}

// Trim deletes inlinks beyond the limit of the targets that got many since the
// last Trim, and returns how many. The invert step calls it at its end.
func (db *DB) Trim(ctx context.Context) (int, error) {
	var targets []urlkey.Key
	err := db.s.Update(ctx, func(*store.Tx) error {
		for t := range db.full {
			targets = append(targets, t)
		}
		clear(db.full)
		return nil
	})
	n := 0
	for _, t := range targets {
		if err == nil {
			var m int
			m, err = db.trim(ctx, t)
			n += m
		}
	}
	if err != nil {
		return n, fmt.Errorf("trim inlinks: %w", err)
	}
	return n, nil
}

func (db *DB) trim(ctx context.Context, target urlkey.Key) (n int, err error) {
	err = db.s.Update(ctx, func(tx *store.Tx) (err error) {
		n = 0
		prefix := linkKey(target, "")
		it, err := db.s.Iter(prefix, store.After(prefix))
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, it.Close()) }()
		var first []byte
		for ok := it.First(); ok; ok = it.Next() {
			if n++; n == db.o.MaxInlinks+1 {
				first = bytes.Clone(it.Key())
			}
		}
		if n = max(n-db.o.MaxInlinks, 0); n > 0 {
			tx.DeleteRange(first, store.After(prefix))
		}
		return nil
	})
	return n, err
}

// From is a link to a target that is told with it.
type From struct {
	Source   urlkey.Key
	Anchor   string
	Metadata model.Metadata
}

// Import stores inlinks of target as another LinkDb had them, and returns how many: the rules of what is ignored are not applied, the limits are. Of several
// links of one source the first with an anchor counts. For the time before pages have links of their own, as Replace knows nothing of them.
func (db *DB) Import(tx *store.Tx, target urlkey.Key, links []From) int {
	m := make(map[urlkey.Key]*Link, len(links))
	for _, l := range links {
		if o, ok := m[l.Source]; !ok || o.Anchor == "" && l.Anchor != "" {
			m[l.Source] = &Link{Target: target, Anchor: cutText(l.Anchor, db.o.MaxAnchor), Metadata: l.Metadata}
		}
	}
	sources := slices.Sorted(maps.Keys(m))
	sources = sources[:min(len(sources), db.o.MaxInlinks)]
	var buf []byte
	for _, source := range sources {
		buf = appendLink(buf[:0], m[source])
		tx.Set(linkKey(target, source), buf)
	}
	return len(sources)
}

// Inlinks returns up to limit links to target (0: Options.MaxInlinks), in the
// order of their sources' keys.
func (db *DB) Inlinks(target urlkey.Key, limit int) (links []model.Inlink, err error) {
	if limit <= 0 || limit > db.o.MaxInlinks {
		limit = db.o.MaxInlinks
	}
	prefix := linkKey(target, "")
	it, err := db.s.Iter(prefix, store.After(prefix))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for ok := it.First(); ok && len(links) < limit; ok = it.Next() {
		l, err := decodeLink(it.Key(), it.Value(), len(prefix))
		if err != nil {
			return nil, err
		}
		links = append(links, l)
	}
	return links, nil
}

// HasInlinks reports whether any link points at target.
func (db *DB) HasInlinks(target urlkey.Key) (has bool, err error) {
	prefix := linkKey(target, "")
	it, err := db.s.Iter(prefix, store.After(prefix))
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	return it.First(), nil
}

// Each calls f with every target whose key starts with prefix and its inlinks,
// in key order, until f fails. f owns the slice.
func (db *DB) Each(ctx context.Context, prefix urlkey.Key, f func(urlkey.Key, []model.Inlink) error) error {
	var target urlkey.Key
	var links []model.Inlink
	err := store.Each(ctx, db.s, store.Key(store.PrefixLink, prefix), func(k, v []byte) error {
		i := bytes.IndexByte(k, 0)
		if i < 0 {
			return store.Corrupt(k, errors.New("no source"))
		}
		if t := urlkey.Key(k[1:i]); t != target {
			if len(links) > 0 {
				if err := f(target, links); err != nil {
					return err
				}
			}
			target, links = t, nil
		}
		if len(links) >= db.o.MaxInlinks {
			return nil
		}
		l, err := decodeLink(k, v, i+1)
		links = append(links, l)
		return err
	})
	if err == nil && len(links) > 0 {
		err = f(target, links)
	}
	return err
}

// Scan calls f with every link of the LinkDB in r, in the order of targets and then sources,
// until f fails.
func Scan(ctx context.Context, r store.Reader, f func(target, source urlkey.Key, l model.Inlink) error) error {
	return store.Each(ctx, r, []byte{store.PrefixLink}, func(k, v []byte) error {
		i := bytes.IndexByte(k, 0)
		if i < 0 {
			return store.Corrupt(k, errors.New("no source"))
		}
		l, err := decodeLink(k, v, i+1)
		if err != nil {
			return err
		}
		return f(urlkey.Key(k[1:i]), urlkey.Key(k[i+1:]), l)
	})
}

func appendLink(b []byte, l *Link) []byte {
	b = store.AppendText(append(b, linkVersion), l.Anchor)
	return store.AppendMetadata(b, l.Metadata)
}

func decodeLink(k, v []byte, head int) (model.Inlink, error) {
	d, _ := store.NewDecoder(v, linkVersion)
	l := model.Inlink{Anchor: d.Text(), Metadata: d.Metadata()}
	if err := d.Finish(k); err != nil {
		return l, err
	}
	from, err := urlkey.ToURL(urlkey.Key(k[head:]))
	if err != nil {
		return l, store.Corrupt(k, err)
	}
	l.From = from
	return l, nil
}

func hostOf(k urlkey.Key) string { return k.Host() }

// cutText cuts s to n characters, never within one.
func cutText(s string, n int) string {
	if len(s) <= n || utf8.RuneCountInString(s) <= n {
		return s
	}
	for i := range s {
		if n == 0 {
			return strings.Clone(s[:i])
		}
		n--
	}
	return s
}
