package chain

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/gonutch/crawler/core/internal/pluginhost"
	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/extension/segmentmerge"
	"github.com/gonutch/crawler/sdk/extension/urlnormalizer"
	"github.com/gonutch/crawler/sdk/manifest"
	"github.com/gonutch/crawler/sdk/model"
)

// Plugin is one chosen plugin and its effective settings.
type Plugin struct {
	Manifest *manifest.Manifest
	Settings sdk.Settings
}

// LocalPlugin is a plugin that runs inside this process: for tests and for
// measuring what the processes cost.
type LocalPlugin struct {
	Manifest *manifest.Manifest
	Settings sdk.Settings
	Plugin   sdk.Plugin
	DataDir  string // where it may keep files; "" is nowhere
}

// Options are the limits and choices of the chains. Zero values mean the
// defaults given here.
type Options struct {
	// Order names, for a point, the plugins that run first; the others follow in
	// the order of their ids.
	Order map[string][]string
	// NormalizerOrder names, for a scope, the normalizers that run first in
	// this scope instead of Order's.
	NormalizerOrder map[urlnormalizer.Scope][]string
	// NormalizerLoops is how often the normalizers run over a URL, at most, until
	// nothing changes; 1.
	NormalizerLoops int
	// ParserTypes names the parsers to try for a MIME type, first success wins.
	// A type that is not named takes the parsers whose manifests name it, then
	// "major/*", then "*".
	ParserTypes map[string][]string
	// ProtocolRules name the protocol plugin by URL; the first that matches counts, before
	// ProtocolOf.
	ProtocolRules []ProtocolRule
	// ProtocolOf names the protocol plugin for a scheme or, stronger, a host. A
	// plugin of the scheme's own is taken otherwise: the first in order.
	ProtocolOf map[string]string
	Exchanges  []ExchangeConfig
	// Only names, for a point, the one plugin that is to run there; the others
	// of the point are left out. It is for looking at one plugin's work.
	Only map[string]string

	MaxBatchItems int           // items of one call, 500
	MaxBatchBytes int           // bytes of one call, 1 MiB; a greater item goes alone
	MaxBatchPages int           // documents of one parser, parse filter, scoring or indexing call, 16
	WriteItems    int           // operations of one call of an index writer, MaxBatchItems
	WriteBytes    int           // bytes of one such call, MaxBatchBytes
	Linger        time.Duration // how long a batch waits for company, 2 ms; negative means not at all
	Retries       int           // attempts after a transient failure, 3
	RetryDelay    time.Duration // before the first of them, doubled each time, with jitter; 50 ms
	FetchGrace    time.Duration // on top of a request's own time-out before the plugin counts as hung; 10 s
	FetchTimeout  time.Duration // of a request without a time-out of its own, before FetchGrace; 0 means the host's time limit for calls
	ParseTimeout  time.Duration // of one parser call; 0 means the host's time limit for calls
	CacheBytes    int64         // bound of the result cache, 64 MiB; negative means no cache
	EventQueue    int           // events waiting for each publisher, 1024
	EventFlush    time.Duration // for publishers to say what they still have when the chains are closed; 5 s
	Logger        hclog.Logger  // nil logs nothing
}

// ProtocolRule names the plugin that fetches the URLs that match.
type ProtocolRule struct {
	ID  string
	URL *regexp.Regexp
}

func (o Options) withDefaults() Options {
	def := func(p *int, v int) {
		if *p == 0 {
			*p = v
		}
	}
	def(&o.NormalizerLoops, 1)
	def(&o.MaxBatchItems, 500)
	def(&o.MaxBatchBytes, 1<<20)
	def(&o.MaxBatchPages, 16)
	def(&o.WriteItems, o.MaxBatchItems)
	def(&o.WriteBytes, o.MaxBatchBytes)
	def(&o.Retries, 3)
	def(&o.EventQueue, 1024)
	if o.Linger == 0 {
		o.Linger = 2 * time.Millisecond
	}
	if o.RetryDelay == 0 {
		o.RetryDelay = 50 * time.Millisecond
	}
	if o.FetchGrace == 0 {
		o.FetchGrace = 10 * time.Second
	}
	if o.EventFlush == 0 {
		o.EventFlush = 5 * time.Second
	}
	if o.CacheBytes == 0 {
		o.CacheBytes = 64 << 20
	}
	if o.Logger == nil {
		o.Logger = hclog.NewNullLogger()
	}
	return o
}

