package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
)

// Step brings the records of a crawl directory of one version to the next. It may be
// repeated, whole or after a part of it was done.
type Step struct {
	From int // version
	Do   func(context.Context, *Store) error
}

// Upgrade brings a crawl directory to FormatVersion by the steps that it needs, and returns
// the version that it had. The version is written after each step; one that is cut short
// is done again by the next Upgrade. A directory of this version is left alone.
func Upgrade(ctx context.Context, dir string, o Options, steps []Step) (from int, err error) {
	o.Older, o.MustExist = true, true
	s, err := Open(dir, o)
	if err != nil {
		return 0, err
	}
	from, err = s.upgrade(ctx, steps)
	if err = errors.Join(err, s.Close()); err != nil {
		return from, fmt.Errorf("upgrade crawl directory %s: %w", dir, err)
	}
	return from, nil
}

func (s *Store) upgrade(ctx context.Context, steps []Step) (from int, err error) {
	if from, err = readVersion(s.gate, s.dir); err != nil {
		return from, err
	}
	for v := from; v < FormatVersion; v++ {
		done := false
		for _, step := range steps {
			if step.From != v {
				continue
			}
			if err := errors.Join(step.Do(ctx, s), s.Sync(ctx)); err != nil {
				return from, fmt.Errorf("from version %d: %w", v, err)
			}
			done = true
		}
		if !done {
			return from, fmt.Errorf("%w: there is no way from version %d to %d", ErrOlder, v, v+1)
		}
		if err := s.setVersion(v + 1); err != nil {
			return from, err
		}
	}
	return from, nil
}

// setVersion changes the version in the format file and nothing else of it.
func (s *Store) setVersion(v int) error {
	name := s.gate.PathJoin(s.dir, formatFile)
	b, err := ReadFile(s.gate, name, maxSmallFile)
	if err != nil {
		return err
	}
	lines := bytes.Split(b, []byte("\n"))
	for i, l := range lines {
		if bytes.HasPrefix(l, []byte("version ")) {
			lines[i] = fmt.Appendf(nil, "version %d", v)
		}
	}
	return WriteFile(s.gate, name, bytes.Join(lines, []byte("\n")))
}
