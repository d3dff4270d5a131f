// Package backup copies a crawl as of one moment, while it runs or not, and
// makes a crawl directory of such a copy again.
//
// It owns the form of a backup: a folder or a tar file with the files of a crawl
// directory and, last, MANIFEST.json with the size and SHA-256 of each. It must not know
// what the records mean. The index is not part of it: index writers keep it, many of
// them elsewhere, and "crawler reindex" fills it from the backup.
//
// The database is copied through a checkpoint, which is one moment. WARC files only grow and
// hold what the database names before it names it, so that what is copied of
// them later covers the checkpoint; opening the restored directory cuts off the rest.
package backup

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/gonutch/crawler/core/internal/segment"
	"github.com/gonutch/crawler/core/internal/store"
	"github.com/gonutch/crawler/sdk/fault"
)

const (
	manifestName    = "MANIFEST.json"
	manifestVersion = 1
	maxManifest     = 256 << 20 // bytes
	checkpointDir   = ".backup" // in the crawl directory, while a backup is made
	segmentsDir     = "segments"
)

// Manifest says what a backup holds.
type Manifest struct {
	Version int       `json:"version"`
	Program string    `json:"program"`
	Made    time.Time `json:"made"`
	Files   []File    `json:"files"`
}

// File is one file of a backup.
type File struct {
	Path   string `json:"path"` // with slashes, in the crawl directory
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// Progress says how far a backup or restore is.
type Progress struct {
	Files int   `json:"files"`
	Bytes int64 `json:"bytes"`
	Total int64 `json:"total"` // bytes; 0 when not known
}

// Report says what was copied.
type Report struct {
	Path  string    `json:"path"`
	Made  time.Time `json:"made"` // the backup
	Files int       `json:"files"`
	Bytes int64     `json:"bytes"`
	// Linked are those of Bytes that share the crawl's files: they take no room until the crawl
	// removes its own.
	Linked int64 `json:"linked_bytes"`
}

// Deps are what a backup is made of.
type Deps struct {
	Store   *store.Store
	Segs    *segment.Segments
	Program string // name and version
}

// Write makes a backup at to, a tar file when its name ends in .tar, else a
// folder. It must not be there yet and appears when it is whole. The crawl may
// run meanwhile, but no other Write. told, when set, is called
// a few times a second.
func Write(ctx context.Context, d Deps, to string, told func(Progress)) (Report, error) {
	rep, err := write(ctx, d, to, told)
	if err != nil {
		return rep, fmt.Errorf("back up %s to %s: %w", d.Store.Dir(), to, err)
	}
	return rep, nil
}

func write(ctx context.Context, d Deps, to string, told func(Progress)) (rep Report, err error) {
	if err := checkTarget(d.Store.Dir(), to); err != nil {
		return rep, err
	}
	defer d.Segs.Hold()()
	vfs := d.Store.FS()
	tmp := vfs.PathJoin(d.Store.Dir(), checkpointDir)
	clean := func() error { return ignoreMissing(vfs.RemoveAll(tmp)) }
	if err := clean(); err != nil { // of one that was killed
		return rep, err
	}
	defer func() { err = errors.Join(err, clean()) }()
	if err := d.Store.Checkpoint(tmp); err != nil {
		return rep, err
	}
	list, err := d.list(ctx, tmp)
	if err != nil {
		return rep, err
	}
	out, err := newSink(to)
	if err != nil {
		return rep, err
	}
	w := &writer{fs: vfs, sink: out, man: Manifest{Version: manifestVersion, Program: d.Program, Made: time.Now().UTC()}, meter: meter{ctx: ctx, told: told}}
	for _, f := range list {
		w.meter.p.Total += f.size
	}
	for _, f := range list {
		if err = w.add(f); err != nil {
			break
		}
	}
	if err == nil {
		err = w.finish()
	}
	if err != nil {
		return rep, errors.Join(err, out.abort())
	}
	rep = Report{Path: to, Made: w.man.Made, Files: len(w.man.Files), Bytes: w.meter.p.Bytes, Linked: w.linked}
	return rep, out.commit()
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// checkTarget refuses what would overwrite something or grow into itself.
func checkTarget(crawl, to string) error {
	if _, err := os.Lstat(to); err == nil {
		return fault.Errorf(fault.Invalid, "it is there already; name another one")
	}
	parent, err := filepath.EvalSymlinks(filepath.Dir(to))
	if err != nil {
		return fault.New(fault.Invalid, err)
	}
	if crawl, err = filepath.Abs(crawl); err == nil {
		crawl, err = filepath.EvalSymlinks(crawl)
	}
	if err != nil {
		return nil //nolint:nilerr // a crawl in memory
	}
	if rel, err := filepath.Rel(crawl, parent); err == nil && filepath.IsLocal(rel) {
		return fault.Errorf(fault.Invalid, "it would be inside the crawl directory")
	}
	return nil
}

// entry is a file to be copied.
type entry struct {
	name, from string // in the backup; in the store's file system
	size       int64
	link       bool // it does not change any more
}

// list returns the files of the checkpoint and the segments.
func (d Deps) list(ctx context.Context, checkpoint string) ([]entry, error) {
	vfs := d.Store.FS()
	var out []entry
	var walk func(dir, name string) error
	walk = func(dir, name string) error {
		names, err := vfs.List(dir)
		if err != nil {
			return err
		}
		for _, n := range names {
			from := vfs.PathJoin(dir, n)
			st, err := vfs.Stat(from)
			switch {
			case err != nil:
				return err
			case st.IsDir():
				err = walk(from, path.Join(name, n))
			default:
				out = append(out, entry{path.Join(name, n), from, st.Size(), strings.HasSuffix(n, ".sst")})
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	if err := walk(checkpoint, ""); err != nil {
		return nil, err
	}
	files, err := d.Segs.Files(ctx)
	for i := range files {
		f := &files[i]
		out = append(out, entry{path.Join(segmentsDir, f.Segment, f.Name), d.Segs.Path(f), f.Length, !f.Open})
	}
	return out, err
}

type writer struct {
	fs     store.FS
	sink   sink
	man    Manifest
	meter  meter
	linked int64
}

func (w *writer) add(e entry) error {
	f, err := w.fs.Open(e.from)
	if err != nil {
		return err
	}
	defer f.Close()
	h := sha256.New()
	body := &io.LimitedReader{R: f, N: e.size}
	r := io.TeeReader(w.meter.reader(body), h)
	var link func(string) error
	if e.link {
		if st, err := w.fs.Stat(e.from); err == nil && st.Size() == e.size {
			link = func(to string) error { return os.Link(e.from, to) } // fails for a crawl in memory
		}
	}
	linked, err := w.sink.put(e.name, e.size, r, link)
	if err == nil && body.N > 0 {
		err = fmt.Errorf("%w: it has %d bytes less than were committed", store.ErrIncomplete, body.N)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", e.name, err)
	}
	if linked {
		w.linked += e.size
	}
	w.meter.p.Files++
	w.man.Files = append(w.man.Files, File{e.name, e.size, hex.EncodeToString(h.Sum(nil))})
	return nil
}

func (w *writer) finish() error {
	b, err := json.MarshalIndent(&w.man, "", " ")
	if err != nil {
		return err
	}
	_, err = w.sink.put(manifestName, int64(len(b)), strings.NewReader(string(b)), nil)
	return err
}

// meter counts bytes, tells of them, and ends reading when the context ends.
type meter struct {
	ctx  context.Context //nolint:containedctx // of one call
	told func(Progress)
	p    Progress
	at   time.Time
}

type meteredReader struct {
	m *meter
	r io.Reader
}

func (m *meter) reader(r io.Reader) io.Reader { return meteredReader{m, r} }

func (r meteredReader) Read(p []byte) (int, error) {
	if err := r.m.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := r.r.Read(p)
	r.m.p.Bytes += int64(n)
	if now := time.Now(); r.m.told != nil && now.Sub(r.m.at) >= 250*time.Millisecond {
		r.m.at = now
		r.m.told(r.m.p)
	}
	return n, err
}
