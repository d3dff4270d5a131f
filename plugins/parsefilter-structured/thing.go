package parsefilterstructured

import (
	"encoding/json"
	"errors"
	"html"
	"io"
	"slices"
	"strings"
)

// maxDepth bounds how deep things in things are looked into.
const maxDepth = 32

// thing is one object of JSON-LD or one item of microdata. Values are those of
// encoding/json: thing, []any, string, json.Number, bool or nil.
type thing = map[string]any

// parseJSONLD reads the body of a script. It returns the things at the top: those
// of lists and of @graph count as such. What comes before a fault counts.
func parseJSONLD(body string) ([]thing, error) {
	body = strings.TrimSpace(body)
	for _, wrap := range [...][2]string{{"<!--", "-->"}, {"//<![CDATA[", "//]]>"}, {"<![CDATA[", "]]>"}, {"/*<![CDATA[*/", "/*]]>*/"}} {
		if strings.HasPrefix(body, wrap[0]) {
			body = strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(body, wrap[0]), wrap[1]))
		}
	}
	d := json.NewDecoder(strings.NewReader(strings.TrimSuffix(body, ";")))
	d.UseNumber()
	var out []thing
	for {
		var v any
		switch err := d.Decode(&v); {
		case errors.Is(err, io.EOF):
			return out, nil
		case err != nil:
			return out, err
		}
		out = top(out, v, 0)
	}
}

func top(out []thing, v any, depth int) []thing {
	if depth > maxDepth {
		return out
	}
	switch x := v.(type) {
	case []any:
		for _, e := range x {
			out = top(out, e, depth+1)
		}
	case thing:
		if g, ok := x["@graph"]; ok {
			return top(out, g, depth+1)
		}
		out = append(out, x)
	}
	return out
}

// ofType returns the things of that type in ts, however deep.
func ofType(ts []thing, want string) []thing {
	var out []thing
	var visit func(v any, depth int)
	visit = func(v any, depth int) {
		if depth > maxDepth {
			return
		}
		switch x := v.(type) {
		case []any:
			for _, e := range x {
				visit(e, depth+1)
			}
		case thing:
			if slices.ContainsFunc(texts(x["@type"], nil, 0), func(t string) bool { return strings.EqualFold(bare(t), want) }) {
				out = append(out, x)
			}
			for _, k := range keys(x) {
				visit(x[k], depth+1)
			}
		}
	}
	for _, t := range ts {
		visit(t, 0)
	}
	return out
}

func keys(t thing) []string {
	out := make([]string, 0, len(t))
	for k := range t {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// texts follows path from v and returns what it leads to as texts. Where a text
// stands in place of a thing ("author": "Ann"), the text is the answer; where
// the path ends at a thing, its value, name or address.
func texts(v any, path []string, depth int) []string {
	if depth > maxDepth {
		return nil
	}
	switch x := v.(type) {
	case []any:
		var out []string
		for _, e := range x {
			out = append(out, texts(e, path, depth+1)...)
		}
		return out
	case thing:
		if len(path) > 0 {
			return texts(property(x, path[0]), path[1:], depth+1)
		}
		for _, k := range [...]string{"@value", "name", "url", "@id"} {
			if t := texts(x[k], nil, depth+1); len(t) > 0 {
				return t
			}
		}
	case string:
		if strings.IndexByte(x, '&') >= 0 {
			x = html.UnescapeString(x)
		}
		if x = strings.Join(strings.Fields(x), " "); x != "" {
			return []string{x}
		}
	case json.Number:
		return []string{x.String()}
	case bool:
		if x {
			return []string{"true"}
		}
		return []string{"false"}
	}
	return nil
}

// property returns a property of t, also when it is written with its prefix or
// its whole address ("schema:name", "http://schema.org/name").
func property(t thing, name string) any {
	if v, ok := t[name]; ok {
		return v
	}
	for _, prefix := range [...]string{"schema:", "http://schema.org/", "https://schema.org/"} {
		if v, ok := t[prefix+name]; ok {
			return v
		}
	}
	return nil
}

// bare cuts the vocabulary off a schema.org name.
func bare(s string) string {
	for _, prefix := range [...]string{"http://schema.org/", "https://schema.org/", "schema:"} {
		if rest, ok := strings.CutPrefix(s, prefix); ok {
			return rest
		}
	}
	return s
}
