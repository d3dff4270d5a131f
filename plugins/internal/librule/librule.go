// Package librule reads the lines of rule files, or of rules written into the
// configuration, so that every message can say where a rule stands, and the +/-
// rules that several filters share. It must not know what a rule is for.
package librule

import (
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/gonutch/crawler/sdk/fault"
)

// MaxFile is how many bytes a rule file may have, unpacked.
const MaxFile = 256 << 20

// Line is one line of rules.
type Line struct {
	Text string // without the line end
	At   string // file:line, setting:line or setting[index]
}

// Errorf returns an error of kind Invalid that begins with the place, and names the setting
// when the line stands in one.
func (l Line) Errorf(format string, args ...any) error {
	if setting, _, ok := strings.Cut(l.At, "["); ok {
		return fault.Param(setting, "%s: %w", l.At, fmt.Errorf(format, args...))
	}
	return fault.New(fault.Invalid, fmt.Errorf("%s: %w", l.At, fmt.Errorf(format, args...)))
}

// Empty says that nothing but white space or a # comment is on the line.
func (l Line) Empty() bool {
	t := strings.TrimSpace(l.Text)
	return t == "" || t[0] == '#'
}

// String is the line with its place, as reasons show it.
func (l Line) String() string { return l.At + ": " + l.Text }

// Lines are all lines of rules, and where they come from.
type Lines struct {
	Name  string // the file, the setting or "built-in rules"
	Lines []Line
}

// Source says where rules come from; the first that is given counts.
type Source struct {
	Setting string   // name of the setting that holds Inline or Text
	Inline  []string // lines written into the configuration, one each
	Text    string   // lines written into the configuration as one text
	File    string   // path; the file may be packed by gzip or bzip2
	Builtin string   // text
}

// Lines returns the lines of s that are neither empty nor start with #.
func (s Source) Lines() ([]Line, error) {
	all, err := s.Load()
	if err != nil {
		return nil, err
	}
	var out []Line
	for _, l := range all.Lines {
		if strings.TrimSpace(l.Text) != "" && l.Text[0] != '#' {
			out = append(out, l)
		}
	}
	return out, nil
}

// Load returns all lines of s.
func (s Source) Load() (*Lines, error) {
	switch {
	case len(s.Inline) > 0:
		out := &Lines{Name: s.Setting}
		for i, text := range s.Inline {
			// Several lines in one element are as good as several elements.
			at := fmt.Sprintf("%s[%d]", s.Setting, i)
			for _, l := range Split("", text).Lines {
				out.Lines = append(out.Lines, Line{Text: l.Text, At: at})
			}
		}
		return out, nil
	case s.Text != "":
		return Split(s.Setting, s.Text), nil
	case s.File != "":
		b, err := Read(s.File)
		if err != nil {
			return nil, err
		}
		return Split(s.File, string(b)), nil
	}
	return Split("built-in rules", s.Builtin), nil
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

// Read returns the bytes of a rule file, unpacked.
func Read(path string) ([]byte, error) {
	b, err := read(path)
	if err != nil {
		return nil, fault.Errorf(fault.Invalid, "read rule file: %w", err)
	}
	return b, nil
}

func read(path string) (_ []byte, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	raw, err := limited(path, f)
	if err != nil {
		return nil, err
	}
	var unpacked io.Reader
	switch {
	case bytes.HasPrefix(raw, []byte("\x1f\x8b")):
		if unpacked, err = gzip.NewReader(bytes.NewReader(raw)); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	case bytes.HasPrefix(raw, []byte("BZh")):
		unpacked = bzip2.NewReader(bytes.NewReader(raw))
	default:
		return raw, nil
	}
	return limited(path, unpacked)
}

func limited(path string, r io.Reader) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, MaxFile+1))
	if err == nil && len(b) > MaxFile {
		err = fmt.Errorf("more than %d MiB", MaxFile>>20)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return b, nil
}
