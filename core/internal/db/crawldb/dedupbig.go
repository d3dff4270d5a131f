package crawldb

import (
	"bytes"
	"context"
	"errors"

	"github.com/gonutch/crawler/core/internal/store"
	"github.com/gonutch/crawler/core/internal/urlkey"
)

// A signature of many pages keeps its winner per group, with what it was
// elected for, so that a new page is compared with one record and not with all.

const winnerVersion = 1

func winnerKey(sig []byte, group string) []byte {
	return append(signatureKey(store.PrefixWinner, sig, ""), group...)
}

func putWinner(tx *Tx, sig []byte, group string, c *candidate) {
	b := store.AppendText([]byte{winnerVersion}, c.key)
	b = store.AppendInt(b, c.rec.Datum.Score)
	b = store.AppendTime(b, c.rec.Datum.FetchTime)
	tx.Tx.Set(winnerKey(sig, group), b)
}

// elected returns the group's winner as it was elected, or nil.
func elected(tx *Tx, sig []byte, group string) (*candidate, error) {
	k := winnerKey(sig, group)
	v, err := tx.Tx.Get(k)
	if err != nil || v == nil {
		return nil, err
	}
	d, _ := store.NewDecoder(v, winnerVersion)
	key := urlkey.Key(d.Text())
	rec := &Record{}
	rec.Datum.Score, rec.Datum.FetchTime = d.Int(), d.Time()
	if err := d.Finish(k); err != nil {
		return nil, err
	}
	c, err := newCandidate(key, rec)
	return &c, err
}

// contest is one group of a large signature.
type contest struct {
	winner *candidate
	all    bool // every page has to be judged again
}

