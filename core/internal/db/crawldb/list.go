package crawldb

import (
	"github.com/gonutch/crawler/core/internal/segment"
	"github.com/gonutch/crawler/core/internal/store"
	"github.com/gonutch/crawler/core/internal/urlkey"
)

// listWriter writes what a scan selects: leases, the fetch list, and the
// deletion of ready entries.
type listWriter struct {
	tx   *store.Tx
	seg  string
	keys []urlkey.Key
	gone []gap    // what the runs leave behind
	run  [][]byte // ready keys selected one after the other
	head bool     // the run's first key is the first of its queue
	buf  []byte
}

// add takes one ready entry; k and hint are valid during the call. first says
// that its queue has no entry before it that was not added.
func (w *listWriter) add(k, hint []byte, first bool) {
	if len(w.run) == 0 {
		w.head = first
	}
	key := keyAfter(k, readyHead)
	w.keys = append(w.keys, key)
	w.buf = append(append(append(w.buf[:0], store.PrefixLease), w.seg...), 0)
	w.buf = append(w.buf, key...)
	w.tx.Set(w.buf, nil)
	w.buf = append(append(append(w.buf[:0], store.PrefixPart), w.seg...), 0, segment.PartGenerate)
	w.buf = append(w.buf, key...)
	w.tx.Set(w.buf, hint)
	w.run = append(w.run, append([]byte(nil), k...))
}

// endRun deletes the ready entries selected since the last call.
func (w *listWriter) endRun() {
	if len(w.run) == 0 {
		return
	}
	end := append(w.run[len(w.run)-1], 0)
	w.gone = append(w.gone, gap{string(w.run[0]), string(end)})
	if len(w.run) >= longRun {
		lo := w.run[0]
		if w.head {
			lo = lo[:readyHead] // one range instead of many beside each other for an iterator to pass
		}
		w.tx.DeleteRange(lo, end)
	} else {
		for _, k := range w.run {
			w.tx.Delete(k)
		}
	}
	w.run = w.run[:0]
}
