package indexerelastic

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/gonutch/crawler/sdk/extension/indexwriter"
	"github.com/gonutch/crawler/sdk/model"
)

// property is a field of a mapping.
type property struct {
	Type       string
	Properties map[string]json.RawMessage
}

type mappings map[string]struct {
	Mappings struct {
		Dynamic    any
		Properties map[string]property
	}
}

// Describe implements libwriter.Instance.
func (i *instance) Describe(ctx context.Context, sample []model.Document, d *indexwriter.Description) error {
	if err := i.identify(ctx); err != nil {
		return err
	}
	d.Server, d.Version = i.client.Addresses()[0]+"/"+i.cfg.Index, i.server
	a, err := i.do(ctx, http.MethodGet, "/_count", nil, nil)
	if err != nil {
		return err
	}
	var count struct{ Count int64 }
	if a.OK() && json.Unmarshal(a.Body, &count) == nil {
		d.Facts = append(d.Facts, indexwriter.Fact{Name: "documents", Value: strconv.FormatInt(count.Count, 10)})
	}
	if a, err = i.do(ctx, http.MethodGet, "/_mapping", nil, nil); err != nil {
		return err
	}
	var all mappings
	if a.OK() {
		err = json.Unmarshal(a.Body, &all)
	}
	if err != nil || !a.OK() {
		// A user who may write need not be allowed to read the mapping.
		d.Facts = append(d.Facts, indexwriter.Fact{Name: "mapping", Value: "not to be read: " + reason(a.Body)})
	}
	for _, index := range slices.Sorted(maps.Keys(all)) {
		m := all[index].Mappings
		d.Problems = append(d.Problems, compare(m.Properties, fmt.Sprint(m.Dynamic), sample)...)
	}
	d.Problems = slices.Compact(d.Problems)
	return nil
}

// compare tells for each field the first value of the sample that the mapping
// would refuse.
func compare(props map[string]property, dynamic string, sample []model.Document) []string {
	told := map[string]string{}
	for k := range sample {
		d := &sample[k]
		for f, v := range document(d) {
			p, ok := props[f]
			if told[f] != "" {
				continue
			}
			if !ok && dynamic == "strict" {
				told[f] = fmt.Sprintf("field %s: not in the mapping, which takes no new fields (%s): add it, or remove the field in the writer's mapping", f, d.ID)
				continue
			}
			for _, text := range texts(v) {
				switch {
				case p.Properties != nil && p.Type == "":
					told[f] = fmt.Sprintf("field %s: the index has an object there, documents have %q (%s)", f, text, d.ID)
				case ok && !fits(p.Type, text):
					told[f] = fmt.Sprintf("field %s: %q is no %s (%s)", f, text, p.Type, d.ID)
				}
			}
		}
	}
	out := []string{}
	for _, f := range slices.Sorted(maps.Keys(told)) {
		out = append(out, told[f])
	}
	return out
}

func texts(v any) []string {
	switch v := v.(type) {
	case []string:
		return v
	case string:
		return []string{v}
	}
	return nil
}

// fits reports whether a text can be a value of a field type, for the types
// where that is known.
func fits(kind, text string) bool {
	var err error
	switch kind {
	case "date", "date_nanos":
		if _, err = strconv.ParseInt(text, 10, 64); err == nil {
			return true // milliseconds
		}
		for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02"} {
			if _, err = time.Parse(layout, text); err == nil {
				return true
			}
		}
	case "long", "integer", "short", "byte", "unsigned_long", "double", "float", "half_float", "scaled_float":
		_, err = strconv.ParseFloat(text, 64)
	case "boolean":
		return text == "true" || text == "false" || text == ""
	}
	return err == nil
}