// big judges a signature that many pages share. Its dirty marks go last, so a
// Dedup that is cut short does it again.
func (d *deduper) big(ctx context.Context, sig []byte) error {
	contests := make(map[string]*contest)
	var dirty []urlkey.Key
	rescan := false
	err := d.db.Update(ctx, func(tx *Tx) (err error) {
		tx.noDedup = true
		clear(contests)
		rescan = false
		if dirty, err = d.dirty(sig); err != nil {
			return err
		}
		if rescan, err = d.compare(tx, sig, dirty, contests); err != nil || rescan {
			return err
		}
		return d.finishBig(tx, sig, dirty, contests)
	})
	if err != nil {
		return err
	}
	d.stats.Dirty += len(dirty)
	d.stats.Groups++
	if !rescan {
		return nil
	}
	at := signatureKey(store.PrefixSignature, sig, "")
	for at != nil {
		err := d.db.Update(ctx, func(tx *Tx) error {
			tx.noDedup = true
			next, err := d.settleSome(tx, sig, at, contests)
			if err != nil {
				return err
			}
			if at = next; next != nil {
				return ctx.Err()
			}
			return d.finishBig(tx, sig, dirty, contests)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (d *deduper) dirty(sig []byte) (keys []urlkey.Key, err error) {
	prefix := signatureKey(store.PrefixDedupDirty, sig, "")
	it, err := d.db.s.Iter(prefix, store.After(prefix))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for ok := it.First(); ok; ok = it.Next() {
		keys = append(keys, keyAfter(it.Key(), len(prefix)))
	}
	return keys, nil
}

// compare holds the dirty pages against their groups' winners. It settles them when
// the winners stay, and otherwise finds the new winners and returns true.
func (d *deduper) compare(tx *Tx, sig []byte, dirty []urlkey.Key, contests map[string]*contest) (bool, error) {
	cs, err := d.candidates(sig, dirty)
	if err != nil {
		return false, err
	}
	rescan := false
	touched := make(map[string]bool)
	for _, k := range dirty { // also those that left: their group may have lost its winner
		u, err := urlkey.ToURL(k)
		if err != nil {
			return false, err
		}
		touched[d.group(u)] = true
	}
	for g := range touched {
		c, err := d.incumbent(tx, sig, g)
		if err != nil {
			return false, err
		}
		contests[g] = c
		rescan = rescan || c.all
	}
	for i := range cs {
		c := contests[d.group(cs[i].url)]
		if !c.all && cs[i].key != c.winner.key && d.beats(&cs[i], c.winner) {
			c.all, rescan = true, true
		}
	}
	if rescan {
		return true, d.elect(sig, contests)
	}
	for i := range cs {
		if rec, err := tx.Get(cs[i].key); err == nil && rec != nil {
			cs[i].rec = rec
			d.settle(tx, &cs[i], contests[d.group(cs[i].url)].winner.url)
		} else if err != nil {
			return false, err
		}
	}
	return false, nil
}

// incumbent returns the group's winner if it is still in the group and no
// worse than when it was elected.
func (d *deduper) incumbent(tx *Tx, sig []byte, group string) (*contest, error) {
	w, err := elected(tx, sig, group)
	if err != nil {
		return nil, err
	}
	if w == nil {
		return &contest{all: true}, nil
	}
	rec, err := d.db.Get(w.key)
	if err != nil {
		return nil, err
	}
	if rec == nil || !bytes.Equal(memberSignature(rec), sig) {
		return &contest{all: true}, nil
	}
	now, err := newCandidate(w.key, rec)
	if err != nil {
		return nil, err
	}
	return &contest{winner: &now, all: d.beats(w, &now)}, nil // equal ones don't beat each other
}

// candidates reads those of keys that still have the signature.
func (d *deduper) candidates(sig []byte, keys []urlkey.Key) ([]candidate, error) {
	var cs []candidate
	for _, k := range keys {
		rec, err := d.db.Get(k)
		if err != nil {
			return nil, err
		}
		if rec == nil || !bytes.Equal(memberSignature(rec), sig) {
			continue
		}
		c, err := newCandidate(k, rec)
		if err != nil {
			return nil, err
		}
		cs = append(cs, c)
	}
	return cs, nil
}

// elect finds the winners of the contests that are open.
func (d *deduper) elect(sig []byte, contests map[string]*contest) error {
	for _, c := range contests {
		if c.all {
			c.winner = nil
		}
	}
	prefix := signatureKey(store.PrefixSignature, sig, "")
	return store.Each(context.Background(), d.db.s, prefix, func(k, _ []byte) error {
		cs, err := d.candidates(sig, []urlkey.Key{keyAfter(k, len(prefix))})
		if err != nil || len(cs) == 0 {
			return err
		}
		c := contests[d.group(cs[0].url)]
		if c != nil && c.all && (c.winner == nil || d.beats(&cs[0], c.winner)) {
			c.winner = &cs[0]
		}
		return nil
	})
}

// settleSome settles a portion of the pages of open contests, from at on.
func (d *deduper) settleSome(tx *Tx, sig, at []byte, contests map[string]*contest) (next []byte, err error) {
	prefix := signatureKey(store.PrefixSignature, sig, "")
	it, err := d.db.s.Iter(at, store.After(prefix))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	n := 0
	for ok := it.First(); ok; ok = it.Next() {
		if n++; n > d.db.size.dedup {
			return append([]byte(nil), it.Key()...), nil
		}
		key := keyAfter(it.Key(), len(prefix))
		rec, err := tx.Get(key)
		if err != nil {
			return nil, err
		}
		if rec == nil {
			continue
		}
		c, err := newCandidate(key, rec)
		if err != nil {
			return nil, err
		}
		if g := contests[d.group(c.url)]; g != nil && g.winner != nil {
			d.settle(tx, &c, g.winner.url)
		}
	}
	return nil, nil
}

// finishBig stores the winners and removes the dirty marks that were seen.
func (d *deduper) finishBig(tx *Tx, sig []byte, dirty []urlkey.Key, contests map[string]*contest) error {
	for g, c := range contests {
		if c.winner == nil {
			tx.Tx.Delete(winnerKey(sig, g))
		} else {
			putWinner(tx, sig, g, c.winner)
		}
	}
	for _, k := range dirty {
		tx.Tx.Delete(signatureKey(store.PrefixDedupDirty, sig, k))
	}
	return nil
}
