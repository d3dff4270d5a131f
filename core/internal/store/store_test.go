package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func openMem(t testing.TB, fsys FS) *Store {
	t.Helper()
	s, err := Open("crawl", Options{FS: fsys, Command: "crawler test"})
	must(t, err)
	return s
}

func set(t testing.TB, s *Store, k, v string) {
	t.Helper()
	must(t, s.Update(context.Background(), func(tx *Tx) error {
		tx.Set([]byte(k), []byte(v))
		return nil
	}))
}

func wantValue(t testing.TB, s Reader, k, want string) {
	t.Helper()
	v, err := s.Get([]byte(k))
	must(t, err)
	if want == "" && v != nil || want != "" && string(v) != want {
		t.Fatalf("%s: got %q, want %q", k, v, want)
	}
}

func TestTxReadsItsOwnWrites(t *testing.T) {
	s := openMem(t, NewMemFS())
	defer s.Close()
	set(t, s, "C1", "old")
	counts := func(n int64) []byte { return AppendCounts(nil, Count{1, n}) }
	must(t, s.Update(context.Background(), func(tx *Tx) error {
		wantValue(t, tx, "C1", "old")
		tx.Set([]byte("C1"), []byte("new"))
		tx.Set([]byte("C2"), nil)
		tx.SetFunc([]byte("C3"), func(b []byte) []byte { return append(b, "made in place"...) })
		wantValue(t, tx, "C3", "made in place")
		wantValue(t, tx, "C1", "new")
		if v, _ := tx.Get([]byte("C2")); v == nil {
			t.Error("an empty value reads as absent")
		}
		tx.Delete([]byte("C1"))
		wantValue(t, tx, "C1", "")
		tx.Set([]byte("C1"), []byte("again"))
		tx.Merge([]byte("hx"), counts(2))
		tx.Merge([]byte("hx"), counts(3))
		wantValue(t, tx, "hx", string(counts(5)))
		tx.DeleteRange([]byte("C"), []byte("D")) // what the Tx wrote stays
		return nil
	}))
	wantValue(t, s, "C1", "again")
	wantValue(t, s, "hx", string(counts(5)))
	must(t, s.Update(context.Background(), func(tx *Tx) error {
		tx.Merge([]byte("hx"), counts(-5))
		wantValue(t, tx, "hx", string(counts(0)))
		tx.Delete([]byte("hy"))
		tx.Merge([]byte("hy"), counts(7))
		return nil
	}))
	wantValue(t, s, "hx", string(counts(0)))
	wantValue(t, s, "hy", string(counts(7)))
}

func (tx *Tx) Iter(_, _ []byte) (*Iter, error) { return nil, errors.New("a Tx has no iterator") }

func TestUpdateThatFailsChangesNothing(t *testing.T) {
	s := openMem(t, NewMemFS())
	defer s.Close()
	boom := errors.New("boom")
	called := false
	err := s.Update(context.Background(), func(tx *Tx) error {
		tx.Set([]byte("C1"), []byte("x"))
		tx.Count("n", 1)
		tx.OnCommit(func() { called = true })
		return boom
	})
	if !errors.Is(err, boom) || called {
		t.Fatalf("err %v, OnCommit ran %v", err, called)
	}
	wantValue(t, s, "C1", "")
	set(t, s, "C2", "y") // and the next Update starts clean
	c, err := s.Counters(context.Background())
	must(t, err)
	if len(c) != 0 {
		t.Fatalf("counters %v", c)
	}
}

func TestUpdateWaitsWithContext(t *testing.T) {
	s := openMem(t, NewMemFS())
	defer s.Close()
	ctx, cancel := context.WithCancel(context.Background())
	must(t, s.Update(context.Background(), func(*Tx) error {
		cancel()
		if err := s.Update(ctx, func(*Tx) error { return nil }); !errors.Is(err, context.Canceled) {
			t.Errorf("a second writer got %v", err)
		}
		return nil
	}))
}

func TestUpdatesCount(t *testing.T) {
	s := openMem(t, NewMemFS())
	defer s.Close()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				must(t, s.Update(context.Background(), func(tx *Tx) error {
					tx.Count("n", 2)
					return nil
				}))
			}
		})
	}
	wg.Wait()
	c, err := s.Counters(context.Background())
	must(t, err)
	if c["n"] != 800 {
		t.Fatalf("counted %d", c["n"])
	}
}

func TestLock(t *testing.T) {
	fsys := NewMemFS()
	s := openMem(t, fsys)
	_, err := Open("crawl", Options{FS: fsys})
	if !errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), "crawler test") || !strings.Contains(err.Error(), "process") {
		t.Fatalf("second open: %v", err)
	}
	set(t, s, "C1", "still works")
	must(t, s.Close())
	must(t, s.Close())
	s = openMem(t, fsys)
	wantValue(t, s, "C1", "still works")
	must(t, s.Close())
}

