// Package indexerbleve writes documents into an embedded bleve index and
// searches it. It owns the index's files, how fields are indexed and what a
// query means; which documents there are is the core's business.
package indexerbleve

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/analysis/analyzer/standard"

	"github.com/gonutch/crawler/plugins/internal/libindex"
	"github.com/gonutch/crawler/plugins/internal/libwriter"
	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/extension/indexwriter"
	"github.com/gonutch/crawler/sdk/extension/searcher"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/model"
)

//go:embed plugin.hcl
var manifest []byte

// Plugin returns the plugin.
func Plugin() sdk.Plugin { return sdk.Plugin{Manifest: manifest, New: build} }

// Config are the settings; each writer instance can have its own.
type Config struct {
	Path         string   `json:"path"`
	Analyzer     string   `json:"analyzer"`
	StoreContent bool     `json:"store_content"`
	TextFields   []string `json:"text_fields"`
}

func build(env sdk.Env) (*sdk.Extensions, error) {
	var c Config
	if err := env.Settings.Decode(&c); err != nil {
		return nil, err
	}
	var indexer struct {
		BatchSize int `json:"batch_size"`
	}
	if err := env.Settings.Section("indexer", &indexer); err != nil {
		return nil, err
	}
	x := New(c, env.DataDir, indexer.BatchSize)
	return &sdk.Extensions{IndexWriter: x, Searcher: x, Close: x.Shutdown}, nil
}

// New returns the plugin's one object. Indexes without a path of their own lie in dataDir; batch
// is how many documents come at once, 0 when that is not known.
func New(base Config, dataDir string, batch int) *Index {
	x := &Index{}
	x.Check = func(name string, params indexwriter.Params) (func(context.Context) (libwriter.Instance, error), error) {
		c, err := libindex.Merge(base, params)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(analyzers(), c.Analyzer) {
			return nil, fault.Param("analyzer", "analyzer = %q: want one of %s", c.Analyzer, strings.Join(analyzers(), ", "))
		}
		return func(context.Context) (libwriter.Instance, error) { return open(c, name, dataDir, batch) }, nil
	}
	return x
}

// Index holds the opened instances. It is safe for concurrent use; an instance
// can be searched while it is written.
type Index struct {
	libwriter.Table
}

type instance struct {
	cfg   Config // as configured; made is what counts
	made  made
	dir   string
	index bleve.Index
}

// open opens or makes the index.
func open(c Config, name, dataDir string, batch int) (libwriter.Instance, error) {
	dir, err := libwriter.Folder(c.Path, dataDir, name)
	if err != nil {
		return nil, err
	}
	options := map[string]any{
		"bolt_timeout": "2s", // without, a second process would wait for the lock for ever
	}
	if batch > 0 {
		// Segments smaller than this count as that small when it is decided which are merged:
		// with bleve's own figure, 2000, a small index is merged whole after every batch.
		options["scorchMergePlanOptions"] = map[string]any{"FloorSegmentSize": batch}
	}
	index, err := bleve.OpenUsing(dir, options)
	if errors.Is(err, bleve.ErrorIndexPathDoesNotExist) || errors.Is(err, bleve.ErrorIndexMetaMissing) {
		if err = create(dir, c, maps.Clone(options)); err == nil {
			index, err = bleve.OpenUsing(dir, options)
		}
	}
	if err != nil {
		return nil, openError(dir, err)
	}
	return &instance{cfg: c, made: madeWith(index.Mapping()), dir: dir, index: index}, nil
}

// Write implements libwriter.Instance. A batch is durable when it returns.
func (i *instance) Write(_ context.Context, ops []indexwriter.Op) ([]indexwriter.Result, error) {
	results := make([]indexwriter.Result, len(ops))
	batch := i.index.NewBatch()
	for k := range ops {
		switch op := &ops[k]; op.Kind {
		case indexwriter.Delete:
			batch.Delete(op.Doc.ID)
		case indexwriter.Add:
			if err := batch.Index(op.Doc.ID, i.fields(&op.Doc)); err != nil {
				results[k].Rejected = err.Error()
			}
		default:
			results[k].Rejected = fmt.Sprintf("unknown operation %d", op.Kind)
		}
	}
	if err := i.index.Batch(batch); err != nil {
		return nil, fault.New(fault.Transient, fmt.Errorf("write batch: %w", err))
	}
	return results, nil
}

// document is what bleve gets; its type is the analyzer of its language.
type document map[string]any

// Type implements mapping.Classifier.
func (d document) Type() string {
	t, _ := d[analyzerField].(string)
	return t
}

