package parsexml

import (
	"fmt"
	"strings"

	"github.com/gonutch/crawler/plugins/internal/libxml"
)

// path is a place in a document: names of elements that follow each other, from the
// root or from anywhere, and maybe an attribute of the last.
type path struct {
	names    []string // lower case, without prefixes; "*" is any
	attr     string   // "" for the element's text
	anchored bool
}

// parsePath reads a path such as "/book/info/title", "head/title" or "a/@href".
func parsePath(s string) (path, error) {
	var p path
	rest := strings.TrimSpace(s)
	if strings.HasPrefix(rest, "//") {
		rest = rest[2:]
	} else if strings.HasPrefix(rest, "/") {
		rest, p.anchored = rest[1:], true
	}
	steps := strings.Split(rest, "/")
	for i, step := range steps {
		name, isAttr := strings.CutPrefix(step, "@")
		switch {
		case name == "" || strings.ContainsAny(name, "@[]()='\" \t"):
			return p, fmt.Errorf("path %q: %q is no name; write names separated by \"/\", an attribute last as \"@name\"", s, step)
		case isAttr && i < len(steps)-1:
			return p, fmt.Errorf("path %q: an attribute comes last", s)
		case isAttr:
			p.attr = libxml.Local(name)
		default:
			p.names = append(p.names, libxml.Local(name))
		}
	}
	return p, nil
}

// at reports whether the innermost of the open elements is the path's.
func (p *path) at(open []string) bool {
	if len(open) < len(p.names) || p.anchored && len(open) != len(p.names) {
		return false
	}
	tail := open[len(open)-len(p.names):]
	for i, n := range p.names {
		if n != "*" && n != tail[i] {
			return false
		}
	}
	return true
}
