package indexersolr

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/gonutch/crawler/plugins/internal/libindex"
	"github.com/gonutch/crawler/sdk/fault"
)

func (t *target) name() string { return t.client.Addresses()[0] }

// path returns a path below the collection.
func (t *target) path(p string) string {
	if t.cfg.Collection == "" {
		return p
	}
	return "/" + url.PathEscape(t.cfg.Collection) + p
}

func (t *target) prepare(ctx context.Context) error {
	s, err := t.schema(ctx)
	if err != nil {
		return err
	}
	if s == nil && t.cfg.Create && t.cfg.Collection != "" {
		if err := t.create(ctx); err != nil {
			return err
		}
		if s, err = t.schema(ctx); err != nil {
			return err
		}
	}
	if s == nil {
		advice := "make it, or set create = true"
		if !strings.HasSuffix(t.name(), "/solr") {
			advice += "; Solr's url ends in /solr, unless it was set up otherwise"
		}
		return fault.Param("collection", "there is no core or collection %q on %s: %s", t.cfg.Collection, t.name(), advice)
	}
	return s.check(t)
}

// schema is Solr's answer about a schema, as far as it is checked.
type schema struct {
	UniqueKey  string
	FieldTypes []struct {
		Name, Class string
		MultiValued bool
	}
	Fields, DynamicFields []fieldDef
}

type fieldDef struct {
	Name, Type  string
	MultiValued *bool // unset: as its type says
}

// classes returns the class of each field type, without its package.
func (s *schema) classes() map[string]string {
	class := map[string]string{}
	for _, ft := range s.FieldTypes {
		class[ft.Name] = ft.Class[strings.LastIndexByte(ft.Class, '.')+1:]
	}
	return class
}

// schema asks for the schema; nil when there is no such collection.
func (t *target) schema(ctx context.Context) (*schema, error) {
	a, err := t.client.Do(ctx, libindex.Request{Method: http.MethodGet, Path: t.path("/schema")})
	if err != nil {
		return nil, err
	}
	if a.Status == http.StatusNotFound {
		return nil, nil //nolint:nilnil // the documented answer
	}
	if !a.OK() {
		return nil, a.Err("ask "+t.name()+" for its schema", reason(a.Body))
	}
	var out struct{ Schema *schema }
	if err := json.Unmarshal(a.Body, &out); err != nil || out.Schema == nil {
		return nil, fault.Errorf(fault.Invalid, "%s is no Solr: %s", t.name(), libindex.Short(string(a.Body), 100))
	}
	return out.Schema, nil
}

func dateFields() []string {
	return []string{"tstamp", "date", "lastModified", "publishedDate", "updatedDate"}
}

// check tells of known fields that can't take their values.
func (s *schema) check(t *target) error {
	where := t.name() + " " + t.cfg.Collection
	if s.UniqueKey != "id" {
		return fault.Errorf(fault.Invalid, "%s: the schema's unique key is %q, documents need \"id\"", where, s.UniqueKey)
	}
	class := s.classes()
	needs := map[string][]string{}
	for _, f := range dateFields() {
		needs[f] = []string{"DatePointField", "TrieDateField", "DateRangeField", "StrField", "TextField"}
	}
	for _, f := range []string{"title", "anchor", "content"} {
		needs[f] = []string{"TextField", "SortableTextField", "StrField"}
	}
	needs["id"] = []string{"StrField"}
	var wrong []string
	for _, f := range s.Fields {
		if fits := needs[f.Name]; fits != nil && class[f.Type] != "" && !slices.Contains(fits, class[f.Type]) {
			wrong = append(wrong, fmt.Sprintf("field %s is a %s, documents need %s", f.Name, class[f.Type], fits[0]))
		}
	}
	if len(wrong) > 0 {
		slices.Sort(wrong)
		return fault.Errorf(fault.Invalid, "%s: %s; mend the schema (a ready configset comes with the plugin), or rename the fields in the writer's mapping", where, strings.Join(wrong, "; "))
	}
	return nil
}

// create makes the collection with the ready configset, or the core with one
// that Solr has.
func (t *target) create(ctx context.Context) error {
	if t.cfg.Type != "cloud" {
		return t.admin(ctx, "/admin/cores", url.Values{"action": {"CREATE"}, "name": {t.cfg.Collection}, "configSet": {t.cfg.Configset}}, nil,
			fmt.Sprintf("make core %s with configset %s (which must be in Solr's configsets folder)", t.cfg.Collection, t.cfg.Configset))
	}
	known, err := t.configsets(ctx)
	if err != nil {
		return err
	}
	if !slices.Contains(known, t.cfg.Configset) {
		raw, err := zipped()
		if err != nil {
			return err
		}
		if err := t.admin(ctx, "/admin/configs", url.Values{"action": {"UPLOAD"}, "name": {t.cfg.Configset}}, raw, "upload configset "+t.cfg.Configset); err != nil {
			return err
		}
	}
	return t.admin(ctx, "/admin/collections", url.Values{
		"action": {"CREATE"}, "name": {t.cfg.Collection}, "collection.configName": {t.cfg.Configset},
		"numShards": {strconv.Itoa(t.cfg.Shards)}, "replicationFactor": {strconv.Itoa(t.cfg.Replicas)},
	}, nil, "make collection "+t.cfg.Collection)
}

func (t *target) configsets(ctx context.Context) ([]string, error) {
	a, err := t.client.Do(ctx, libindex.Request{Method: http.MethodGet, Path: "/admin/configs", Query: url.Values{"action": {"LIST"}}})
	if err != nil {
		return nil, err
	}
	if !a.OK() {
		return nil, a.Err("list configsets", reason(a.Body))
	}
	var out struct{ ConfigSets []string }
	if err := json.Unmarshal(a.Body, &out); err != nil {
		return nil, fault.Errorf(fault.Invalid, "list configsets: %w", err)
	}
	return out.ConfigSets, nil
}

func (t *target) admin(ctx context.Context, path string, query url.Values, body []byte, what string) error {
	r := libindex.Request{Method: http.MethodGet, Path: path, Query: query}
	if body != nil {
		r.Method, r.Type, r.Body = http.MethodPost, "application/octet-stream", body
	}
	a, err := t.client.Do(ctx, r)
	if err != nil {
		return err
	}
	return a.Err(what, reason(a.Body))
}

// zipped returns the ready configset as Solr takes it.
func zipped() ([]byte, error) {
	conf, err := fs.Sub(configset, "configset/conf")
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	if err := z.AddFS(conf); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// reason takes the words out of an error answer.
func reason(body []byte) string {
	var e struct{ Error struct{ Msg string } }
	if json.Unmarshal(body, &e) == nil && e.Error.Msg != "" {
		return e.Error.Msg
	}
	return string(body)
}
