package segment

import (
	"bytes"
	"context"
	"errors"

	"github.com/gonutch/crawler/core/internal/store"
)

// File is a WARC file as far as it is committed.
type File struct {
	Segment string
	Name    string // inside the segment's folder
	Length  int64  // committed bytes
	Open    bool   // its segment is being written to: there may be more bytes, and more to come
}

// Files returns all WARC files.
func (g *Segments) Files(ctx context.Context) ([]File, error) {
	known, err := g.committed(ctx)
	if err != nil {
		return nil, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	var out []File
	for _, seg := range sortedKeys(known) {
		_, open := g.writers[seg]
		for _, name := range sortedKeys(known[seg]) {
			out = append(out, File{Segment: seg, Name: name, Length: known[seg][name], Open: open})
		}
	}
	return out, nil
}

// Path returns where the file is in the store's file system.
func (g *Segments) Path(f *File) string { return g.s.FS().PathJoin(g.dir(f.Segment), f.Name) }

// committed returns the committed lengths by segment and file.
func (g *Segments) committed(ctx context.Context) (map[string]map[string]int64, error) {
	committed := make(map[string]map[string]int64)
	err := store.Each(ctx, g.s, []byte{store.PrefixWARC}, func(k, v []byte) error {
		i := bytes.IndexByte(k, 0)
		if i < 1 {
			return store.Corrupt(k, errors.New("no segment"))
		}
		d := store.RawDecoder(v)
		n := d.Uint()
		if err := d.Finish(k); err != nil {
			return err
		}
		seg := string(k[1:i])
		if committed[seg] == nil {
			committed[seg] = make(map[string]int64)
		}
		committed[seg][string(k[i+1:])] = int64(n) //nolint:gosec // written from an int64
		return nil
	})
	return committed, err
}

// ErrHeld says that a segment can't be deleted now.
var ErrHeld = errors.New("segments are being copied")

// Hold keeps all segments from being deleted until release is called.
func (g *Segments) Hold() (release func()) {
	g.holds.Add(1)
	g.deleting.Lock() // a delete under way is over
	defer g.deleting.Unlock()
	return func() { g.holds.Add(-1) }
}
