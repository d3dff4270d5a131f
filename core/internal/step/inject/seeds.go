// Package inject puts seeds into the CrawlDB. It owns the seed list's form
// (Nutch's: a URL, then key=value pairs, separated by tabs) and where lists come from; how a seed
// merges with a record is package transition's.
package inject

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gonutch/crawler/core/internal/db/transition"
	"github.com/gonutch/crawler/sdk/model"
)

// Seed is one line of a seed list.
type Seed struct {
	URL   string
	Where string // file:line, or "command line"
	transition.Seed
}

// maxLine bounds a line of a seed list.
const maxLine = 1 << 20

// maxErrors bounds the faults of one seed list that are reported.
const maxErrors = 10

// Read reads seeds from sources (see Open) into memory.
func Read(sources []string, stdin io.Reader) ([]Seed, error) {
	l, err := Open(sources, stdin)
	if err != nil {
		return nil, err
	}
	var seeds []Seed
	n, err := l.each(func(s Seed) error {
		seeds = append(seeds, s)
		return nil
	})
	if err = errors.Join(err, l.Close()); err == nil {
		err = l.some(n)
	}
	if err != nil {
		return nil, err
	}
	return seeds, nil
}

// errStop wraps what a caller's function returned, so that it is not taken for a fault
// of the list.
type errStop struct{ error }

// parse calls f with the seeds of one text, and returns its faults together.
func parse(name string, r io.Reader, f func(Seed) error) error {
	r, err := unpacked(r)
	if err != nil {
		return fmt.Errorf("read seeds: %s: %w", name, err)
	}
	var errs []error
	sc := bufio.NewScanner(r)
	sc.Buffer(make([]byte, 64<<10), maxLine)
	for n := 1; sc.Scan(); n++ {
		line := sc.Text()
		if n == 1 {
			line = strings.TrimPrefix(line, "\ufeff")
		}
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		where := fmt.Sprintf("%s:%d", name, n)
		if len(errs) == maxErrors {
			return errors.Join(append(errs, fmt.Errorf("%s: and perhaps more: these are the first %d faults", where, maxErrors))...)
		}
		if !utf8.ValidString(line) || strings.ContainsRune(line, 0) {
			return errors.Join(append(errs, fmt.Errorf("%s: this is no text in UTF-8; a seed list has one URL on each line", where))...)
		}
		s, err := parseLine(line)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", where, err))
			continue
		}
		s.Where = where
		if err := f(s); err != nil {
			return errStop{err}
		}
	}
	if err := sc.Err(); err != nil {
		errs = append(errs, fmt.Errorf("read seeds: %s: %w", name, err))
	}
	return errors.Join(errs...)
}

// unpacked undoes gzip, which goes by the first bytes.
func unpacked(r io.Reader) (io.Reader, error) {
	b := bufio.NewReader(r)
	if head, _ := b.Peek(2); string(head) != "\x1f\x8b" {
		return b, nil
	}
	return gzip.NewReader(b)
}

// parseLine reads "URL TAB key=value TAB …" (nutch.md 6.2).
func parseLine(line string) (Seed, error) {
	parts := strings.Split(line, "\t")
	s := Seed{URL: strings.TrimSpace(parts[0])}
	for _, p := range parts[1:] {
		key, value, ok := strings.Cut(strings.TrimSpace(p), "=")
		if key == "" && !ok {
			continue
		}
		if !ok || key == "" {
			return s, fmt.Errorf("%.80q after the URL is not key=value", p)
		}
		switch key {
		case "nutch.score":
			f, err := strconv.ParseFloat(value, 64)
			if err != nil || !(f >= 0 && f <= 1e12) { // NaN too
				return s, fmt.Errorf("nutch.score=%s: want a number from 0 on", value)
			}
			s.Score, s.ScoreSet = int64(f*model.Micro), true
		case "nutch.fetchInterval", "nutch.fetchInterval.fixed":
			sec, err := strconv.ParseInt(value, 10, 64)
			if err != nil || sec <= 0 || sec > 100*365*24*3600 {
				return s, fmt.Errorf("%s=%s: want a number of seconds", key, value)
			}
			if s.FixedInterval && key == "nutch.fetchInterval" {
				continue // the fixed one wins
			}
			s.Interval = time.Duration(sec) * time.Second
			s.FixedInterval = key == "nutch.fetchInterval.fixed"
		default:
			if s.Metadata == nil {
				s.Metadata = model.Metadata{}
			}
			s.Metadata.Add(key, value)
		}
	}
	return s, nil
}
