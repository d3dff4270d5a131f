// Package indexerparquet writes operations as rows of Parquet files. It owns the
// columns; the format is parquet-go's, and how files come to be libwriter's.
package indexerparquet

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"

	"github.com/gonutch/crawler/plugins/internal/libindex"
	"github.com/gonutch/crawler/plugins/internal/libwriter"
	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/extension/indexwriter"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/model"
	"github.com/gonutch/crawler/sdk/setting"
)

//go:embed plugin.hcl
var manifest []byte

// Plugin returns the plugin.
func Plugin() sdk.Plugin { return sdk.Plugin{Manifest: manifest, New: build} }

type config struct {
	Path        string       `json:"path"`
	Fields      []string     `json:"fields"`
	Compression string       `json:"compression"`
	RowGroup    int          `json:"row_group"`
	MaxSize     setting.Size `json:"max_file_size"`
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
		w := &writer{config: c}
		if err := w.makeSchema(); err != nil {
			return nil, err
		}
		return func(context.Context) (libwriter.Instance, error) {
			w.files, err = libwriter.OpenFolder(c.Path, env.DataDir, name, "parquet", int64(c.MaxSize), false)
			return w, err
		}, nil
	}}
	return &sdk.Extensions{IndexWriter: t, Close: t.Shutdown}, nil
}

// column is a column of the schema, in its order.
type column struct {
	name string
	list bool
}

type writer struct {
	config
	files   *libwriter.Files
	schema  *parquet.Schema
	codec   compress.Codec
	columns []column
	out     *parquet.GenericWriter[any] // of the present file; nil when none is begun
	rows    []parquet.Row
}

func (w *writer) makeSchema() error {
	group := parquet.Group{"op": parquet.String(), "id": parquet.String(), "boost": parquet.Leaf(parquet.DoubleType)}
	lists := map[string]bool{}
	for _, f := range w.Fields {
		name, list := strings.CutSuffix(strings.TrimSpace(f), "[]")
		if name == "" || group[name] != nil {
			return fault.Param("fields", "fields: %q is empty or there twice (op, id and boost are always there)", f)
		}
		group[name] = parquet.Optional(parquet.String())
		if list {
			group[name], lists[name] = parquet.Repeated(parquet.String()), true
		}
	}
	codecs := map[string]compress.Codec{"none": &parquet.Uncompressed, "gzip": &parquet.Gzip, "snappy": &parquet.Snappy, "zstd": &parquet.Zstd}
	if w.codec = codecs[w.Compression]; w.codec == nil {
		return fault.Param("compression", "compression = %q is unknown", w.Compression)
	}
	w.schema = parquet.NewSchema("document", group)
	for _, path := range w.schema.Columns() {
		w.columns = append(w.columns, column{path[0], lists[path[0]]})
	}
	return nil
}

// row returns op as a row: in the order of the columns, with definition level 1 for
// what is there and repetition level 1 for further elements of a list.
func (w *writer) row(op *indexwriter.Op) parquet.Row {
	var row parquet.Row
	for i, c := range w.columns {
		switch c.name {
		case "op":
			verb := "add"
			if op.Kind == indexwriter.Delete {
				verb = "delete"
			}
			row = append(row, parquet.ValueOf(verb).Level(0, 0, i))
			continue
		case "id":
			row = append(row, parquet.ValueOf(op.Doc.ID).Level(0, 0, i))
			continue
		case "boost":
			row = append(row, parquet.ValueOf(op.Doc.Boost).Level(0, 0, i))
			continue
		}
		values := op.Doc.Fields[c.name]
		switch {
		case len(values) == 0:
			row = append(row, parquet.ValueOf(nil).Level(0, 0, i))
		case c.list:
			for n, v := range values {
				row = append(row, parquet.ValueOf(v).Level(min(n, 1), 1, i))
			}
		default:
			row = append(row, parquet.ValueOf(strings.Join(values, "\n")).Level(0, 1, i))
		}
	}
	return row
}

func (w *writer) Write(_ context.Context, ops []indexwriter.Op) ([]indexwriter.Result, error) {
	for i := range ops {
		w.rows = append(w.rows, w.row(&ops[i]))
		if len(w.rows) >= w.RowGroup {
			if err := w.flush(); err != nil {
				return nil, err
			}
		}
	}
	return make([]indexwriter.Result, len(ops)), nil
}

// flush writes the rows as a row group, and ends a file that is full.
func (w *writer) flush() error {
	if len(w.rows) == 0 {
		return nil
	}
	if w.out == nil {
		if _, err := w.files.Begin(); err != nil {
			return err
		}
		w.out = parquet.NewGenericWriter[any](w.files, w.schema, parquet.Compression(w.codec), parquet.CreatedBy("crawler", "", ""))
	}
	_, err := w.out.WriteRows(w.rows)
	if err == nil {
		err = w.out.Flush()
	}
	if err != nil {
		return fault.New(fault.Transient, fmt.Errorf("write rows: %w", err))
	}
	w.rows = slices.Delete(w.rows, 0, len(w.rows))
	if !w.files.Full() {
		return nil
	}
	return w.end()
}

// end writes the footer; what comes next goes into a new file.
func (w *writer) end() error {
	if w.out == nil {
		return nil
	}
	err := w.out.Close()
	w.out = nil
	if err != nil {
		return fault.New(fault.Transient, fmt.Errorf("end file: %w", err))
	}
	return w.files.End()
}

func (w *writer) Commit(context.Context) error {
	if err := w.flush(); err != nil {
		return err
	}
	if err := w.end(); err != nil {
		return err
	}
	return w.files.Commit()
}

func (w *writer) Describe(_ context.Context, _ []model.Document, d *indexwriter.Description) error {
	d.Server = w.files.Dir()
	var names []string
	for _, c := range w.columns {
		names = append(names, c.name)
	}
	d.Facts = append(d.Facts, indexwriter.Fact{Name: "columns", Value: strings.Join(names, ", ")})
	return nil
}

func (w *writer) Close(context.Context) error { return w.files.Close() }