func TestLockOnDisk(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(dir, Options{})
	must(t, err)
	if _, err := Open(dir, Options{}); !errors.Is(err, ErrInUse) {
		t.Fatalf("second open: %v", err)
	}
	must(t, s.Close())
}

func TestDirectoryState(t *testing.T) {
	write := func(name, data string) func(FS) {
		return func(f FS) { must(t, WriteFile(f, f.PathJoin("crawl", name), []byte(data))) }
	}
	remove := func(name string) func(FS) {
		return func(f FS) { must(t, f.RemoveAll(f.PathJoin("crawl", name))) }
	}
	removeTables := func(suffix string) func(FS) {
		return func(f FS) {
			names, err := f.List("crawl/store")
			must(t, err)
			for _, n := range names {
				if strings.HasSuffix(n, suffix) {
					must(t, f.Remove(f.PathJoin("crawl/store", n)))
				}
			}
		}
	}
	for _, c := range []struct {
		name string
		do   func(FS)
		want error
		says string
	}{
		{"newer", write(formatFile, "version 7\n"), ErrNewer, "version 7"},
		{"no version", write(formatFile, "hello\n"), ErrIncomplete, "names no version"},
		{"format file missing", remove(formatFile), ErrIncomplete, formatFile},
		{"store missing", remove(storeDir), ErrIncomplete, "store is missing"},
		{"store empty", func(f FS) { remove(storeDir)(f); must(t, f.MkdirAll("crawl/store", 0o755)) }, ErrIncomplete, "copy it again"},
		{"table missing", removeTables(".sst"), ErrIncomplete, "copy it again"},
	} {
		t.Run(c.name, func(t *testing.T) {
			fsys := NewMemFS()
			s := openMem(t, fsys)
			set(t, s, "C1", "v")
			must(t, s.Compact(context.Background(), nil, nil))
			must(t, s.Close())
			c.do(fsys)
			before := fmt.Sprint(fsys)
			_, err := Open("crawl", Options{FS: fsys})
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), "crawl directory crawl") {
				t.Fatalf("got %v", err)
			}
			if c.want == ErrNewer && fmt.Sprint(fsys) != before {
				t.Error("the directory was changed")
			}
		})
	}
}

func TestClosedStoreNeedsNoLog(t *testing.T) {
	fsys := NewMemFS()
	s := openMem(t, fsys)
	set(t, s, "C1", "v")
	must(t, s.Close())
	names, err := fsys.List("crawl/store")
	must(t, err)
	for _, n := range names {
		if strings.HasSuffix(n, ".log") {
			must(t, fsys.Remove("crawl/store/"+n))
		}
	}
	s = openMem(t, fsys)
	wantValue(t, s, "C1", "v")
	must(t, s.Close())
}

func TestMakingIsDoneAgain(t *testing.T) {
	fsys := NewMemFS()
	s := openMem(t, fsys)
	must(t, s.Close())
	// As if the process had been killed before the format file was there.
	must(t, fsys.Rename("crawl/"+formatFile, "crawl/"+unfinished))
	s = openMem(t, fsys)
	set(t, s, "C1", "v")
	must(t, s.Close())
}

func TestMustExist(t *testing.T) {
	fsys := NewMemFS()
	if _, err := Open("crawl", Options{FS: fsys, MustExist: true}); !errors.Is(err, ErrNoCrawl) {
		t.Fatal(err)
	}
	if _, err := fsys.Stat("crawl"); !errors.Is(err, fs.ErrNotExist) {
		t.Fatal("the directory was made")
	}
}

// TestDiscard: a directory is taken away by the Open that made it, and by no later one.
func TestDiscard(t *testing.T) {
	fsys := NewMemFS()
	s := openMem(t, fsys)
	set(t, s, "C1", "v")
	must(t, s.Discard())
	if _, err := fsys.Stat("crawl"); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("the directory is still there: %v", err)
	}
	s = openMem(t, fsys)
	set(t, s, "C1", "v")
	must(t, s.Close())
	s = openMem(t, fsys)
	must(t, s.Discard())
	s = openMem(t, fsys)
	wantValue(t, s, "C1", "v")
	must(t, s.Close())
}

// faulty returns a file system whose writes fail with err once on is called.
func faulty(fsys FS, err error) (FS, func(on bool)) {
	var mu sync.Mutex
	failing := false
	inj := errorfs.InjectorFunc(func(op errorfs.Op) error {
		mu.Lock()
		defer mu.Unlock()
		if failing && op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			return err
		}
		return nil
	})
	return errorfs.Wrap(fsys, inj), func(on bool) {
		mu.Lock()
		failing = on
		mu.Unlock()
	}
}

