// Package indexjexlfilter keeps documents out of the index by an expression. It
// owns what expressions can see and how JEXL's forms are read; the language and
// its sandbox are expr's.
package indexjexlfilter

import (
	"context"
	_ "embed"
	"encoding/hex"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/vm"

	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/extension/indexingfilter"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/model"
)

//go:embed plugin.hcl
var manifest []byte

// memoryBudget bounds what one evaluation may build, in expr's units.
const memoryBudget = 100_000

// Plugin returns the plugin.
func Plugin() sdk.Plugin { return sdk.Plugin{Manifest: manifest, New: build} }

type config struct {
	Filter  string `json:"filter"`
	OnError string `json:"on_error"`
}

func build(env sdk.Env) (*sdk.Extensions, error) {
	var c config
	if err := env.Settings.Decode(&c); err != nil {
		return nil, err
	}
	f := &Filter{config: c}
	if strings.TrimSpace(c.Filter) == "" {
		env.Logger.Warn("no expression: every document is indexed; set filter")
		return &sdk.Extensions{IndexingFilter: f}, nil
	}
	text, err := translate(c.Filter)
	if err == nil {
		f.program, err = expr.Compile(text, expr.AllowUndefinedVariables(), expr.AsBool(),
			expr.Function("empty", func(a ...any) (any, error) { return isEmpty(a[0]), nil }, new(func(any) bool)),
			expr.Function("size", func(a ...any) (any, error) { return size(a[0]) }, new(func(any) int)))
	}
	if err != nil {
		return nil, fault.Errorf(fault.Invalid, "filter: %s: %w", c.Filter, err)
	}
	return &sdk.Extensions{IndexingFilter: f}, nil
}

// Filter stands for Nutch's JexlIndexingFilter. It is safe for concurrent use.
type Filter struct {
	config
	program *vm.Program
}

// FilterDocument implements indexingfilter.Filter.
func (f *Filter) FilterDocument(_ context.Context, in *indexingfilter.Input) (*indexingfilter.Patch, error) {
	if f.program == nil {
		return nil, nil
	}
	machine := vm.VM{MemoryBudget: memoryBudget}
	v, err := machine.Run(f.program, variables(in))
	keep, ok := v.(bool)
	if err == nil && !ok {
		err = fmt.Errorf("the expression is %v, not true or false", v)
	}
	switch {
	case err == nil && keep, err != nil && f.OnError == "keep":
		return nil, nil
	case err == nil:
		return &indexingfilter.Patch{Drop: "not " + f.Filter}, nil
	}
	reason, _, _ := strings.Cut(err.Error(), "\n")
	if f.OnError == "fail" {
		return nil, fault.Errorf(fault.Permanent, "expression on %s: %s", in.URL, reason)
	}
	return &indexingfilter.Patch{Drop: "expression failed: " + reason}, nil
}

// variables are what expressions see: Nutch's of a datum (nutch.md 6.1), and the
// document's. Times are milliseconds since 1970, the interval is in seconds.
func variables(in *indexingfilter.Input) map[string]any {
	d := &in.Datum
	out := map[string]any{}
	for k, v := range d.Metadata {
		if len(v) > 0 {
			out[strings.ReplaceAll(k, "-", "_")] = v[0]
		}
	}
	all := map[string]any{}
	for k, v := range in.Doc.Fields {
		all[k] = v
	}
	for k, v := range map[string]any{
		"url": in.URL, "status": d.Status.String(), "fetchTime": millis(d.FetchTime), "modifiedTime": millis(d.ModifiedTime),
		"retries": d.Retries, "interval": int64(d.Interval / time.Second), "score": float64(d.Score) / model.Micro,
		"signature": hex.EncodeToString(d.Signature), "title": in.Parse.Title, "text": in.Parse.Text,
		"doc": firsts(in.Doc.Fields), "fields": all, "db": firsts(d.Metadata), "parse": firsts(in.Parse.ParseMeta),
		"content": firsts(in.Parse.ContentMeta), "headers": firsts(in.Headers),
	} {
		out[k] = v
	}
	return out
}

func firsts(m map[string][]string) map[string]any {
	out := make(map[string]any, len(m))
	for k, v := range m {
		if len(v) > 0 {
			out[k] = v[0]
		}
	}
	return out
}

func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func isEmpty(v any) bool {
	n, err := size(v)
	return v == nil || err == nil && n == 0
}

func size(v any) (int, error) {
	switch r := reflect.ValueOf(v); r.Kind() {
	case reflect.Invalid:
		return 0, nil
	case reflect.String, reflect.Slice, reflect.Map, reflect.Array:
		return r.Len(), nil
	}
	return 0, fmt.Errorf("size of %v", v)
}

var _ indexingfilter.Filter = (*Filter)(nil)
