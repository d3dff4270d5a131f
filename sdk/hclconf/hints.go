package hclconf

import (
	"bytes"
	"fmt"
	"regexp"
	"sort"
	"strings"

	"github.com/hashicorp/hcl/v2"
)

// otherFormat names the format that src obviously is in, or "".
func otherFormat(src []byte) string {
	t := bytes.TrimLeft(src, " \t\r\n")
	switch {
	case bytes.HasPrefix(t, []byte("<")):
		return "XML"
	case bytes.HasPrefix(t, []byte("{")):
		return "JSON"
	case bytes.HasPrefix(t, []byte("---")):
		return "YAML"
	}
	return ""
}

// FromDiags turns the parser's findings into problems, in our words where
// people often go wrong. Of a line only the first finding is kept: what follows
// is the parser being lost.
func (f *File) FromDiags(diags hcl.Diagnostics) Problems { return f.fromDiags(diags, nil) }

func (f *File) fromDiags(diags hcl.Diagnostics, ctx *hcl.EvalContext) Problems {
	var ps Problems
	lines := map[int]bool{}
	for _, d := range diags {
		if d.Severity != hcl.DiagError {
			continue
		}
		r := hcl.Range{}
		if d.Subject != nil {
			r = *d.Subject
		}
		if lines[r.Start.Line] {
			continue
		}
		lines[r.Start.Line] = true
		ps = append(ps, f.Problem(r, "%s", f.hint(d, r, ctx)))
	}
	return ps
}

func (f *File) hint(d *hcl.Diagnostic, r hcl.Range, ctx *hcl.EvalContext) string {
	if v := f.bareText(r); v != "" {
		return fmt.Sprintf("text must stand in quotes: write %q", v)
	}
	switch d.Summary {
	case "Invalid escape sequence":
		return `a backslash in quotes must be written twice, such as "\\." in a regular expression`
	case "Invalid single-argument block definition":
		return "a block with more than one setting must be written on several lines, one setting each"
	case "Variables not allowed", "Unknown variable":
		return "settings can't refer to others: write the value; for the characters ${ write $${"
	case "Invalid multi-line string", "Unterminated template string":
		return "the text is not closed: a quote is missing"
	case "Unclosed configuration block":
		return "the block is not closed: a } is missing"
	case "Attribute redefined":
		return fmt.Sprintf("%s was set before in this block", f.Text(r))
	case "Argument or block definition required", "Invalid argument name", "Unsupported block type", "Invalid block definition":
		return f.lineHint(r, d)
	case "Call to unknown function", "Function calls not allowed":
		return noFunction(f.Text(r), ctx)
	case "Error in function call":
		_, text, ok := strings.Cut(d.Detail, " failed: ")
		if ok {
			return strings.TrimSuffix(text, ".")
		}
	case "Invalid character":
		if f.Text(r) == ";" {
			return "settings are separated by line ends, not by \";\""
		}
	}
	return general(d)
}

// bareText returns the value that begins with a digit and goes on as a word, such as 2s or 1MiB,
// when r is where a parser is lost that took the digits for a number; "" otherwise.
func (f *File) bareText(r hcl.Range) string {
	at := min(r.Start.Byte, len(f.Src))
	from := bytes.LastIndexByte(f.Src[:at], '\n') + 1
	line, _, _ := bytes.Cut(f.Src[from:], []byte("\n"))
	for _, m := range regexp.MustCompile(`[=\[,]\s*([0-9][0-9.]*[\pL%/:_-][^\s"\]},#]*)`).FindAllSubmatchIndex(line, -1) {
		if m[2] < at-from && at-from <= m[3] {
			return string(line[m[2]:m[3]])
		}
	}
	return ""
}

func noFunction(name string, ctx *hcl.EvalContext) string {
	if ctx == nil {
		return "functions can't be used here: write the value"
	}
	known := make([]string, 0, len(ctx.Functions))
	for k := range ctx.Functions {
		known = append(known, k)
	}
	sort.Strings(known)
	return fmt.Sprintf("there is no function %s; there are %s", name, strings.Join(known, ", "))
}

// lineHint looks at the whole line when the parser expected a setting or block.
func (f *File) lineHint(r hcl.Range, d *hcl.Diagnostic) string {
	from := bytes.LastIndexByte(f.Src[:min(r.Start.Byte, len(f.Src))], '\n') + 1
	line, _, _ := bytes.Cut(f.Src[from:], []byte("\n"))
	text := strings.TrimSpace(string(line))
	if m := regexp.MustCompile(`^([\w-]+)\.([\w.-]+)\s*[=:]`).FindStringSubmatch(text); m != nil {
		return fmt.Sprintf("names are not dotted: write %s { %s = ... }", m[1], strings.ReplaceAll(m[2], ".", "_"))
	}
	if m := regexp.MustCompile(`^"?([\w-]+)"?\s*:`).FindStringSubmatch(text); m != nil {
		return fmt.Sprintf("write %s = ... for a setting, %s { ... } for a block; \":\" is not used", m[1], m[1])
	}
	if m := regexp.MustCompile(`^"([\w-]+)"\s*=`).FindStringSubmatch(text); m != nil {
		return fmt.Sprintf("names have no quotes: write %s = ...", m[1])
	}
	if strings.HasPrefix(text, "}") {
		return "there is a } too many"
	}
	return general(d)
}

// general is the parser's own text in our words.
func general(d *hcl.Diagnostic) string {
	text := strings.TrimSuffix(d.Detail, ".")
	if text == "" {
		text = d.Summary
	}
	text = strings.NewReplacer("An argument", "A setting", "an argument", "a setting", "argument", "setting", "Argument", "Setting").Replace(text)
	if len(text) > 1 && text[0] >= 'A' && text[0] <= 'Z' && (text[1] < 'A' || text[1] > 'Z') {
		return strings.ToLower(text[:1]) + text[1:]
	}
	return text
}