func TestReadOnly(t *testing.T) {
	fsys, fail := faulty(NewMemFS(), &fs.PathError{Op: "open", Path: "crawl/LOCK", Err: syscall.EROFS})
	s := openMem(t, fsys)
	must(t, s.Close())
	fail(true)
	_, err := Open("crawl", Options{FS: fsys})
	if !errors.Is(err, syscall.EROFS) {
		t.Fatalf("existing directory: %v", err)
	}
	if _, err = Open("other", Options{FS: fsys}); !errors.Is(err, syscall.EROFS) {
		t.Fatalf("new directory: %v", err)
	}
}

func TestFullDisk(t *testing.T) {
	for _, sync := range []bool{true, false} {
		t.Run(fmt.Sprint("sync=", sync), func(t *testing.T) {
			mem := NewMemFS()
			fsys, fail := faulty(mem, syscall.ENOSPC)
			s := openMem(t, fsys)
			set(t, s, "C1", "before")
			update := s.Update
			if !sync {
				update = s.UpdateNoSync
			}
			fail(true)
			big := bytes.Repeat([]byte("x"), 1<<20)
			var err error
			for i := 0; err == nil && i < 200; i++ { // memtables fill up; flushes fail
				err = update(context.Background(), func(tx *Tx) error {
					tx.Set(fmt.Appendf(nil, "C%d", 100+i), big)
					return nil
				})
			}
			if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "write store") {
				t.Fatalf("got %v", err)
			}
			fail(false) // space again: but what memory holds is not what the disk holds
			if err := update(context.Background(), func(tx *Tx) error {
				tx.Set([]byte("C2"), []byte("after"))
				return nil
			}); !errors.Is(err, syscall.ENOSPC) {
				t.Fatalf("after the first failure: %v", err)
			}
			wantValue(t, s, "C1", "before") // reading goes on
			must(t, s.Close())
			s = openMem(t, mem)
			defer s.Close()
			wantValue(t, s, "C1", "before")
			wantValue(t, s, "C2", "")
			set(t, s, "C2", "works")
		})
	}
}

// lowFS says how much is free.
type lowFS struct {
	FS
	free uint64
}

func (l *lowFS) GetDiskUsage(string) (DiskUsage, error) { return DiskUsage{AvailBytes: l.free}, nil }
func (l *lowFS) Unwrap() vfs.FS                         { return l.FS }

func TestLowWater(t *testing.T) {
	l := &lowFS{NewMemFS(), 10 << 20}
	s, err := Open("crawl", Options{FS: l, LowWater: 100 << 20})
	must(t, err)
	defer s.Close()
	update := func() error {
		return s.Update(context.Background(), func(tx *Tx) error { tx.Set([]byte("C1"), nil); return nil })
	}
	if err := update(); !errors.Is(err, ErrLowSpace) || !strings.Contains(err.Error(), "store.low_water") {
		t.Fatalf("got %v", err)
	}
	l.free = 1 << 30
	s.diskAt = time.Time{} // a second later
	must(t, update())
}

func TestCheckpoint(t *testing.T) {
	fsys := NewMemFS()
	s := openMem(t, fsys)
	set(t, s, "C1", "v")
	must(t, s.Checkpoint("backup"))
	set(t, s, "C1", "later")
	must(t, s.Close())
	b, err := Open("backup", Options{FS: fsys})
	must(t, err)
	wantValue(t, b, "C1", "v")
	must(t, b.Close())
}

func TestTruncate(t *testing.T) {
	dir := t.TempDir()
	for name, fsys := range map[string]FS{"memory": NewMemFS(), "disk": OSFS()} {
		t.Run(name, func(t *testing.T) {
			path := fsys.PathJoin(dir, "f")
			must(t, fsys.MkdirAll(dir, 0o755))
			must(t, WriteFile(fsys, path, []byte("0123456789")))
			must(t, Truncate(fsys, path, 4))
			b, err := ReadFile(fsys, path, 100)
			if err != nil && !errors.Is(err, io.EOF) || string(b) != "0123" {
				t.Fatalf("got %q, %v", b, err)
			}
		})
	}
}

func TestAfter(t *testing.T) {
	for in, want := range map[string]string{"a": "b", "a\xff": "b", "\xff\xff": "", "ab": "ac"} {
		if got := After([]byte(in)); string(got) != want || (want == "") != (got == nil) {
			t.Errorf("After(%q) = %q", in, got)
		}
	}
}
