package indexerelastic

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/gonutch/crawler/plugins/internal/libindex"
	"github.com/gonutch/crawler/sdk/fault"
)

// checkNames refuses names that the server would refuse, or read as a pattern.
func checkNames(c Config) error {
	for _, n := range []struct{ setting, name string }{{"index", c.Index}, {"alias", c.Alias}} {
		if n.name == "" && n.setting == "alias" {
			continue
		}
		if n.name == "" || len(n.name) > 255 || strings.ToLower(n.name) != n.name ||
			strings.ContainsAny(n.name, "\\/*?\"<>| ,#:") || strings.ContainsRune("-_+.", rune(n.name[0])) {
			return fault.Param(n.setting, "parameter %s = %q: want lower case letters, digits, \"-\", \"_\" and \".\", beginning with a letter or digit", n.setting, n.name)
		}
	}
	if c.DataStream && c.Alias != "" {
		return fault.Param("alias", "parameter alias: a data stream gets none")
	}
	return nil
}

func (i *instance) prepare(ctx context.Context) error {
	if err := i.identify(ctx); err != nil {
		return err
	}
	a, err := i.do(ctx, http.MethodHead, "", nil, nil)
	if err != nil {
		return err
	}
	switch {
	case a.OK():
		return i.checkMapping(ctx)
	case a.Status != http.StatusNotFound:
		return a.Err("look for index "+i.cfg.Index, "")
	case !i.cfg.Create:
		return fault.Param("index", "there is no index %q on %s: make it, or set create = true", i.cfg.Index, i.client.Addresses()[0])
	}
	return i.create(ctx)
}

func (i *instance) identify(ctx context.Context) error {
	a, err := i.client.Do(ctx, libindex.Request{Method: http.MethodGet, Path: "/"})
	if err != nil {
		return err
	}
	if !a.OK() {
		return a.Err("ask "+i.client.Addresses()[0]+" who it is", reason(a.Body))
	}
	var who struct {
		Version struct{ Number, Distribution string }
	}
	if err := json.Unmarshal(a.Body, &who); err != nil || who.Version.Number == "" {
		return fault.Errorf(fault.Invalid, "%s is neither Elasticsearch nor OpenSearch: %s", i.client.Addresses()[0], libindex.Short(string(a.Body), 100))
	}
	if who.Version.Distribution == "" {
		who.Version.Distribution = "elasticsearch"
	}
	i.server = who.Version.Distribution + " " + who.Version.Number
	return nil
}

func (i *instance) create(ctx context.Context) error {
	body := i.body
	if i.cfg.DataStream {
		return i.createStream(ctx, body)
	}
	if i.cfg.Alias != "" {
		body["aliases"] = map[string]any{i.cfg.Alias: map[string]any{}}
	}
	a, err := i.do(ctx, http.MethodPut, "", nil, body)
	if err != nil {
		return err
	}
	if !a.OK() && !strings.Contains(string(a.Body), "resource_already_exists_exception") {
		return a.Err("make index "+i.cfg.Index, reason(a.Body))
	}
	return nil
}

// createStream makes the template that a data stream needs, and the stream.
func (i *instance) createStream(ctx context.Context, body map[string]any) error {
	template := map[string]any{"index_patterns": []string{i.cfg.Index}, "data_stream": map[string]any{}, "priority": 500, "template": body}
	raw, err := json.Marshal(template)
	if err != nil {
		return err
	}
	for _, r := range []libindex.Request{
		{Method: http.MethodPut, Path: "/_index_template/" + url.PathEscape(i.cfg.Index), Body: raw},
		{Method: http.MethodPut, Path: "/_data_stream/" + url.PathEscape(i.cfg.Index)},
	} {
		a, err := i.client.Do(ctx, r)
		if err != nil {
			return err
		}
		if !a.OK() && !strings.Contains(string(a.Body), "resource_already_exists_exception") {
			return a.Err("make data stream "+i.cfg.Index, reason(a.Body))
		}
	}
	return nil
}

// definition returns settings and mappings of a new index.
func (i *instance) definition() (map[string]any, error) {
	if i.cfg.MappingFile == "" {
		return i.readyMapping(), nil
	}
	raw, err := os.ReadFile(i.cfg.MappingFile)
	if err != nil {
		return nil, fault.Param("mapping_file", "mapping_file: %w", err)
	}
	var body map[string]any
	if err := json.Unmarshal(raw, &body); err != nil {
		return nil, fault.Param("mapping_file", "mapping_file %s: %w", i.cfg.MappingFile, err)
	}
	for k := range body {
		if k != "settings" && k != "mappings" && k != "aliases" {
			return nil, fault.Param("mapping_file", "mapping_file %s: unknown key %q: want settings and mappings", i.cfg.MappingFile, k)
		}
	}
	return body, nil
}

