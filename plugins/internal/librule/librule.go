// Package librule reads the lines of rule files, or of rules written into the
// configuration, so that every message can say where a rule stands. It must not
// know what a rule means.
package librule

import (
	"fmt"
	"os"
	"strings"

	"github.com/gonutch/crawler/sdk/fault"
)

// MaxFile is how many bytes a rule file may have.
const MaxFile = 64 << 20

// Line is one line that is neither empty nor a comment.
type Line struct {
	Text string // without the line end
	At   string // file:line, setting:line or setting[index]
}

// Errorf returns an error of kind Invalid that begins with the place.
func (l Line) Errorf(format string, args ...any) error {
	return fault.Errorf(fault.Invalid, l.At+": "+format, args...)
}

// Source says where rules come from; the first that is given counts.
type Source struct {
	Setting string   // name of the setting that holds Inline or Text
	Inline  []string // lines written into the configuration, one each
	Text    string   // lines written into the configuration as one text
	File    string   // path
	Builtin string   // text
}

// Lines returns the lines of s; those that start with # are comments.
func (s Source) Lines() ([]Line, error) {
	if len(s.Inline) > 0 {
		var out []Line
		for i, text := range s.Inline {
			// Several lines in one element are as good as several elements.
			out = split(out, text, func(int) string { return fmt.Sprintf("%s[%d]", s.Setting, i) })
		}
		return out, nil
	}
	if s.Text != "" {
		return split(nil, s.Text, func(n int) string { return fmt.Sprintf("%s:%d", s.Setting, n) }), nil
	}
	if s.File == "" {
		return split(nil, s.Builtin, func(n int) string { return fmt.Sprintf("built-in rules:%d", n) }), nil
	}
	b, err := Read(s.File)
	if err != nil {
		return nil, err
	}
	return split(nil, string(b), func(n int) string { return fmt.Sprintf("%s:%d", s.File, n) }), nil
}

// Read returns the bytes of a rule file.
func Read(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fault.Errorf(fault.Invalid, "read rule file: %w", err)
	}
	if info.Size() > MaxFile {
		return nil, fault.Errorf(fault.Invalid, "rule file %s has %d bytes; at most %d are read", path, info.Size(), int64(MaxFile))
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fault.Errorf(fault.Invalid, "read rule file: %w", err)
	}
	return b, nil
}

func split(out []Line, text string, at func(n int) string) []Line {
	for i, line := range strings.Split(strings.TrimPrefix(text, "\ufeff"), "\n") {
		line = strings.TrimRight(line, "\r")
		if strings.TrimSpace(line) != "" && line[0] != '#' {
			out = append(out, Line{Text: line, At: at(i + 1)})
		}
	}
	return out
}
