package hadoop

import (
	"container/heap"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Parts returns the data files of a job's output folder: of each part-* the file itself, or data when it is a MapFile. A folder that is a MapFile itself
// has one. There are none, and no error, when the folder is not there. Hidden files and those that begin with "_" are not looked at.
func Parts(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range entries { // in order
		name := filepath.Join(dir, e.Name())
		st, err := os.Stat(name)
		if err != nil {
			return nil, err
		}
		switch {
		case !strings.HasPrefix(e.Name(), "part-") && (e.Name() != dataFile || st.IsDir()):
		case st.IsDir():
			out = append(out, filepath.Join(name, dataFile))
		default:
			out = append(out, name)
		}
	}
	return out, nil
}

// Files of a MapFile.
const (
	dataFile  = "data"
	indexFile = "index"
)

// OpenMap opens the data file of a MapFile, whose keys ascend. When its index is there, it is used to see whether data is whole.
func OpenMap(data string, o Options) (*File, error) {
	f, err := Open(data, o)
	if err != nil {
		return nil, err
	}
	if err := indexed(filepath.Join(filepath.Dir(data), indexFile), f.size, o); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// indexed compares the last entry of an index with the size of data.
func indexed(name string, size int64, o Options) error {
	f, err := Open(name, o)
	if errors.Is(err, os.ErrNotExist) {
		return nil // MapFile.fix would make it anew, nobody needs it here
	}
	if err != nil {
		return err
	}
	defer f.Close()
	for {
		_, v, err := f.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		d := NewDecoder(v)
		if at := d.Int64(); d.Finish() != nil || at < 0 || at >= size {
			return f.Wrong(fmt.Errorf("%w: it names a record at byte %d, %s beside it has %d bytes: one of them is not whole", ErrCorrupt, at, dataFile, size))
		}
	}
}

// Record is a record of one of several files.
type Record struct {
	Key   string // of a Text
	Value []byte // as its class wrote it; valid until the next record is asked for
	File  *File
}

// Sorted reads the MapFiles of one job, which each have other keys in ascending order, as one.
type Sorted struct {
	heads []head
	last  *head // the one whose file has to go on
	all   []*File
}

type head struct {
	Record
	eof bool
}

// OpenSorted opens data files of MapFiles. Nothing stays open after an error.
func OpenSorted(names []string, o Options) (_ *Sorted, err error) {
	s := &Sorted{}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	for _, name := range names {
		f, err := OpenMap(name, o)
		if err != nil {
			return nil, err
		}
		s.all = append(s.all, f)
		h := head{Record: Record{File: f}}
		if err := h.next(); err != nil {
			return nil, err
		}
		if !h.eof {
			s.heads = append(s.heads, h)
		}
	}
	heap.Init(byKey{s})
	return s, nil
}

// next reads the next record of h's file.
func (h *head) next() error {
	key, value, err := h.File.Next()
	if errors.Is(err, io.EOF) {
		h.eof = true
		return nil
	}
	if err != nil {
		return err
	}
	k, err := h.File.TextKey(key)
	if err != nil {
		return err
	}
	if k < h.Key {
		return h.File.Wrong(fmt.Errorf("%w: key %q comes after %q; keys of a MapFile ascend", ErrCorrupt, k, h.Key))
	}
	h.Key, h.Value = k, value
	return nil
}

// TextKey returns a key that is a Text, or a UTF8 as it was before.
func (f *File) TextKey(key []byte) (string, error) {
	d := NewDecoder(key)
	var k string
	switch f.KeyClass {
	case "org.apache.hadoop.io.Text":
		k = d.Text()
	case "org.apache.hadoop.io.UTF8":
		k = d.UTF()
	default:
		return "", f.Wrong(fmt.Errorf("keys are of class %s, want org.apache.hadoop.io.Text", f.KeyClass))
	}
	if err := d.Finish(); err != nil {
		return "", f.Wrong(fmt.Errorf("its key: %w", err))
	}
	return k, nil
}

// Peek returns the next key without reading its record; false at the end.
func (s *Sorted) Peek() (string, bool, error) {
	if err := s.settle(); err != nil || len(s.heads) == 0 {
		return "", false, err
	}
	return s.heads[0].Key, true, nil
}

// Next returns the record with the smallest key, or io.EOF.
func (s *Sorted) Next() (Record, error) {
	if err := s.settle(); err != nil {
		return Record{}, err
	}
	if len(s.heads) == 0 {
		return Record{}, io.EOF
	}
	s.last = &s.heads[0]
	return s.last.Record, nil
}

// settle lets the file whose record was handed out go on.
func (s *Sorted) settle() error {
	if s.last == nil {
		return nil
	}
	h := s.last
	s.last = nil
	if err := h.next(); err != nil {
		return err
	}
	if h.eof {
		heap.Pop(byKey{s})
	} else {
		heap.Fix(byKey{s}, 0)
	}
	return nil
}

// Close closes all files.
func (s *Sorted) Close() error {
	var errs []error
	for _, f := range s.all {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}

// byKey implements heap.Interface.
type byKey struct{ *Sorted }

func (s byKey) Len() int           { return len(s.heads) }
func (s byKey) Less(i, j int) bool { return s.heads[i].Key < s.heads[j].Key }
func (s byKey) Swap(i, j int)      { s.heads[i], s.heads[j] = s.heads[j], s.heads[i] }
func (s byKey) Push(any)           {} // heads are only taken away

func (s byKey) Pop() any {
	n := len(s.heads) - 1
	h := s.heads[n]
	s.heads = s.heads[:n]
	return h
}

// Bytes returns how many bytes of the files were read.
func (s *Sorted) Bytes() (n int64) {
	for _, f := range s.all {
		n += f.at
	}
	return n
}
