// Package indexercsv writes documents into CSV files (Nutch's indexer-csv, RFC
// 4180). It owns quoting and limits; how files come to be is libwriter's.
package indexercsv

import (
	"context"
	_ "embed"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/ianaindex"

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
	Path      string       `json:"path"`
	Fields    []string     `json:"fields"`
	Charset   string       `json:"charset"`
	Separator string       `json:"separator"`
	ValueSep  string       `json:"valuesep"`
	Quote     string       `json:"quotechar"`
	Escape    string       `json:"escapechar"`
	MaxLength int          `json:"maxfieldlength"`
	MaxValues int          `json:"maxfieldvalues"`
	Header    bool         `json:"header"`
	MaxSize   setting.Size `json:"max_file_size"`
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
		w := &writer{config: c, log: env.Logger.With("writer", name)}
		if err := w.check(); err != nil {
			return nil, err
		}
		return func(context.Context) (libwriter.Instance, error) {
			w.files, err = libwriter.OpenFolder(c.Path, env.DataDir, name, "csv", int64(c.MaxSize), false)
			return w, err
		}, nil
	}}
	return &sdk.Extensions{IndexWriter: t, Close: t.Shutdown}, nil
}

type writer struct {
	config
	files   *libwriter.Files
	encoder *encoding.Encoder // nil for UTF-8
	log     hclog.Logger
	deletes int // since the last commit
}

func (w *writer) check() error {
	switch {
	case len(w.Fields) == 0:
		return fault.Param("fields", "fields is empty: name the columns")
	case w.Separator == "" || strings.ContainsAny(w.Separator, "\r\n"):
		return fault.Param("separator", "separator = %q: want a text without line breaks", w.Separator)
	case w.Quote != "" && w.Quote == w.Separator:
		return fault.Param("quotechar", "quotechar and separator are both %q", w.Quote)
	case w.Quote != "" && w.Escape == "":
		return fault.Param("escapechar", "escapechar is empty: quotes within quotes could not be told")
	}
	e, err := ianaindex.IANA.Encoding(w.Charset)
	if err != nil || e == nil {
		return fault.Param("charset", "charset = %q: no encoding of that name is known", w.Charset)
	}
	if canonical, err := ianaindex.IANA.Name(e); err != nil || canonical != "UTF-8" {
		w.encoder = encoding.ReplaceUnsupported(e.NewEncoder())
	}
	return nil
}

// Write puts the rows of one call together, so that a row that can't be encoded
// stands alone.
func (w *writer) Write(_ context.Context, ops []indexwriter.Op) ([]indexwriter.Result, error) {
	out := make([]indexwriter.Result, len(ops))
	for i := range ops {
		if ops[i].Kind == indexwriter.Delete {
			w.deletes++
			continue
		}
		row, err := w.row(&ops[i].Doc)
		if err != nil {
			out[i].Rejected = err.Error()
			continue
		}
		if err := w.put(row); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (w *writer) put(row string) error {
	fresh, err := w.files.Begin()
	if err != nil {
		return err
	}
	if fresh && w.Header {
		head, err := w.encode(w.join(w.Fields))
		if err != nil {
			return fault.Errorf(fault.Invalid, "names of the columns: %w", err)
		}
		if _, err := w.files.Write([]byte(head)); err != nil {
			return err
		}
	}
	_, err = w.files.Write([]byte(row))
	return err
}

func (w *writer) row(d *model.Document) (string, error) {
	cells := make([]string, len(w.Fields))
	for i, f := range w.Fields {
		values := d.Fields[f]
		if f == "id" && values == nil {
			values = []string{d.ID}
		}
		if w.MaxValues >= 0 && len(values) > w.MaxValues {
			values = values[:w.MaxValues]
		}
		short := make([]string, len(values))
		for k, v := range values {
			short[k] = cut(v, w.MaxLength)
		}
		cells[i] = strings.Join(short, w.ValueSep)
	}
	return w.encode(w.join(cells))
}

// cut returns the first n characters of s.
func cut(s string, n int) string {
	if n < 0 || len(s) <= n {
		return s
	}
	at := 0
	for range n {
		_, size := utf8.DecodeRuneInString(s[at:])
		if at += size; at >= len(s) {
			return s
		}
	}
	return s[:at]
}

func (w *writer) encode(s string) (string, error) {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if w.encoder == nil {
		return s, nil
	}
	out, err := w.encoder.String(s)
	if err != nil {
		return "", fmt.Errorf("encode in %s: %w", w.Charset, err)
	}
	return strings.ReplaceAll(out, "\x1a", "?"), nil // what x/text writes for what is unsupported
}

func (w *writer) join(cells []string) string {
	quoted := make([]string, len(cells))
	for i, c := range cells {
		quoted[i] = w.quoted(c)
	}
	return strings.Join(quoted, w.Separator) + "\r\n"
}

func (w *writer) quoted(s string) string {
	if w.Quote == "" {
		return strings.NewReplacer("\r\n", " ", "\n", " ", "\r", " ", w.Separator, " ").Replace(s)
	}
	if !strings.ContainsAny(s, "\r\n") && !strings.Contains(s, w.Separator) && !strings.Contains(s, w.Quote) && !strings.Contains(s, w.Escape) {
		return s
	}
	if w.Escape != w.Quote {
		s = strings.ReplaceAll(s, w.Escape, w.Escape+w.Escape)
	}
	return w.Quote + strings.ReplaceAll(s, w.Quote, w.Escape+w.Quote) + w.Quote
}

func (w *writer) Commit(context.Context) error {
	if w.deletes > 0 {
		w.log.Warn("a CSV file can't say that documents are gone; deletes were not written", "count", w.deletes)
		w.deletes = 0
	}
	return w.files.Commit()
}

func (w *writer) Describe(_ context.Context, _ []model.Document, d *indexwriter.Description) error {
	d.Server = w.files.Dir()
	d.Facts = append(d.Facts, indexwriter.Fact{Name: "deletes", Value: "not written"})
	return nil
}

func (w *writer) Close(context.Context) error { return w.files.Close() }