// Chains are the ordered plugins of every extension point.
type Chains struct {
	opts    Options
	log     hclog.Logger
	members map[string]*member
	order   map[string][]*member // by point
	finger  string
	cache   *resultCache

	urls      *urlChain
	protocols map[string]*member
	parsers   *parserChain
	scoring   *scoringChain
	indexing  []indexEntry
	merge     []*stage[*segmentmerge.Record, bool]
	exchanges []exchangeEntry
	writers   writerTable
	publish   *publishers

	closeOnce sync.Once
	closeErr  error
}

// New builds the chains over the plugin processes of host. Every plugin of
// chosen must be known to host; host starts a process on its first call if it
// is not running. The caller closes the Chains before the host.
func New(host *pluginhost.Host, chosen []Plugin, opts Options) (*Chains, error) {
	members := make(map[string]*member, len(chosen))
	for _, p := range chosen {
		handle := host.Plugin(p.Manifest.ID)
		if handle == nil {
			return nil, fmt.Errorf("chain: plugin %s is not known to the plugin host", p.Manifest.ID)
		}
		members[p.Manifest.ID] = newMember(p.Manifest, p.Settings, handle, nil)
	}
	return build(members, opts)
}

// NewLocal builds the chains over plugins inside this process. Crashes and
// hangs are not survived there.
func NewLocal(plugins []LocalPlugin, opts Options) (*Chains, error) {
	opts = opts.withDefaults()
	members := make(map[string]*member, len(plugins))
	for _, p := range plugins {
		ext, err := p.Plugin.New(sdk.Env{Settings: p.Settings, Logger: opts.Logger.Named(p.Manifest.ID), DataDir: p.DataDir})
		if err != nil {
			return nil, errors.Join(fmt.Errorf("chain: build plugin %s: %w", p.Manifest.ID, err), closeLocal(members))
		}
		members[p.Manifest.ID] = newMember(p.Manifest, p.Settings, nil, ext)
	}
	c, err := build(members, opts)
	if err != nil {
		return nil, errors.Join(err, closeLocal(members))
	}
	return c, nil
}

func closeLocal(members map[string]*member) error {
	var errs []error
	for _, m := range members {
		if m.local != nil && m.local.Close != nil {
			errs = append(errs, m.local.Close())
		}
	}
	return errors.Join(errs...)
}

// Close sends what publishers still have to say, closes opened writers and
// the plugins that run inside this process. It is safe to call twice.
func (c *Chains) Close(ctx context.Context) error {
	c.closeOnce.Do(func() {
		flush, cancel := context.WithTimeout(ctx, c.opts.EventFlush)
		c.publish.close(flush)
		cancel()
		c.closeErr = errors.Join(c.writers.close(ctx), closeLocal(c.members))
	})
	return c.closeErr
}

// PointChain is an extension point and its plugins in the order they run.
type PointChain struct {
	Point   string   `json:"point"`
	Plugins []string `json:"plugins"`
}

// Resolved returns the chains as they run, points without a plugin left out.
func (c *Chains) Resolved() []PointChain {
	var out []PointChain
	for _, point := range manifest.Points() {
		if len(c.order[point]) == 0 {
			continue
		}
		pc := PointChain{Point: point}
		for _, m := range c.order[point] {
			pc.Plugins = append(pc.Plugins, m.id)
		}
		out = append(out, pc)
	}
	return out
}

// Has reports whether a plugin of the point was chosen.
func (c *Chains) Has(point string) bool { return len(c.order[point]) > 0 }

// Fingerprint identifies what decides over URLs: ids, versions, manifests,
// settings, rule files and order of the normalizers and filters. Two crawls
// with the same fingerprint normalise and filter alike.
func (c *Chains) Fingerprint() string { return c.finger }

// Needs returns what the indexing filters of the chain ask for, together.
func (c *Chains) Needs() manifest.Needs {
	var n manifest.Needs
	for _, m := range c.order[manifest.IndexingFilter] {
		n.Content = n.Content || m.man.Needs.Content
		n.Inlinks = n.Inlinks || m.man.Needs.Inlinks
		n.Outlinks = n.Outlinks || m.man.Needs.Outlinks
		n.Text = n.Text || m.man.Needs.Text
	}
	return n
}

// Facts returns the facts that the parse filters ask parsers for, each once.
func (c *Chains) Facts() []model.Fact { return c.parsers.facts }
