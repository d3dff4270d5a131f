// Package indexjexlfilter keeps documents out of the index by an expression. It
// owns what expressions can see and how JEXL's forms are read; the language and
// its sandbox are expr's.
package indexjexlfilter

import (
	"context"
	_ "embed"
	"encoding/hex"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/extension/indexingfilter"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/jexl"
	"github.com/gonutch/crawler/sdk/model"
)

//go:embed plugin.hcl
var manifest []byte

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
	var err error
	if f.program, err = jexl.Compile(c.Filter); err != nil {
		return nil, fmt.Errorf("filter: %w", err)
	}
	return &sdk.Extensions{IndexingFilter: f}, nil
}

// Filter stands for Nutch's JexlIndexingFilter. It is safe for concurrent use.
type Filter struct {
	config
	program *jexl.Program
}

// FilterDocument implements indexingfilter.Filter.
func (f *Filter) FilterDocument(_ context.Context, in *indexingfilter.Input) (*indexingfilter.Patch, error) {
	if f.program == nil {
		return nil, nil
	}
	keep, err := f.program.Run(variables(in))
	switch {
	case err == nil && keep, err != nil && f.OnError == "keep":
		return nil, nil
	case err == nil:
		return &indexingfilter.Patch{Drop: "not " + f.Filter}, nil
	}
	if f.OnError == "fail" {
		return nil, fault.Errorf(fault.Permanent, "expression on %s: %w", in.URL, err)
	}
	return &indexingfilter.Patch{Drop: "expression failed: " + err.Error()}, nil
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
	for k, v := range map[string]any{
		"url": in.URL, "status": d.Status.String(), "fetchTime": millis(d.FetchTime), "modifiedTime": millis(d.ModifiedTime),
		"retries": d.Retries, "interval": int64(d.Interval / time.Second), "score": float64(d.Score) / model.Micro,
		"signature": hex.EncodeToString(d.Signature), "title": in.Parse.Title, "text": in.Parse.Text,
		"db": jexl.Firsts(d.Metadata), "parse": jexl.Firsts(in.Parse.ParseMeta),
		"content": jexl.Firsts(in.Parse.ContentMeta), "headers": jexl.Firsts(in.Headers),
	} {
		out[k] = v
	}
	maps.Copy(out, jexl.Document(in.Doc.Fields))
	return out
}

func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

var _ indexingfilter.Filter = (*Filter)(nil)
