package subcollection

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"

	"golang.org/x/net/html/charset"

	"github.com/gonutch/crawler/sdk/fault"
)

// collection is one set of URLs.
type collection struct {
	name, id, key string
	white, black  []string
	line          int
	hasWhite      bool
}

// parseXML reads Nutch's subcollections.xml: subcollection elements with name,
// id, key, whitelist and blacklist, the lists one piece of text a line. Errors
// name file and line.
func parseXML(file string, src []byte) ([]collection, error) {
	d := xml.NewDecoder(bytes.NewReader(src))
	d.CharsetReader = charset.NewReaderLabel
	var out []collection
	var errs []error
	problem := func(line int, format string, args ...any) {
		errs = append(errs, fault.Errorf(fault.Invalid, "%s:%d: %s", file, line, fmt.Sprintf(format, args...)))
	}
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		line, _ := d.InputPos()
		if err != nil {
			problem(line, "%v", err)
			break
		}
		start, ok := tok.(xml.StartElement)
		if !ok {
			continue
		}
		switch start.Name.Local {
		case "subcollections":
		case "subcollection":
			out = append(out, collection{line: line})
		case "name", "id", "key", "whitelist", "blacklist":
			var text string
			if err := d.DecodeElement(&text, &start); err != nil {
				problem(line, "%s: %v", start.Name.Local, err)
				return nil, errors.Join(errs...)
			}
			if len(out) == 0 {
				problem(line, "%s stands outside of subcollection", start.Name.Local)
				continue
			}
			out[len(out)-1].set(start.Name.Local, text)
		default:
			problem(line, "element %s is not known; a subcollection has name, id, key, whitelist and blacklist", start.Name.Local)
		}
	}
	for _, c := range out {
		if c.name == "" {
			problem(c.line, "the subcollection has no name")
		}
		if !c.hasWhite {
			problem(c.line, "subcollection %q has no whitelist, so no URL is in it", c.name)
		}
	}
	return out, errors.Join(errs...)
}

func (c *collection) set(element, text string) {
	switch element {
	case "name":
		c.name = strings.TrimSpace(text)
	case "id":
		c.id = strings.TrimSpace(text)
	case "key":
		c.key = strings.TrimSpace(text)
	case "whitelist":
		c.white, c.hasWhite = append(c.white, lines(text)...), true
	case "blacklist":
		c.black = append(c.black, lines(text)...)
	}
}

func lines(text string) []string {
	var out []string
	for _, l := range strings.Split(text, "\n") {
		if l = strings.TrimSpace(l); l != "" {
			out = append(out, l)
		}
	}
	return out
}

// has reports whether url is in the collection: it holds nothing of the black
// list and something of the white one.
func (c *collection) has(url string) bool {
	for _, b := range c.black {
		if strings.Contains(url, b) {
			return false
		}
	}
	for _, w := range c.white {
		if strings.Contains(url, w) {
			return true
		}
	}
	return false
}
