package manifest

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/gonutch/crawler/sdk/hclconf"
	"github.com/gonutch/crawler/sdk/setting"
)

// Types lists the types of settings.
func Types() []Type {
	return []Type{String, Bool, Int, Float, Duration, Size, List, Map, File}
}

// Check converts v, a value as hclconf.Eval returns it, to the setting's type
// and checks its bounds. The error says what to write instead.
func (s *Setting) Check(v any) (any, error) {
	out, err := s.convert(v)
	if err != nil {
		return nil, err
	}
	return out, s.bounds(out)
}

// Parse reads text, as an environment variable or a command line gives it, to
// the setting's type. Lists are separated by commas or written as in HCL, maps
// are key=value pairs separated by commas. With nutch, bare numbers are in
// Nutch's unit and values may be Nutch's names.
func (s *Setting) Parse(text string, nutch bool) (any, error) {
	if nutch {
		text = s.fromNutch(text)
	}
	v, err := s.parse(text)
	if err != nil {
		return nil, err
	}
	return s.Check(v)
}

func (s *Setting) parse(text string) (any, error) {
	t := strings.TrimSpace(text)
	switch s.Type {
	case Bool:
		b, err := strconv.ParseBool(t)
		if err != nil || len(t) == 1 && t != "0" && t != "1" {
			return nil, fmt.Errorf("want true or false, not %q", text)
		}
		return b, nil
	case Int:
		n, err := strconv.ParseInt(t, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("want a whole number, not %q", text)
		}
		return n, nil
	case Float:
		x, err := strconv.ParseFloat(t, 64)
		if err != nil {
			return nil, fmt.Errorf("want a number, not %q", text)
		}
		return x, nil
	case List:
		return parseList(t)
	case Map:
		return parseMap(t)
	case String:
		return text, nil
	}
	return t, nil
}

func parseList(t string) (any, error) {
	list := []any{}
	if strings.HasPrefix(t, "[") {
		var texts []string
		if err := json.Unmarshal([]byte(t), &texts); err != nil {
			return nil, fmt.Errorf(`want a list such as a,b or ["a", "b"], not %q`, t)
		}
		for _, x := range texts {
			list = append(list, x)
		}
		return list, nil
	}
	for _, x := range strings.Split(t, ",") {
		if x = strings.TrimSpace(x); x != "" {
			list = append(list, x)
		}
	}
	return list, nil
}

func parseMap(t string) (any, error) {
	m := map[string]any{}
	for _, pair := range strings.Split(t, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		k, v, ok := strings.Cut(pair, "=")
		if !ok {
			return nil, fmt.Errorf("want pairs such as key=value,key=value, not %q", pair)
		}
		m[strings.TrimSpace(k)] = strings.TrimSpace(v)
	}
	return m, nil
}

func (s *Setting) convert(v any) (any, error) {
	if v == nil {
		return nil, fmt.Errorf("null is not a value; leave the setting out to get its default")
	}
	switch s.Type {
	case String, File:
		if x, ok := v.(string); ok {
			return x, nil
		}
		return nil, fmt.Errorf("want a text in quotes%s", writeQuoted(v))
	case Bool:
		if x, ok := v.(bool); ok {
			return x, nil
		}
		if x, ok := v.(string); ok && (x == "true" || x == "false") {
			return nil, fmt.Errorf("want true or false without quotes: write %s", x)
		}
		return nil, fmt.Errorf("want true or false, not %s", Literal(v))
	case Int:
		return toInt(v)
	case Float:
		return toFloat(v)
	case Duration:
		return s.withUnit(v, "a duration", "5s", func(t string) error { _, err := setting.ParseDuration(t); return err })
	case Size:
		return s.withUnit(v, "a size", "1MiB", func(t string) error { _, err := setting.ParseSize(t); return err })
	case List:
		return toList(v)
	case Map:
		return toMap(v)
	}
	panic("manifest: setting " + s.Name + " has unknown type " + string(s.Type))
}

func writeQuoted(v any) string {
	switch v.(type) {
	case bool, int64, float64:
		return fmt.Sprintf(": write %q", Literal(v))
	}
	return ", not " + kind(v)
}

func toInt(v any) (any, error) {
	switch x := v.(type) {
	case int64:
		return x, nil
	case float64:
		if x == math.Trunc(x) && math.Abs(x) < 1<<53 {
			return int64(x), nil
		}
	case string:
		if _, err := strconv.ParseInt(x, 10, 64); err == nil {
			return nil, fmt.Errorf("want a whole number without quotes: write %s", x)
		}
	}
	return nil, fmt.Errorf("want a whole number, not %s", Literal(v))
}

