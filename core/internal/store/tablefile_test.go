package store

import (
	"bytes"
	"errors"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

func TestTableFile(t *testing.T) {
	fs := NewMemFS()
	_, g := newGates(fs)
	f, err := g.Create("000001.sst", category)
	must(t, err)
	if _, ok := f.(*tableFile); !ok {
		t.Fatalf("a table is written through a %T", f)
	}
	var want []byte
	for i, n := range []int{0, 1, 4096, tableBuffer - 1, tableBuffer, tableBuffer + 1, 3, 100_000, 7} {
		p := bytes.Repeat([]byte{byte('a' + i)}, n)
		want = append(want, p...) // before the write, which may change p (vfs.File)
		if m, err := f.Write(p); m != n || err != nil {
			t.Fatalf("write %d bytes: %d, %v", n, m, err)
		}
		switch i {
		case 3:
			must(t, f.SyncData())
		case 5:
			if st, err := f.Stat(); err != nil || st.Size() != int64(len(want)) {
				t.Errorf("size %v after %d bytes: %v", st, len(want), err)
			}
		}
	}
	must(t, f.Close())
	got, err := ReadFile(fs, "000001.sst", 1<<20)
	must(t, err)
	if !bytes.Equal(got, want) {
		t.Errorf("%d bytes written, %d there, or other ones", len(want), len(got))
	}
	if f, err := g.Create("000002.log", category); err != nil {
		t.Fatal(err)
	} else if _, ok := f.(*tableFile); ok {
		t.Error("the log waits in a buffer")
	}
}

var errFull = errors.New("disk full")

type fullFile struct{ vfs.File }

func (fullFile) Write([]byte) (int, error) { return 0, errFull }
func (fullFile) Sync() error               { return nil }
func (fullFile) Close() error              { return nil }

// What a write would have reported is reported by the call that makes the bytes count.
func TestTableFileFails(t *testing.T) {
	for name, call := range map[string]func(*tableFile) error{
		"sync": (*tableFile).Sync, "close": (*tableFile).Close, "sync data": (*tableFile).SyncData,
		"sync to": func(f *tableFile) error { _, err := f.SyncTo(1); return err },
		"write":   func(f *tableFile) error { _, err := f.Write(make([]byte, tableBuffer)); return err },
	} {
		f := &tableFile{File: fullFile{}}
		if _, err := f.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		if err := call(f); !errors.Is(err, errFull) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
