// Package hclconf reads HCL 2 texts that strangers wrote and says well what is
// wrong with them. It owns parsing with limits, the evaluation of expressions
// to plain Go values, and the form of problems: place, text, source line,
// suggestion. It must not know what the texts mean; manifest and configuration
// do.
package hclconf

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
)

// MaxShown is how many problems Error prints; the rest is counted.
const MaxShown = 20

// maxLine is how many bytes of a source line are shown.
const maxLine = 120

// Problem is one thing that is wrong and what to do about it.
type Problem struct {
	Where  string // "site.hcl:3:5", "environment CRAWLER_X", "-D http.timeout"
	Text   string // what is wrong, and what to write instead
	Source string // the source line, cut and made printable; "" when there is none
	Column int    // where the caret goes in Source, in characters from 0
	Width  int    // how many carets, at least 1
	file   string
	line   int
	column int
}

// String is the problem as people read it: the place and text, then the source
// line with a caret below it.
func (p Problem) String() string {
	s := p.Text
	if p.Where != "" {
		s = p.Where + ": " + p.Text
	}
	if p.Source == "" {
		return s
	}
	pad := strings.Map(func(r rune) rune {
		if r == '\t' {
			return r
		}
		return ' '
	}, firstRunes(p.Source, p.Column))
	return fmt.Sprintf("%s\n    %s\n    %s%s", s, p.Source, pad, strings.Repeat("^", max(1, p.Width)))
}

// Problems are collected and shown together. The zero value is empty and ready.
type Problems []Problem

// Error shows the first MaxShown problems, each on its own lines.
func (ps Problems) Error() string {
	var b strings.Builder
	for i, p := range ps {
		if i == MaxShown {
			fmt.Fprintf(&b, "\nand %d more problems", len(ps)-i)
			break
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(p.String())
	}
	return b.String()
}

// Err returns ps in order of file and place, or nil when there is none.
func (ps Problems) Err() error {
	if len(ps) == 0 {
		return nil
	}
	files := map[string]int{} // in the order in which they were read
	for _, p := range ps {
		if _, ok := files[p.file]; !ok {
			files[p.file] = len(files)
		}
	}
	out := slices.Clone(ps)
	slices.SortStableFunc(out, func(a, b Problem) int {
		return cmp.Or(files[a.file]-files[b.file], a.line-b.line, a.column-b.column)
	})
	return out
}

// Merge returns the problems that errs hold, each once and in order of file and place,
// as one Problems, with the other errors behind them. It is nil when all errs are.
func Merge(errs ...error) error {
	var ps Problems
	var others []error
	seen := map[Problem]bool{}
	var add func(error)
	add = func(err error) {
		if list, ok := err.(Problems); ok { //nolint:errorlint // what wraps others is taken apart below
			for _, p := range list {
				if !seen[p] {
					seen[p] = true
					ps = append(ps, p)
				}
			}
			return
		}
		if joined, ok := err.(interface{ Unwrap() []error }); ok {
			for _, e := range joined.Unwrap() {
				add(e)
			}
			return
		}
		if err != nil {
			others = append(others, err)
		}
	}
	for _, err := range errs {
		add(err)
	}
	if len(others) == 0 {
		return ps.Err()
	}
	return errors.Join(append([]error{ps.Err()}, others...)...)
}

// File is a parsed text, kept to quote its lines.
type File struct {
	Name string
	Src  []byte
}

// Problem describes trouble at r of f.
func (f *File) Problem(r hcl.Range, format string, args ...any) Problem {
	p := Problem{
		Where: f.Place(r), Text: fmt.Sprintf(format, args...), Width: 1,
		file: f.Name, line: r.Start.Line, column: r.Start.Column,
	}
	start := min(max(r.Start.Byte, 0), len(f.Src))
	from := strings.LastIndexByte(string(f.Src[:start]), '\n') + 1
	to := len(f.Src)
	if i := strings.IndexByte(string(f.Src[from:]), '\n'); i >= 0 {
		to = from + i
	}
	end := min(max(r.End.Byte, start), to)
	p.Source, p.Column, p.Width = quote(hidePasswords(string(f.Src[from:to])), start-from, max(end-from, start-from))
	return p
}

var userinfo = regexp.MustCompile(`://[^/@\s"]*:[^/@\s"]+@`)

// hidePasswords writes as many x for each password in a URL.
func hidePasswords(line string) string {
	return userinfo.ReplaceAllStringFunc(line, func(s string) string {
		colon := strings.IndexByte(s[3:], ':') + 4
		return s[:colon] + strings.Repeat("x", len(s)-1-colon) + "@"
	})
}

// Place is r of f as "file:line:column".
func (f *File) Place(r hcl.Range) string {
	if r.Start.Line == 0 {
		return f.Name
	}
	return fmt.Sprintf("%s:%d:%d", f.Name, r.Start.Line, r.Start.Column)
}

// quote makes line printable, cuts it round the bytes [start,end) and returns
// the caret's column and width in characters. Blanks at the line's start go.
func quote(line string, start, end int) (string, int, int) {
	start, end = min(start, len(line)), min(end, len(line))
	left := 0
	for left < start && (line[left] == ' ' || line[left] == '\t') {
		left++
	}
	if len(line)-left > maxLine && start-left > maxLine/2 {
		left = start - maxLine/2
		for left < start && !utf8.RuneStart(line[left]) {
			left++
		}
	}
	right := min(len(line), left+maxLine)
	for right < len(line) && right > left && !utf8.RuneStart(line[right]) {
		right--
	}
	end = min(end, right)
	text := printable(line[left:right])
	col := utf8.RuneCountInString(printable(line[left:start]))
	width := utf8.RuneCountInString(printable(line[start:max(start, end)]))
	return strings.TrimRight(text, " \t\r"), col, max(1, width)
}

func printable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\r':
			return -1
		case r == '\t' || unicode.IsPrint(r) && r != utf8.RuneError:
			return r
		}
		return '\uFFFD'
	}, s)
}

func firstRunes(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s + strings.Repeat(" ", n)
}
