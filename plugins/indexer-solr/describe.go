package indexersolr

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gonutch/crawler/plugins/internal/libindex"
	"github.com/gonutch/crawler/sdk/extension/indexwriter"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/model"
)

// Describe implements libwriter.Instance.
func (i *instance) Describe(ctx context.Context, sample []model.Document, d *indexwriter.Description) error {
	var servers []string
	for _, t := range i.targets {
		servers = append(servers, strings.TrimSuffix(t.name()+"/"+t.cfg.Collection, "/"))
		sc, err := t.schema(ctx)
		if err != nil {
			return err
		}
		if sc == nil {
			return fault.Errorf(fault.Invalid, "there is no core or collection %q on %s any more", t.cfg.Collection, t.name())
		}
		d.Problems = append(d.Problems, sc.compare(sample, i.cfg.WeightField)...)
		if n, err := t.count(ctx); err == nil {
			d.Facts = append(d.Facts, indexwriter.Fact{Name: "documents", Value: strconv.FormatUint(n, 10)})
		}
	}
	d.Problems = slices.Compact(d.Problems)
	d.Server = strings.Join(servers, ", ")
	d.Version = i.targets[0].version(ctx)
	return nil
}

func (t *target) count(ctx context.Context) (uint64, error) {
	a, err := t.client.Do(ctx, libindex.Request{Method: http.MethodGet, Path: t.path("/select"), Query: url.Values{"q": {"*:*"}, "rows": {"0"}, "wt": {"json"}}})
	if err != nil {
		return 0, err
	}
	if !a.OK() {
		return 0, a.Err("count", reason(a.Body))
	}
	r, err := result(a.Body, nil)
	if err != nil {
		return 0, err
	}
	return r.Total, nil
}

// version asks who answers; a user who may write need not be allowed to.
func (t *target) version(ctx context.Context) string {
	if t.cfg.Collection == "" {
		return "Apache Solr"
	}
	a, err := t.client.Do(ctx, libindex.Request{Method: http.MethodGet, Path: "/admin/info/system", Query: url.Values{"wt": {"json"}}})
	var who struct {
		Lucene struct {
			Version string `json:"solr-spec-version"`
		}
	}
	if err != nil || !a.OK() || json.Unmarshal(a.Body, &who) != nil {
		return "Apache Solr"
	}
	return "Apache Solr " + who.Lucene.Version
}

// compare tells for each field the first value of the sample that the schema
// would refuse.
func (s *schema) compare(sample []model.Document, weight string) []string {
	class := s.classes()
	told := map[string]string{}
	for k := range sample {
		d := &sample[k]
		fields := maps.Clone(d.Fields)
		if fields == nil {
			fields = map[string][]string{}
		}
		if weight != "" {
			fields[weight] = []string{"1"}
		}
		for f, v := range fields {
			def, ok := s.field(f)
			switch {
			case told[f] != "" || len(v) == 0:
			case !ok:
				told[f] = fmt.Sprintf("field %s: not in the schema (%s): add it, or remove the field in the writer's mapping", f, d.ID)
			case len(v) > 1 && !s.multiple(def):
				told[f] = fmt.Sprintf("field %s: takes one value, documents have %d (%s)", f, len(v), d.ID)
			default:
				for _, text := range v {
					if !fits(class[def.Type], text) {
						told[f] = fmt.Sprintf("field %s: %q is no %s (%s)", f, text, class[def.Type], d.ID)
					}
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

// field finds a field's definition: its own, or the longest pattern that matches.
func (s *schema) field(name string) (fieldDef, bool) {
	for _, f := range s.Fields {
		if f.Name == name {
			return f, true
		}
	}
	var best fieldDef
	for _, f := range s.DynamicFields {
		prefix, suffix, _ := strings.Cut(f.Name, "*")
		if strings.HasPrefix(name, prefix) && strings.HasSuffix(name, suffix) && len(f.Name) > len(best.Name) {
			best = f
		}
	}
	return best, best.Name != ""
}

func (s *schema) multiple(f fieldDef) bool {
	if f.MultiValued != nil {
		return *f.MultiValued
	}
	for _, t := range s.FieldTypes {
		if t.Name == f.Type {
			return t.MultiValued
		}
	}
	return false
}

func fits(class, text string) bool {
	var err error
	switch class {
	case "DatePointField", "TrieDateField":
		_, err = time.Parse(time.RFC3339Nano, text)
	case "IntPointField", "LongPointField", "TrieIntField", "TrieLongField":
		_, err = strconv.ParseInt(text, 10, 64)
	case "FloatPointField", "DoublePointField", "TrieFloatField", "TrieDoubleField":
		_, err = strconv.ParseFloat(text, 64)
	}
	return err == nil
}
