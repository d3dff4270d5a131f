// Package librules reads the rule files of URL filters and normalizers: lines
// with the place they stand at, and the +/- rules that several filters share. It
// must not know what rules are for.
package librules

import (
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// MaxFile bounds a rule file, unpacked, in bytes.
const MaxFile = 256 << 20

// Line is one line of a rule file.
type Line struct {
	Text string // without the end of line
	At   string // "file:line"
}

// Lines are the lines of a rule file, or of rules given in the configuration.
type Lines struct {
	Name  string
	Lines []Line
}

// Load returns the rules given in the configuration, if there are any, else
// those of the file, else those built in. The file may be packed by gzip or
// bzip2.
func Load(file string, rules []string, builtin string) (*Lines, error) {
	switch {
	case len(rules) > 0:
		return Split("rules", strings.Join(rules, "\n")), nil
	case file != "":
		b, err := Read(file)
		if err != nil {
			return nil, err
		}
		return Split(file, string(b)), nil
	}
	return Split("built-in rules", builtin), nil
}

// Read reads a file of at most MaxFile bytes, unpacked.
func Read(file string) ([]byte, error) {
	b, err := read(file)
	if err != nil {
		return nil, fmt.Errorf("read rule file %s: %w", file, err)
	}
	return b, nil
}

func read(file string) (_ []byte, err error) {
	f, err := os.Open(file)
	if err != nil {
		var path *os.PathError // which names the file again
		if errors.As(err, &path) {
			err = path.Err
		}
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	raw, err := limited(f)
	if err != nil {
		return nil, err
	}
	switch {
	case bytes.HasPrefix(raw, []byte("\x1f\x8b")):
		z, err := gzip.NewReader(bytes.NewReader(raw))
		if err != nil {
			return nil, err
		}
		return limited(z)
	case bytes.HasPrefix(raw, []byte("BZh")):
		return limited(bzip2.NewReader(bytes.NewReader(raw)))
	}
	return raw, nil
}

func limited(r io.Reader) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, MaxFile+1))
	if err == nil && len(b) > MaxFile {
		err = fmt.Errorf("more than %d MiB", MaxFile>>20)
	}
	return b, err
}

// Split cuts text, which is called name, into lines. A byte order mark at the
// start and carriage returns are taken off.
func Split(name, text string) *Lines {
	l := &Lines{Name: name}
	n := 0
	for s := range strings.SplitSeq(strings.TrimPrefix(text, "\ufeff"), "\n") {
		n++
		l.Lines = append(l.Lines, Line{Text: strings.TrimRight(s, "\r"), At: fmt.Sprintf("%s:%d", name, n)})
	}
	return l
}

// Errorf is an error at the line.
func (l Line) Errorf(format string, args ...any) error {
	return fmt.Errorf("%s: %w", l.At, fmt.Errorf(format, args...))
}

// Empty says that nothing but white space or a # comment is on the line.
func (l Line) Empty() bool {
	t := strings.TrimSpace(l.Text)
	return t == "" || t[0] == '#'
}

// String is the line with its place, as reasons show it.
func (l Line) String() string { return l.At + ": " + l.Text }