// fields gives bleve one value or a list, numbers as numbers, and text without
// words that nobody would search for.
func (i *instance) fields(d *model.Document) document {
	text := libindex.Weights(i.made.TextFields)
	m := make(document, len(d.Fields)+3)
	m["boost"] = d.Boost
	for k, v := range d.Fields {
		if text[k] > 0 {
			short := make([]string, len(v))
			for n := range v {
				short[n] = shortWords(v[n])
			}
			v = short
		}
		switch {
		case k == "contentLength" && len(v) == 1:
			if n, err := strconv.ParseFloat(v[0], 64); err == nil {
				m[k] = n
			}
		case len(v) == 1:
			m[k] = v[0]
		case len(v) > 1:
			m[k] = v
		}
	}
	if i.made.Analyzer == auto {
		m[analyzerField] = standard.Name
		if lang := d.Fields["lang"]; len(lang) > 0 && analyzerOf(lang[0]) != "" {
			m[analyzerField] = analyzerOf(lang[0])
		}
	}
	if i.made.months {
		for _, f := range dateFields() {
			if v := d.Fields[f]; len(v) > 0 && isDate(v[0]) {
				m[f+monthSuffix] = v[0][:len("2006-01")]
			}
		}
	}
	return m
}

func isDate(text string) bool {
	_, err := time.Parse(time.RFC3339Nano, text)
	return err == nil
}

// maxWord is the length in bytes from which a word is cut, as in Lucene.
const maxWord = 255

// shortWords cuts words of ASCII letters and digits that are longer than maxWord, which
// are data in disguise: each byte of a long term costs the index many bytes of memory. Scripts
// that put no space between words are left alone.
func shortWords(s string) string {
	var b strings.Builder
	kept, start := 0, 0 // up to where s is in b; where the present word starts
	for at := 0; at <= len(s); at++ {
		if at < len(s) && inWord(s[at]) {
			continue
		}
		if at-start > maxWord {
			b.WriteString(s[kept : start+maxWord])
			kept = at
		}
		start = at + 1
	}
	if kept == 0 {
		return s
	}
	b.WriteString(s[kept:])
	return b.String()
}

func inWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_'
}

// Commit implements libwriter.Instance; batches are durable already.
func (i *instance) Commit(context.Context) error { return nil }

// Close implements libwriter.Instance.
func (i *instance) Close(context.Context) error { return i.index.Close() }

// Describe implements libwriter.Instance: what the settings say that the index was not made
// with, and dates that are none.
func (i *instance) Describe(_ context.Context, sample []model.Document, d *indexwriter.Description) error {
	d.Server, d.Version = i.dir, "bleve 2"
	n, err := i.index.DocCount()
	if err != nil {
		return fmt.Errorf("count documents: %w", err)
	}
	present, err := i.present()
	if err != nil {
		return err
	}
	d.Facts = append(d.Facts, indexwriter.Fact{Name: "documents", Value: strconv.FormatUint(n, 10)}, indexwriter.Fact{Name: "analyzer", Value: i.made.Analyzer})
	if i.made.Analyzer == auto {
		d.Facts = append(d.Facts, indexwriter.Fact{Name: "analyzers in use", Value: strings.Join(present, ", ")})
	}
	more := slices.Sorted(slices.Values(i.cfg.TextFields))
	for _, c := range []struct{ name, want, has string }{
		{"analyzer", i.cfg.Analyzer, i.made.Analyzer},
		{"store_content", strconv.FormatBool(i.cfg.StoreContent), strconv.FormatBool(i.made.StoreContent)},
		{"text_fields", strings.Join(more, ","), strings.Join(i.made.TextFields, ",")},
	} {
		if c.want != c.has {
			d.Problems = append(d.Problems, fmt.Sprintf("%s = %q does not count, because the index was made with %q: remove %s and run crawler reindex", c.name, c.want, c.has, i.dir))
		}
	}
	for _, f := range dateFields() {
		for k := range sample {
			if v := sample[k].Fields[f]; len(v) > 0 && !isDate(v[0]) {
				d.Problems = append(d.Problems, fmt.Sprintf("field %s: %q is no date and can't be searched or counted as one (%s)", f, v[0], sample[k].ID))
				break
			}
		}
	}
	return nil
}

// present returns the analyzers that documents of the index were indexed with.
func (i *instance) present() ([]string, error) {
	if i.made.Analyzer != auto {
		return []string{i.made.Analyzer}, nil
	}
	dict, err := i.index.FieldDict(analyzerField)
	if err != nil {
		return nil, fmt.Errorf("look for languages: %w", err)
	}
	var out []string
	e, err := dict.Next()
	for ; err == nil && e != nil; e, err = dict.Next() {
		out = append(out, e.Term)
	}
	return out, errors.Join(err, dict.Close())
}

var _ searcher.Searcher = (*Index)(nil)
