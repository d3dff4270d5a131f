package inject

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// List is a seed list of any length. It can be gone through more than once.
type List interface {
	// Each calls f with the seeds in order until f fails. The list's own faults are
	// returned together, each with its place; f is called with the seeds between them.
	Each(ctx context.Context, f func(Seed) error) error
}

// Seeds is a List in memory.
type Seeds []Seed

// Each implements List.
func (s Seeds) Each(_ context.Context, f func(Seed) error) error {
	for i := range s {
		if err := f(s[i]); err != nil {
			return err
		}
	}
	return nil
}

// Sources is a List in files and elsewhere. It holds one line at a time.
type Sources struct {
	names  []string
	spools map[string]*os.File // copies of what can be read only once, by name
	seeds  int64
}

// Open returns the seeds of sources: "-" is stdin, a name with a scheme is itself a
// seed, a folder stands for the plain files in it, anything else is a file. What is
// packed with gzip is unpacked. What can be read only once, such as stdin, is copied to a
// temporary file until Close.
func Open(sources []string, stdin io.Reader) (*Sources, error) {
	l := &Sources{names: sources, spools: map[string]*os.File{}}
	for _, src := range sources {
		var err error
		switch st, serr := os.Stat(src); {
		case l.spools[src] != nil:
			err = fmt.Errorf("read seeds: %s is named twice", src)
		case src == "-":
			err = l.spool(src, stdin)
		case strings.Contains(src, "://") || serr != nil || st.Mode().IsRegular() || st.IsDir():
		default: // a pipe
			err = l.copy(src)
		}
		if err != nil {
			return nil, errors.Join(err, l.Close())
		}
	}
	return l, nil
}

func (l *Sources) copy(name string) (err error) {
	f, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("read seeds: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return l.spool(name, f)
}

// spool copies r to a temporary file that has no name any more.
func (l *Sources) spool(name string, r io.Reader) error {
	tmp, err := os.CreateTemp("", "crawler-seeds-")
	if err != nil {
		return fmt.Errorf("read seeds: %w", err)
	}
	l.spools[name] = tmp
	_, err = io.Copy(tmp, r)
	if err = errors.Join(err, os.Remove(tmp.Name())); err != nil {
		return fmt.Errorf("read seeds: copy %s: %w", name, err)
	}
	return nil
}

// Close removes the copies.
func (l *Sources) Close() error {
	var errs []error
	for _, f := range l.spools {
		errs = append(errs, f.Close())
	}
	clear(l.spools)
	return errors.Join(errs...)
}

// Each implements List.
func (l *Sources) Each(ctx context.Context, f func(Seed) error) error {
	_, err := l.each(func(s Seed) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return f(s)
	})
	return err
}

// Check reads the whole list and returns how many seeds it has, or its faults; a list
// without any is one.
func (l *Sources) Check(ctx context.Context) (int64, error) {
	n, err := l.each(func(Seed) error { return ctx.Err() })
	if err == nil {
		err = l.some(n)
	}
	l.seeds = n
	return n, err
}

// Seeds returns how many seeds Check found; 0 before it.
func (l *Sources) Seeds() int64 { return l.seeds }

func (l *Sources) some(n int64) error {
	if n > 0 {
		return nil
	}
	return fmt.Errorf("no seeds in %s: a seed list has one URL on each line; blank lines and lines that start with # don't count", strings.Join(l.names, ", "))
}

func (l *Sources) each(f func(Seed) error) (n int64, err error) {
	counted := func(s Seed) error {
		n++
		return f(s)
	}
	var errs []error
	for _, src := range l.names {
		var err error
		switch spool := l.spools[src]; {
		case spool != nil:
			name := src
			if src == "-" {
				name = "standard input"
			}
			if _, err = spool.Seek(0, io.SeekStart); err == nil {
				err = parse(name, spool, counted)
			}
		case strings.Contains(src, "://"):
			if err = counted(Seed{URL: strings.TrimSpace(src), Where: "command line"}); err != nil {
				return n, err
			}
		default:
			err = readPath(src, counted)
		}
		if stop := (errStop{}); errors.As(err, &stop) {
			return n, stop.error
		}
		errs = append(errs, err)
	}
	return n, errors.Join(errs...)
}

func readPath(path string, f func(Seed) error) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read seeds: there is no file %s; a seed itself is given with its scheme, such as https://%s", path, strings.TrimLeft(path, "/."))
	}
	if err != nil {
		return fmt.Errorf("read seeds: %w", err)
	}
	if !info.IsDir() {
		return readFile(path, f)
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return fmt.Errorf("read seeds: %w", err)
	}
	var errs []error
	for _, e := range entries {
		if !e.Type().IsRegular() || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		err := readFile(filepath.Join(path, e.Name()), f)
		if stop := (errStop{}); errors.As(err, &stop) {
			return err
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func readFile(path string, f func(Seed) error) (err error) {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("read seeds: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return parse(path, file, f)
}
