// Package indexersolr writes documents into Apache Solr, single or SolrCloud,
// and searches them there. It owns the requests and the ready configset; which
// documents there are is the core's business.
package indexersolr

import (
	"context"
	"embed"
	"errors"

	"github.com/gonutch/crawler/plugins/internal/libindex"
	"github.com/gonutch/crawler/plugins/internal/libwriter"
	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/extension/indexwriter"
	"github.com/gonutch/crawler/sdk/extension/searcher"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/setting"
)

//go:embed plugin.hcl
var manifest []byte

// configset is the ready configuration of a core or collection.
//
//go:embed configset
var configset embed.FS

// Plugin returns the plugin.
func Plugin() sdk.Plugin { return sdk.Plugin{Manifest: manifest, New: build} }

// Config are the settings; each writer instance can have its own.
type Config struct {
	libindex.Server
	Type         string           `json:"type"`
	Collection   string           `json:"collection"`
	Create       bool             `json:"create"`
	Configset    string           `json:"configset"`
	Shards       int              `json:"shards"`
	Replicas     int              `json:"replicas"`
	Commit       string           `json:"commit"`
	CommitWithin setting.Duration `json:"commit_within"`
	MaxDocs      int              `json:"max_docs"`
	MaxSize      setting.Size     `json:"max_size"`
	WeightField  string           `json:"weight_field"`
	TextFields   []string         `json:"text_fields"`
}

func build(env sdk.Env) (*sdk.Extensions, error) {
	var c Config
	if err := env.Settings.Decode(&c); err != nil {
		return nil, err
	}
	s := New(c)
	return &sdk.Extensions{IndexWriter: s, Searcher: s, Close: s.Shutdown}, nil
}

// New returns the plugin's one object.
func New(base Config) *Solr {
	s := &Solr{}
	s.Check = func(_ string, params indexwriter.Params) (func(context.Context) (libwriter.Instance, error), error) {
		c, err := libindex.Merge(base, params)
		if err != nil {
			return nil, err
		}
		i, err := newInstance(c)
		if err != nil {
			return nil, err
		}
		return i.open, nil
	}
	return s
}

// Solr holds the opened instances. It is safe for concurrent use.
type Solr struct {
	libwriter.Table
}

// instance has one target that gets everything for each Solr of its own, and
// one for a whole cloud.
type instance struct {
	cfg     Config
	targets []*target
}

type target struct {
	cfg    Config
	client *libindex.Client
}

// open looks for the collection, makes it if it may, and checks the schema.
func (i *instance) open(ctx context.Context) (libwriter.Instance, error) {
	for _, t := range i.targets {
		if err := t.prepare(ctx); err != nil {
			i.close()
			return nil, err
		}
	}
	return i, nil
}

func newInstance(c Config) (*instance, error) {
	i := &instance{cfg: c}
	groups := [][]string{c.URL}
	if c.Type == "http" && len(c.URL) > 1 {
		groups = nil
		for _, u := range c.URL {
			groups = append(groups, []string{u})
		}
	}
	for _, urls := range groups {
		server := c.Server
		server.URL = urls
		client, err := libindex.NewClient(server, "Bearer")
		if err != nil {
			if c.Type == "cloud" {
				err = fault.Param("url", "%w (in a cloud, too, url names Solr's nodes, not ZooKeeper's)", err)
			}
			i.close()
			return nil, err
		}
		i.targets = append(i.targets, &target{cfg: c, client: client})
	}
	return i, nil
}

func (i *instance) close() {
	for _, t := range i.targets {
		t.client.Close()
	}
}

// each calls f for every target; all errors are told, the first one's kind
// counts.
func (i *instance) each(f func(t *target) error) error {
	var errs []error
	for _, t := range i.targets {
		if err := f(t); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// Close implements libwriter.Instance.
func (i *instance) Close(context.Context) error {
	i.close()
	return nil
}

var _ searcher.Searcher = (*Solr)(nil)