func toFloat(v any) (any, error) {
	switch x := v.(type) {
	case int64:
		return float64(x), nil
	case float64:
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return nil, fmt.Errorf("want a finite number")
		}
		return x, nil
	case string:
		if _, err := strconv.ParseFloat(x, 64); err == nil {
			return nil, fmt.Errorf("want a number without quotes: write %s", x)
		}
	}
	return nil, fmt.Errorf("want a number, not %s", Literal(v))
}

// withUnit checks a text with a unit; a bare number gets told the unit.
func (s *Setting) withUnit(v any, what, example string, check func(string) error) (any, error) {
	switch x := v.(type) {
	case string:
		if n, err := strconv.ParseFloat(strings.TrimSpace(x), 64); err == nil && check(x) != nil {
			return nil, s.noUnit(strconv.Quote(x), n)
		}
		if err := check(x); err != nil {
			return nil, err
		}
		return strings.TrimSpace(x), nil
	case int64:
		return nil, s.noUnit(Literal(v), float64(x))
	case float64:
		return nil, s.noUnit(Literal(v), x)
	}
	return nil, fmt.Errorf("want %s in quotes such as %q, not %s", what, example, kind(v))
}

func toList(v any) (any, error) {
	in, ok := v.([]any)
	if !ok {
		if t, isText := v.(string); isText {
			return nil, fmt.Errorf("want a list of texts: write [%q]", t)
		}
		return nil, fmt.Errorf("want a list of texts such as [\"a\", \"b\"], not %s", kind(v))
	}
	out := make([]string, 0, len(in))
	for i, e := range in {
		t, ok := e.(string)
		if !ok {
			return nil, fmt.Errorf("element %d of the list: want a text in quotes, not %s", i+1, Literal(e))
		}
		out = append(out, t)
	}
	return out, nil
}

func toMap(v any) (any, error) {
	in, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("want a map of texts such as { key = \"value\" }, not %s", kind(v))
	}
	out := make(map[string]string, len(in))
	for k, e := range in {
		t, ok := e.(string)
		if !ok {
			return nil, fmt.Errorf("%s in the map: want a text in quotes, not %s", k, Literal(e))
		}
		out[k] = t
	}
	return out, nil
}

// bounds checks OneOf, Min, Max and Off of a converted value.
func (s *Setting) bounds(v any) error {
	texts, isList := v.([]string)
	if t, ok := v.(string); ok && (s.Type == String || s.Type == File) {
		texts = []string{t}
	}
	if len(s.OneOf) > 0 && (s.Type == String || isList) {
		for _, t := range texts {
			if !contains(s.OneOf, t) {
				return fmt.Errorf("want %s, not %q%s", orList(s.OneOf), t, hclconf.DidYouMean(t, s.OneOf))
			}
		}
	}
	n, ok := s.number(v)
	if !ok || s.Off && (n == -1 || s.Type != Int && s.Type != Float && v == "-1") {
		return nil
	}
	if s.Type == Duration && v == "-1" {
		return fmt.Errorf("-1 is not allowed here; want %s or more", s.atLeast())
	}
	off := ""
	if s.Off {
		off = ", or -1 for no limit"
	}
	if low, ok := s.number(s.Min); ok && n < low {
		return fmt.Errorf("%s is too small: want %s or more%s", Literal(v), s.Min, off)
	}
	if high, ok := s.number(s.Max); ok && n > high {
		return fmt.Errorf("%s is too large: want %s or less", Literal(v), s.Max)
	}
	if s.Min == "" && n < 0 && (s.Type == Duration || s.Type == Size) {
		return fmt.Errorf("%s is negative", Literal(v))
	}
	return nil
}

func (s *Setting) atLeast() string {
	if s.Min == "" {
		return "0"
	}
	return s.Min
}

// number is v as a number to compare bounds with.
func (s *Setting) number(v any) (float64, bool) {
	switch x := v.(type) {
	case int64:
		return float64(x), true
	case float64:
		return x, true
	case string:
		if x == "" {
			return 0, false
		}
		switch s.Type {
		case Duration:
			d, err := setting.ParseDuration(x)
			return float64(d), err == nil
		case Size:
			z, err := setting.ParseSize(x)
			return float64(z), err == nil
		case Int, Float:
			n, err := strconv.ParseFloat(x, 64)
			return n, err == nil
		}
	}
	return 0, false
}

func kind(v any) string {
	switch v.(type) {
	case []any:
		return "a list"
	case map[string]any:
		return "a map"
	case bool:
		return "true or false"
	case int64, float64:
		return "a number"
	}
	return "a text"
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

// orList writes a, b or c.
func orList(names []string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = strconv.Quote(n)
	}
	if len(quoted) < 2 {
		return strings.Join(quoted, "")
	}
	return strings.Join(quoted[:len(quoted)-1], ", ") + " or " + quoted[len(quoted)-1]
}
