package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of what the checkers hold of their input.
const (
	checkItems    = 500
	checkBytes    = 1 << 20
	checkLineMax  = 16 << 20
	checkInFlight = 16 // pages at a time
)

// checkLine is one input. TooLong says that the rest of the line was thrown away.
type checkLine struct {
	text    string
	tooLong bool
}

// problem is what is wrong with the line itself.
func (l checkLine) problem() string {
	if l.tooLong {
		return fmt.Sprintf("the line is longer than %s", size(checkLineMax))
	}
	return ""
}

// checkInput yields the arguments, or the lines of standard input, in portions: as
// many as there are without waiting, up to checkItems and checkBytes, so that a
// person gets an answer for each line and a pipe gets large batches.
type checkInput struct {
	args []string
	r    *bufio.Reader // nil: the arguments
}

// inputOf decides where the inputs come from.
func (inv *invocation) inputOf(args []string, stdin bool) (*checkInput, error) {
	if len(args) == 1 && args[0] == "-" {
		args, stdin = nil, true
	}
	switch {
	case stdin && len(args) > 0:
		return nil, usagef("unexpected argument %q: with --stdin the lines of standard input are checked", args[0])
	case stdin:
		return &checkInput{r: bufio.NewReaderSize(inv.app.Stdin, 64<<10)}, nil
	case len(args) == 0:
		return nil, usagef("nothing to check: name URLs, or give --stdin and write one a line to standard input")
	}
	return &checkInput{args: args}, nil
}

// next returns the next portion, empty at the end.
func (in *checkInput) next() ([]checkLine, error) {
	var out []checkLine
	if in.r == nil {
		for _, a := range in.args[:min(len(in.args), checkItems)] {
			out = append(out, checkLine{text: a})
		}
		in.args = in.args[len(out):]
		return out, nil
	}
	for bytes := 0; len(out) < checkItems && bytes < checkBytes && (len(out) == 0 || in.ready()); {
		l, err := in.line()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return out, fmt.Errorf("read standard input: %w", err)
		}
		bytes += len(l.text)
		out = append(out, l)
	}
	return out, nil
}

// ready reports whether a whole line is there already.
func (in *checkInput) ready() bool {
	b, _ := in.r.Peek(in.r.Buffered())
	return bytes.IndexByte(b, '\n') >= 0
}

// line reads a line without its end; io.EOF means that there is none.
func (in *checkInput) line() (checkLine, error) {
	var b []byte
	var l checkLine
	for {
		part, err := in.r.ReadSlice('\n')
		if n := checkLineMax - len(b); len(part) > n {
			l.tooLong, part = true, part[:n]
		}
		b = append(b, part...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && (len(b) > 0 || l.tooLong):
		case err != nil:
			return l, err
		}
		l.text = strings.TrimSuffix(strings.TrimSuffix(string(b), "\n"), "\r")
		return l, nil
	}
}

// checkOutput writes one line for each input, in order, and counts those that
// could not be checked.
type checkOutput struct {
	w             *bufio.Writer
	json          bool
	enc           *json.Encoder
	lines, failed int
}

func (inv *invocation) checkOutput() *checkOutput {
	o := &checkOutput{w: bufio.NewWriterSize(inv.app.Stdout, 64<<10), json: inv.json}
	o.enc = json.NewEncoder(o.w)
	o.enc.SetEscapeHTML(false)
	return o
}

// put writes one answer: v as JSON, or the text, which may be several lines only
// when a person asked for one page.
func (o *checkOutput) put(v any, text string, failed bool) error {
	o.lines++
	if failed {
		o.failed++
	}
	if o.json {
		return o.enc.Encode(v)
	}
	_, err := o.w.WriteString(text + "\n")
	return err
}

// close flushes and says what failed.
func (o *checkOutput) close(err error) error {
	if ferr := o.w.Flush(); ferr != nil && err == nil {
		err = fmt.Errorf("write standard output: %w", ferr)
	}
	if err == nil && o.failed > 0 {
		err = fmt.Errorf("%d of %s could not be checked", o.failed, plural(int64(o.lines), "input"))
	}
	return err
}

// checkBatches hands portions of the input to f, which writes an answer for
// each line.
func checkBatches(ctx context.Context, in *checkInput, out *checkOutput, f func(context.Context, []checkLine) error) error {
	for ctx.Err() == nil {
		lines, err := in.next()
		if len(lines) > 0 {
			err = errors.Join(f(ctx, lines), err)
		}
		if err == nil {
			err = out.w.Flush()
		}
		if err != nil || len(lines) == 0 {
			return err
		}
	}
	return context.Cause(ctx)
}

// checkEach has look work on several lines at once and hands what it found to
// write in the order of the input. Answers that wait for an earlier one are
// bounded by checkInFlight.
func checkEach[T any](ctx context.Context, in *checkInput, out *checkOutput,
	look func(context.Context, checkLine) (T, error), write func(checkLine, T) error,
) error {
	type answer struct {
		v   T
		err error
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	return checkBatches(ctx, in, out, func(ctx context.Context, lines []checkLine) error {
		answers := make([]chan answer, len(lines))
		slots := make(chan struct{}, checkInFlight)
		begun := 0
		begin := func() {
			i := begun
			begun++
			answers[i] = make(chan answer, 1)
			slots <- struct{}{}
			go func() {
				defer func() { <-slots }()
				v, err := look(ctx, lines[i])
				answers[i] <- answer{v, err}
			}()
		}
		var failed error
		for i := range lines {
			for failed == nil && begun < len(lines) && begun < i+checkInFlight {
				begin()
			}
			if i >= begun {
				break
			}
			a := <-answers[i]
			if failed != nil {
				continue // only waiting for what was begun
			}
			if failed = a.err; failed == nil {
				failed = write(lines[i], a.v)
			}
			if failed == nil {
				failed = out.w.Flush()
			}
			if failed != nil {
				cancel(failed)
			}
		}
		return failed
	})
}

// visible writes a text from a stranger on one line: what would disturb a terminal
// or end the line is written as an escape, bytes that are no UTF-8 as \xNN.
func visible(s string) string {
	plain := true
	for _, r := range s {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			plain = false
			break
		}
	}
	if plain {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[0])
		case !unicode.IsPrint(r):
			q := strconv.QuoteRune(r)
			b.WriteString(q[1 : len(q)-1])
		default:
			b.WriteRune(r)
		}
		s = s[n:]
	}
	return b.String()
}
