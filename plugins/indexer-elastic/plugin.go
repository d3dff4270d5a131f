// Package indexerelastic writes documents into Elasticsearch or OpenSearch and
// searches them there, through the part of the REST interface that both share.
// It owns the requests, the ready mapping and what an item's status means; which
// documents there are is the core's business.
package indexerelastic

import (
	"context"
	_ "embed"

	"github.com/gonutch/crawler/plugins/internal/libindex"
	"github.com/gonutch/crawler/plugins/internal/libwriter"
	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/extension/indexwriter"
	"github.com/gonutch/crawler/sdk/extension/searcher"
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
func New(base Config) *Elastic {
	e := &Elastic{}
	e.Check = func(_ string, params indexwriter.Params) (func(context.Context) (libwriter.Instance, error), error) {
		c, err := libindex.Merge(base, params)
		if err != nil {
			return nil, err
		}
		if err := checkNames(c); err != nil {
			return nil, err
		}
		i := &instance{cfg: c}
		if i.body, err = i.definition(); err != nil {
			return nil, err
		}
		if i.client, err = libindex.NewClient(c.Server, "ApiKey"); err != nil {
			return nil, err
		}
		return i.open, nil
	}
	return e
}

// Elastic holds the opened instances. It is safe for concurrent use.
type Elastic struct {
	libwriter.Table
}

type instance struct {
	cfg    Config
	client *libindex.Client
	body   map[string]any // settings and mappings of a new index
	server string         // "opensearch 2.19.6"
}

// open asks the server who it is and makes the index when it is missing.
func (i *instance) open(ctx context.Context) (libwriter.Instance, error) {
	if err := i.prepare(ctx); err != nil {
		i.client.Close()
		return nil, err
	}
	return i, nil
}

// Close implements libwriter.Instance.
func (i *instance) Close(context.Context) error {
	i.client.Close()
	return nil
}

var _ searcher.Searcher = (*Elastic)(nil)
