// Package indexersolr writes documents into Apache Solr, single or SolrCloud,
// and searches them there. It owns the requests and the ready configset; which
// documents there are is the core's business.
package indexersolr

import (
	"context"
	"embed"
	"errors"
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
func New(c Config) *Solr { return &Solr{cfg: c, open: map[string]*instance{}} }

// Solr holds the opened instances. It is safe for concurrent use.
type Solr struct {
	cfg Config

	mu   sync.Mutex
	open map[string]*instance
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

// Open implements indexwriter.Writer: it looks for the collection, makes it if
// it may, and checks the schema.
func (s *Solr) Open(ctx context.Context, name string, params indexwriter.Params) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[name] != nil {
		return nil
	}
	c, err := libindex.Merge(s.cfg, params)
	if err != nil {
		return err
	}
	i, err := newInstance(c)
	if err != nil {
		return err
	}
	for _, t := range i.targets {
		if err := t.prepare(ctx); err != nil {
			i.close()
			return err
		}
	}
	s.open[name] = i
	return nil
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
				err = fault.Errorf(fault.Invalid, "%w (in a cloud, too, url names Solr's nodes, not ZooKeeper's)", err)
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

func (s *Solr) get(name string) (*instance, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := s.open[name]; i != nil {
		return i, nil
	}
	return nil, fault.Errorf(fault.Invalid, "writer %q is not open", name)
}

// Close implements indexwriter.Writer.
func (s *Solr) Close(_ context.Context, name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := s.open[name]; i != nil {
		i.close()
		delete(s.open, name)
	}
	return nil
}

// Shutdown closes all instances.
func (s *Solr) Shutdown() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, i := range s.open {
		i.close()
		delete(s.open, name)
	}
	return nil
}

var (
	_ indexwriter.Writer = (*Solr)(nil)
	_ searcher.Searcher  = (*Solr)(nil)
)
