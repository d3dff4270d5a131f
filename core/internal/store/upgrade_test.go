package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// TestUpgrade: an older directory is refused with the command to run, brought up step by
// step, and goes on where it was cut short.
func TestUpgrade(t *testing.T) {
	ctx := context.Background()
	fsys := NewMemFS()
	s := openMem(t, fsys)
	set(t, s, "C1", "v")
	must(t, s.Close())
	file := fsys.PathJoin("crawl", formatFile)
	b, err := ReadFile(fsys, file, maxSmallFile)
	must(t, err)
	must(t, WriteFile(fsys, file, []byte(strings.Replace(string(b), fmt.Sprintf("version %d", FormatVersion), "version 1", 1))))

	if _, err := Open("crawl", Options{FS: fsys}); !errors.Is(err, ErrOlder) || !strings.Contains(err.Error(), "crawler db upgrade --dir crawl") {
		t.Fatalf("open: %v", err)
	}
	boom := errors.New("boom")
	var ran []int
	steps := func(fail bool) (out []Step) {
		for v := 1; v < FormatVersion; v++ {
			out = append(out, Step{From: v, Do: func(ctx context.Context, s *Store) error {
				ran = append(ran, v)
				if fail {
					return boom
				}
				return s.Update(ctx, func(tx *Tx) error { tx.Set([]byte("C2"), []byte("w")); return nil })
			}})
		}
		return out
	}
	if _, err := Upgrade(ctx, "crawl", Options{FS: fsys}, nil); !errors.Is(err, ErrOlder) || !strings.Contains(err.Error(), "no way from version 1") {
		t.Errorf("without a step: %v", err)
	}
	if _, err := Upgrade(ctx, "crawl", Options{FS: fsys}, steps(true)); !errors.Is(err, boom) {
		t.Errorf("a step that fails: %v", err)
	}
	if _, err := Open("crawl", Options{FS: fsys}); !errors.Is(err, ErrOlder) {
		t.Fatalf("half an upgrade can be opened: %v", err)
	}
	from, err := Upgrade(ctx, "crawl", Options{FS: fsys}, steps(false))
	if err != nil || from != 1 || len(ran) != FormatVersion {
		t.Fatalf("from %d, steps %v, %v", from, ran, err)
	}
	now, err := ReadFile(fsys, file, maxSmallFile)
	if err != nil || string(now) != string(b) {
		t.Errorf("the file is %q, was %q; %v", now, b, err)
	}
	if from, err = Upgrade(ctx, "crawl", Options{FS: fsys}, nil); from != FormatVersion || err != nil {
		t.Errorf("one that is new: %d, %v", from, err)
	}
	if _, err := Upgrade(ctx, "other", Options{FS: fsys}, nil); !errors.Is(err, ErrNoCrawl) {
		t.Errorf("none: %v", err)
	}
	s = openMem(t, fsys)
	defer s.Close()
	if v, err := s.Get([]byte("C2")); string(v) != "w" || err != nil {
		t.Errorf("%q %v", v, err)
	}
}
