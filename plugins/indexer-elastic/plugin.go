// Package indexerelastic writes documents into Elasticsearch or OpenSearch and
// searches them there, through the part of the REST interface that both share.
// It owns the requests, the ready mapping and what an item's status means; which
// documents there are is the core's business.
package indexerelastic

import (
	"context"
	_ "embed"
	"sync"

	"github.com/gonutch/crawler/plugins/internal/libindex"
	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/extension/indexwriter"
	"github.com/gonutch/crawler/sdk/extension/searcher"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/setting"
)

//go:embed plugin.hcl
var manifest []byte

// Plugin returns the plugin.
func Plugin() sdk.Plugin { return sdk.Plugin{Manifest: manifest, New: build} }

// Config are the settings; each writer instance can have its own.
type Config struct {
	libindex.Server
	Index       string       `json:"index"`
	Alias       string       `json:"alias"`
	DataStream  bool         `json:"data_stream"`
	Create      bool         `json:"create"`
	MappingFile string       `json:"mapping_file"`
	Analyzer    string       `json:"analyzer"`
	Shards      int          `json:"shards"`
	Replicas    int          `json:"replicas"`
	Pipeline    string       `json:"pipeline"`
	Refresh     bool         `json:"refresh"`
	MaxBulkDocs int          `json:"max_bulk_docs"`
	MaxBulkSize setting.Size `json:"max_bulk_size"`
	TextFields  []string     `json:"text_fields"`
}

func build(env sdk.Env) (*sdk.Extensions, error) {
	var c Config
	if err := env.Settings.Decode(&c); err != nil {
		return nil, err
	}
	e := New(c)
	return &sdk.Extensions{IndexWriter: e, Searcher: e, Close: e.Shutdown}, nil
}

// New returns the plugin's one object.
func New(c Config) *Elastic { return &Elastic{cfg: c, open: map[string]*instance{}} }

// Elastic holds the opened instances. It is safe for concurrent use.
type Elastic struct {
	cfg Config

	mu   sync.Mutex
	open map[string]*instance
}

type instance struct {
	cfg    Config
	client *libindex.Client
	server string // "opensearch 2.19.6"
}

// Open implements indexwriter.Writer: it asks the server who it is and makes
// the index when it is missing.
func (e *Elastic) Open(ctx context.Context, name string, params indexwriter.Params) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.open[name] != nil {
		return nil
	}
	c, err := libindex.Merge(e.cfg, params)
	if err != nil {
		return err
	}
	if err := checkNames(c); err != nil {
		return err
	}
	client, err := libindex.NewClient(c.Server, "ApiKey")
	if err != nil {
		return err
	}
	i := &instance{cfg: c, client: client}
	if err := i.prepare(ctx); err != nil {
		client.Close()
		return err
	}
	e.open[name] = i
	return nil
}

func (e *Elastic) get(name string) (*instance, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if i := e.open[name]; i != nil {
		return i, nil
	}
	return nil, fault.Errorf(fault.Invalid, "writer %q is not open", name)
}

// Close implements indexwriter.Writer.
func (e *Elastic) Close(_ context.Context, name string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if i := e.open[name]; i != nil {
		i.client.Close()
		delete(e.open, name)
	}
	return nil
}

// Shutdown closes all instances.
func (e *Elastic) Shutdown() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	for name, i := range e.open {
		i.client.Close()
		delete(e.open, name)
	}
	return nil
}

var (
	_ indexwriter.Writer = (*Elastic)(nil)
	_ searcher.Searcher  = (*Elastic)(nil)
)
