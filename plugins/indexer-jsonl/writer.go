// Package indexerjsonl writes operations as lines of JSON. It owns their form;
// how files come to be is libwriter's.
package indexerjsonl

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/gonutch/crawler/plugins/internal/libindex"
	"github.com/gonutch/crawler/plugins/internal/libwriter"
	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/extension/indexwriter"
	"github.com/gonutch/crawler/sdk/model"
	"github.com/gonutch/crawler/sdk/setting"
)

//go:embed plugin.hcl
var manifest []byte

// Plugin returns the plugin.
func Plugin() sdk.Plugin { return sdk.Plugin{Manifest: manifest, New: build} }

type config struct {
	Path    string       `json:"path"`
	MaxSize setting.Size `json:"max_file_size"`
	Gzip    bool         `json:"gzip"`
}

func build(env sdk.Env) (*sdk.Extensions, error) {
	var base config
	if err := env.Settings.Decode(&base); err != nil {
		return nil, err
	}
	t := &libwriter.Table{Check: func(name string, params indexwriter.Params) (func(context.Context) (libwriter.Instance, error), error) {
		c, err := libindex.Merge(base, params)
		if err != nil {
			return nil, err
		}
		return func(context.Context) (libwriter.Instance, error) {
			files, err := libwriter.OpenFolder(c.Path, env.DataDir, name, "jsonl", int64(c.MaxSize), c.Gzip)
			return &writer{files}, err
		}, nil
	}}
	return &sdk.Extensions{IndexWriter: t, Close: t.Shutdown}, nil
}

type writer struct{ files *libwriter.Files }

func (w *writer) Write(_ context.Context, ops []indexwriter.Op) ([]indexwriter.Result, error) {
	for i := range ops {
		line, err := libwriter.JSON(&ops[i])
		if err != nil {
			return nil, fmt.Errorf("encode %s: %w", ops[i].Doc.ID, err)
		}
		if _, err := w.files.Begin(); err != nil {
			return nil, err
		}
		if _, err := w.files.Write(append(line, '\n')); err != nil {
			return nil, err
		}
	}
	return make([]indexwriter.Result, len(ops)), nil
}

func (w *writer) Commit(context.Context) error { return w.files.Commit() }

func (w *writer) Describe(_ context.Context, _ []model.Document, d *indexwriter.Description) error {
	d.Server = w.files.Dir()
	return nil
}

func (w *writer) Close(context.Context) error { return w.files.Close() }
