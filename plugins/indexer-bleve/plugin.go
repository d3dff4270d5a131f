// Package indexerbleve writes documents into an embedded bleve index and
// searches it. It owns the index's files, how fields are indexed and what a
// query means; which documents there are is the core's business.
package indexerbleve

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/index/scorch"

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
	x := New(c, env.DataDir)
	return &sdk.Extensions{IndexWriter: x, Searcher: x, Close: x.Shutdown}, nil
}

// New returns the plugin's one object. Indexes without a path of their own lie in dataDir.
func New(c Config, dataDir string) *Index {
	return &Index{cfg: c, dataDir: dataDir, open: map[string]*instance{}}
}

// Index holds the opened instances. It is safe for concurrent use; an instance
// can be searched while it is written.
type Index struct {
	cfg     Config
	dataDir string

	mu   sync.Mutex
	open map[string]*instance
}

type instance struct {
	cfg   Config
	index bleve.Index
}

// Open implements indexwriter.Writer: it opens or makes the index.
func (x *Index) Open(_ context.Context, name string, params indexwriter.Params) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.open[name] != nil {
		return nil
	}
	c, err := x.config(params)
	if err != nil {
		return err
	}
	dir := c.Path
	if dir == "" {
		if x.dataDir == "" {
			return fault.Errorf(fault.Invalid, "no folder for the index: set path")
		}
		dir = filepath.Join(x.dataDir, name)
	}
	// Without a time-out a second process would wait for the lock for ever.
	options := map[string]any{"bolt_timeout": "2s"}
	index, err := bleve.OpenUsing(dir, options)
	if errors.Is(err, bleve.ErrorIndexPathDoesNotExist) || errors.Is(err, bleve.ErrorIndexMetaMissing) {
		m, merr := newMapping(c)
		if merr != nil {
			return fmt.Errorf("index mapping: %w", merr)
		}
		index, err = bleve.NewUsing(dir, m, scorch.Name, scorch.Name, options)
	}
	if err != nil {
		return fmt.Errorf("open index %s: %w (is another crawler using it?)", dir, err)
	}
	x.open[name] = &instance{cfg: c, index: index}
	return nil
}

// config merges an instance's parameters over the plugin's settings.
func (x *Index) config(params indexwriter.Params) (Config, error) {
	c := x.cfg
	for k, v := range params {
		var err error
		switch k {
		case "path":
			c.Path = v
		case "analyzer":
			c.Analyzer = v
		case "store_content":
			c.StoreContent, err = strconv.ParseBool(v)
		case "text_fields":
			c.TextFields = nil
			if v != "" {
				c.TextFields = strings.Split(v, ",")
			}
		default:
			err = errors.New("unknown parameter")
		}
		if err != nil {
			return c, fault.Errorf(fault.Invalid, "parameter %s = %q: %w", k, v, err)
		}
	}
	if !knownAnalyzer(c.Analyzer) {
		return c, fault.Errorf(fault.Invalid, "analyzer = %q: want one of %s", c.Analyzer, analyzerNames())
	}
	return c, nil
}

func (x *Index) get(name string) (*instance, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if i := x.open[name]; i != nil {
		return i, nil
	}
	return nil, fault.Errorf(fault.Invalid, "writer %q is not open", name)
}

// Write implements indexwriter.Writer. A batch is durable when it returns.
func (x *Index) Write(_ context.Context, name string, ops []indexwriter.Op) ([]indexwriter.Result, error) {
	i, err := x.get(name)
	if err != nil {
		return nil, err
	}
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

// fields gives bleve one value or a list, numbers as numbers, and text without
// words that nobody would search for.
func (i *instance) fields(d *model.Document) map[string]any {
	text := searched(i.cfg.TextFields)
	m := make(map[string]any, len(d.Fields)+1)
	m["boost"] = d.Boost
	for k, v := range d.Fields {
		if _, ok := text[k]; ok {
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
	return m
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

// Commit implements indexwriter.Writer; batches are durable already.
func (x *Index) Commit(_ context.Context, name string) error {
	_, err := x.get(name)
	return err
}

// Close implements indexwriter.Writer.
func (x *Index) Close(_ context.Context, name string) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	i := x.open[name]
	if i == nil {
		return nil
	}
	delete(x.open, name)
	return i.index.Close()
}

// Shutdown closes all instances.
func (x *Index) Shutdown() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	var errs []error
	for name, i := range x.open {
		errs = append(errs, i.index.Close())
		delete(x.open, name)
	}
	return errors.Join(errs...)
}

var (
	_ indexwriter.Writer = (*Index)(nil)
	_ searcher.Searcher  = (*Index)(nil)
)
