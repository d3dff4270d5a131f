// Package libindex is what index writers share: reading an instance's parameters
// over the plugin's settings, for servers an HTTP client with several addresses,
// credentials and TLS, texts that any server takes, and values of answers as texts. It
// must not know any server's interface.
package libindex

import (
	"encoding"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/gonutch/crawler/sdk/extension/indexwriter"
	"github.com/gonutch/crawler/sdk/fault"
)

// Merge returns base with an instance's parameters laid over it: the field of
// each parameter is the one with its name as JSON name, also in embedded
// structs. A parameter without a field or with an unreadable value is
// an error of kind Invalid that names it.
func Merge[T any](base T, params indexwriter.Params) (T, error) {
	out := base
	fields := map[string]reflect.Value{}
	collect(reflect.ValueOf(&out).Elem(), fields)
	for _, name := range slices.Sorted(maps.Keys(params)) {
		f, ok := fields[name]
		if !ok {
			return base, fault.Param(name, "parameter %s: unknown", name)
		}
		if err := set(f, params[name]); err != nil {
			return base, fault.Param(name, "parameter %s: %w", name, err)
		}
	}
	return out, nil
}

func collect(v reflect.Value, into map[string]reflect.Value) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if f.Anonymous {
			collect(v.Field(i), into)
			continue
		}
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
			into[name] = v.Field(i)
		}
	}
}

// set reads a parameter's text into f. The value is not told in errors, as it
// may be a password.
func set(f reflect.Value, text string) error {
	if u, ok := f.Addr().Interface().(encoding.TextUnmarshaler); ok {
		return u.UnmarshalText([]byte(text))
	}
	switch f.Kind() {
	case reflect.String:
		f.SetString(text)
	case reflect.Bool:
		b, err := strconv.ParseBool(text)
		if err != nil {
			return fmt.Errorf("want true or false")
		}
		f.SetBool(b)
	case reflect.Int:
		n, err := strconv.Atoi(text)
		if err != nil {
			return fmt.Errorf("want a whole number")
		}
		f.SetInt(int64(n))
	case reflect.Float64:
		n, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return fmt.Errorf("want a number")
		}
		f.SetFloat(n)
	case reflect.Slice:
		list, err := List(text)
		if err != nil {
			return err
		}
		f.Set(reflect.ValueOf(list))
	case reflect.Map:
		m := map[string]string{}
		if err := readMap(text, m); err != nil {
			return err
		}
		f.Set(reflect.ValueOf(m))
	default:
		return fmt.Errorf("no reading for %s", f.Type())
	}
	return nil
}

// List reads a list: comma separated, or a JSON array. The empty text is no
// element.
func List(text string) ([]string, error) {
	var out []string
	if strings.HasPrefix(text, "[") {
		if err := json.Unmarshal([]byte(text), &out); err != nil {
			return nil, fmt.Errorf("want a list of texts: %w", err)
		}
		return out, nil
	}
	for s := range strings.SplitSeq(text, ",") {
		if s = strings.TrimSpace(s); s != "" {
			out = append(out, s)
		}
	}
	return out, nil
}

func readMap(text string, m map[string]string) error {
	if text == "" {
		return nil
	}
	if strings.HasPrefix(text, "{") {
		if err := json.Unmarshal([]byte(text), &m); err != nil {
			return fmt.Errorf("want a map of texts: %w", err)
		}
		return nil
	}
	pairs, err := List(text)
	if err != nil {
		return err
	}
	for _, pair := range pairs {
		k, v, ok := strings.Cut(pair, "=")
		if !ok {
			return fmt.Errorf("want name=value, got a pair without \"=\"")
		}
		m[strings.TrimSpace(k)] = strings.TrimSpace(v)
	}
	return nil
}
