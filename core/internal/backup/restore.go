package backup

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/gonutch/crawler/core/internal/segment"
	"github.com/gonutch/crawler/core/internal/store"
)

// ErrDamaged is in the chain of the error about a backup that is not what its
// manifest says.
var ErrDamaged = errors.New("the backup is damaged")

// Check reads a backup and compares it with its manifest.
func Check(ctx context.Context, from string, told func(Progress)) (Report, error) {
	rep, err := verified(ctx, from, nil, told)
	if err != nil {
		return rep, fmt.Errorf("check backup %s: %w", from, err)
	}
	return rep, nil
}

// Restore makes the crawl directory dir of a backup. dir must not be there, or be
// empty, and appears when every checksum was right and its database could be opened.
func Restore(ctx context.Context, from, dir string, told func(Progress)) (Report, error) {
	rep, err := restore(ctx, from, dir, told)
	if err != nil {
		return rep, fmt.Errorf("restore %s into %s: %w", from, dir, err)
	}
	rep.Path = dir
	return rep, nil
}

func restore(ctx context.Context, from, dir string, told func(Progress)) (rep Report, err error) {
	err = store.Fresh(dir, func(tmp string) error {
		out := &folder{dir: tmp, made: map[string]bool{}}
		if rep, err = verified(ctx, from, out, told); err != nil {
			return err
		}
		return errors.Join(opens(ctx, tmp), out.sync())
	})
	return rep, err
}

// opens opens the database, which reads its log, and makes the WARC files agree with it.
func opens(ctx context.Context, dir string) error {
	s, err := store.Open(dir, store.Options{Command: "crawler restore", MustExist: true, Older: true})
	if err != nil {
		return err
	}
	g, err := segment.Open(ctx, s, segment.Options{})
	if err == nil {
		err = g.Close()
	}
	return errors.Join(err, s.Close())
}

// verified copies a backup to out, when there is one, and compares it with its
// manifest.
func verified(ctx context.Context, from string, out sink, told func(Progress)) (Report, error) {
	got := map[string]File{}
	m := &meter{ctx: ctx, told: told}
	var man *Manifest
	err := each(from, func(name string, size int64, r io.Reader) error {
		if name == manifestName {
			var err error
			man, err = readManifest(r)
			return err
		}
		if !filepath.IsLocal(filepath.FromSlash(name)) {
			return fmt.Errorf("%w: a file is called %q", ErrDamaged, name)
		}
		h := sha256.New()
		n := &counter{}
		body := io.TeeReader(m.reader(r), io.MultiWriter(h, n))
		var err error
		if out == nil {
			_, err = io.Copy(io.Discard, body)
		} else {
			_, err = out.put(name, size, body, nil)
		}
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return fmt.Errorf("%w: it ends within %s", ErrDamaged, name)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		m.p.Files++
		got[name] = File{name, n.n, hex.EncodeToString(h.Sum(nil))}
		return nil
	})
	rep := Report{Path: from, Files: m.p.Files, Bytes: m.p.Bytes}
	if err != nil {
		return rep, err
	}
	if man == nil {
		return rep, fmt.Errorf("%w: it has no %s, so it is no backup or not whole", ErrDamaged, manifestName)
	}
	rep.Made = man.Made
	for _, want := range man.Files {
		switch f, ok := got[want.Path]; {
		case !ok:
			return rep, fmt.Errorf("%w: %s is missing", ErrDamaged, want.Path)
		case f != want:
			return rep, fmt.Errorf("%w: %s has %d bytes with SHA-256 %s, want %d with %s", ErrDamaged, want.Path, f.Size, f.SHA256, want.Size, want.SHA256)
		}
		delete(got, want.Path)
	}
	for name := range got {
		return rep, fmt.Errorf("%w: %s is not in %s", ErrDamaged, name, manifestName)
	}
	return rep, nil
}

type counter struct{ n int64 }

func (c *counter) Write(p []byte) (int, error) { c.n += int64(len(p)); return len(p), nil }

func readManifest(r io.Reader) (*Manifest, error) {
	man := new(Manifest)
	if err := json.NewDecoder(io.LimitReader(r, maxManifest)).Decode(man); err != nil {
		return nil, fmt.Errorf("%w: read %s: %w", ErrDamaged, manifestName, err)
	}
	if man.Version != manifestVersion {
		return nil, fmt.Errorf("the backup has version %d, this program knows %d", man.Version, manifestVersion)
	}
	return man, nil
}

// each calls f with every file of a backup.
func each(from string, f func(name string, size int64, r io.Reader) error) error {
	st, err := os.Stat(from)
	switch {
	case err != nil:
		return err
	case !st.IsDir():
		return eachInTar(from, f)
	}
	return filepath.WalkDir(from, func(p string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(from, p)
		if err != nil {
			return err
		}
		file, err := os.Open(p)
		if err != nil {
			return err
		}
		info, err := file.Stat()
		if err == nil {
			err = f(filepath.ToSlash(rel), info.Size(), file)
		}
		return errors.Join(err, file.Close())
	})
}

func eachInTar(from string, f func(name string, size int64, r io.Reader) error) error {
	file, err := os.Open(from)
	if err != nil {
		return err
	}
	defer file.Close()
	t := tar.NewReader(file)
	for {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%w: read tar file: %w", ErrDamaged, err)
		}
		if h.Typeflag != tar.TypeReg {
			return fmt.Errorf("%w: %q is no plain file", ErrDamaged, strings.ToValidUTF8(h.Name, "?"))
		}
		if err := f(h.Name, h.Size, t); err != nil {
			return err
		}
	}
}