// fieldType names what the index must be for one of the crawler's fields.
func fieldTypes() map[string]string {
	return map[string]string{
		"tstamp": "date", "date": "date", "lastModified": "date", "publishedDate": "date", "updatedDate": "date", "@timestamp": "date",
		"contentLength": "long", "boost": "float",
	}
}

// readyMapping has text for what is read, dates and numbers for what is known
// to be one, and a keyword for every other field. Values that are no date or
// number refuse the document, as the server tells which.
func (i *instance) readyMapping() map[string]any {
	props := map[string]any{}
	for f, t := range fieldTypes() {
		props[f] = map[string]any{"type": t}
	}
	for f := range libindex.Weights(i.cfg.TextFields) {
		m := map[string]any{"type": "text", "analyzer": i.cfg.Analyzer}
		if f != "content" {
			m["fields"] = map[string]any{"raw": map[string]any{"type": "keyword", "ignore_above": 1024}}
		}
		props[f] = m
	}
	delete(props, "@timestamp")
	if i.cfg.DataStream {
		props["@timestamp"] = map[string]any{"type": "date"}
	}
	return map[string]any{
		"settings": map[string]any{"number_of_shards": i.cfg.Shards, "number_of_replicas": i.cfg.Replicas},
		"mappings": map[string]any{
			"properties": props,
			"dynamic_templates": []any{map[string]any{"strings": map[string]any{
				"match_mapping_type": "string", "mapping": map[string]any{"type": "keyword", "ignore_above": 8191},
			}}},
			"date_detection": false,
		},
	}
}

// checkMapping tells of known fields that an existing index holds as something
// that can't take their values.
func (i *instance) checkMapping(ctx context.Context) error {
	a, err := i.do(ctx, http.MethodGet, "/_mapping", nil, nil)
	if err != nil || !a.OK() {
		return err // a user who may write need not be allowed to read mappings
	}
	var indexes mappings
	if err := json.Unmarshal(a.Body, &indexes); err != nil {
		return nil //nolint:nilerr // what a proxy answers here does not matter
	}
	fits := map[string][]string{
		"date":  {"date", "date_nanos", "text", "keyword", "wildcard"},
		"long":  {"long", "integer", "short", "double", "float", "unsigned_long", "text", "keyword"},
		"float": {"float", "double", "half_float", "scaled_float", "rank_feature", "long", "integer", "text", "keyword"}, // whole numbers cut
	}
	var wrong []string
	for name, ix := range indexes {
		for f, t := range fieldTypes() {
			if p, ok := ix.Mappings.Properties[f]; ok && !slices.Contains(fits[t], p.Type) {
				wrong = append(wrong, fmt.Sprintf("index %s: field %s is of type %s, documents need %s", name, f, p.Type, t))
			}
		}
		for f := range libindex.Weights(i.cfg.TextFields) {
			if p, ok := ix.Mappings.Properties[f]; ok && !slices.Contains([]string{"text", "keyword", "match_only_text", "wildcard", "search_as_you_type"}, p.Type) {
				wrong = append(wrong, fmt.Sprintf("index %s: field %s is of type %s, documents need text", name, f, p.Type))
			}
		}
	}
	if len(wrong) > 0 {
		slices.Sort(wrong)
		return fault.Errorf(fault.Invalid, "%s; make the index anew, or rename the fields in the writer's mapping", strings.Join(wrong, "; "))
	}
	return nil
}

// do sends a request below the index.
func (i *instance) do(ctx context.Context, method, path string, query url.Values, body any) (*libindex.Answer, error) {
	var raw []byte
	if body != nil {
		var err error
		if raw, err = json.Marshal(body); err != nil {
			return nil, fault.New(fault.Invalid, err)
		}
	}
	return i.client.Do(ctx, libindex.Request{Method: method, Path: "/" + url.PathEscape(i.cfg.Index) + path, Query: query, Body: raw})
}

// reason takes the words out of an error answer.
func reason(body []byte) string {
	var e struct {
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal(body, &e) == nil && len(e.Error) > 0 {
		var c cause
		if json.Unmarshal(e.Error, &c) == nil && c.Type != "" {
			return c.String()
		}
		var s string
		if json.Unmarshal(e.Error, &s) == nil {
			return s
		}
	}
	return string(body)
}

// cause is the server's form of an error.
type cause struct {
	Type, Reason string
	CausedBy     *cause  `json:"caused_by"`
	RootCause    []cause `json:"root_cause"`
}

func (c *cause) String() string {
	s := c.Type
	if c.Reason != "" {
		s += ": " + c.Reason
	}
	deepest := c.CausedBy
	for deepest != nil && deepest.CausedBy != nil {
		deepest = deepest.CausedBy
	}
	if deepest != nil && deepest.Reason != "" && !strings.Contains(s, deepest.Reason) {
		s += ": " + deepest.Reason
	}
	return s
}
