package export

import (
	"bufio"
	"container/heap"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
)

// runBytes is how much the sorter holds before it writes a run.
const runBytes = 64 << 20

// sorter sorts lines bytewise in bounded memory: full portions go sorted into files of dir, which
// are merged in the end.
type sorter struct {
	dir   string
	most  int
	lines []string
	bytes int
	runs  []*os.File
}

func (s *sorter) add(line string) error {
	s.lines = append(s.lines, line)
	if s.bytes += len(line) + len("16 bytes of head"); s.bytes < s.most {
		return nil
	}
	return s.spill()
}

func (s *sorter) spill() error {
	f, err := os.CreateTemp(s.dir, ".cdxj.*")
	if err != nil {
		return fmt.Errorf("sort: %w", err)
	}
	s.runs = append(s.runs, f)
	if err := os.Remove(f.Name()); err != nil { // nothing is left when the process is killed
		return fmt.Errorf("sort: %w", err)
	}
	slices.Sort(s.lines)
	w := bufio.NewWriter(f)
	for _, l := range s.lines {
		_, err = w.WriteString(l + "\n")
	}
	s.lines, s.bytes = s.lines[:0], 0
	if err = errors.Join(err, w.Flush()); err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	return err
}

// close removes the runs.
func (s *sorter) close() error {
	var errs []error
	for _, f := range s.runs {
		errs = append(errs, f.Close())
	}
	s.runs = nil
	return errors.Join(errs...)
}

type run struct {
	line string
	r    *bufio.Reader
}

type runs []run

func (h runs) Len() int           { return len(h) }
func (h runs) Less(i, j int) bool { return h[i].line < h[j].line }
func (h runs) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *runs) Push(x any)        { *h = append(*h, x.(run)) }
func (h *runs) Pop() any {
	n := len(*h) - 1
	x := (*h)[n]
	*h = (*h)[:n]
	return x
}

// writeTo writes all lines in order, each with a line end. Lines must not be empty.
func (s *sorter) writeTo(w io.Writer) error {
	slices.Sort(s.lines)
	if len(s.runs) > 0 {
		if err := s.spill(); err != nil {
			return err
		}
	}
	for _, l := range s.lines {
		if _, err := io.WriteString(w, l+"\n"); err != nil {
			return err
		}
	}
	var h runs
	for _, f := range s.runs {
		h = append(h, run{r: bufio.NewReader(f)})
	}
	for i := 0; i < len(h); i++ {
		line, err := h[i].r.ReadString('\n')
		if errors.Is(err, io.EOF) {
			h = slices.Delete(h, i, i+1)
			i--
			continue
		}
		if err != nil {
			return err
		}
		h[i].line = line
	}
	heap.Init(&h)
	for len(h) > 0 {
		if _, err := io.WriteString(w, h[0].line); err != nil {
			return err
		}
		line, err := h[0].r.ReadString('\n')
		switch {
		case errors.Is(err, io.EOF):
			heap.Pop(&h)
			continue
		case err != nil:
			return err
		}
		h[0].line = line
		heap.Fix(&h, 0)
	}
	return nil
}
