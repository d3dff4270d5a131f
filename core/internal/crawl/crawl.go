// Package crawl opens a crawl directory with everything a command needs: store,
// databases, segments, and the chains over the chosen plugins. It owns the order of opening
// and closing, and how settings become options; it must not know what commands
// do.
package crawl

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/gonutch/crawler/core/internal/chain"
	"github.com/gonutch/crawler/core/internal/config"
	"github.com/gonutch/crawler/core/internal/db/crawldb"
	"github.com/gonutch/crawler/core/internal/db/hostdb"
	"github.com/gonutch/crawler/core/internal/db/linkdb"
	"github.com/gonutch/crawler/core/internal/pluginhost"
	"github.com/gonutch/crawler/core/internal/segment"
	"github.com/gonutch/crawler/core/internal/sheet"
	"github.com/gonutch/crawler/core/internal/step/invert"
	"github.com/gonutch/crawler/core/internal/store"
	"github.com/gonutch/crawler/core/internal/urlkey"
	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/extension"
	"github.com/gonutch/crawler/sdk/extension/exchange"
	"github.com/gonutch/crawler/sdk/extension/indexwriter"
	"github.com/gonutch/crawler/sdk/extension/urlnormalizer"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/hclconf"
	"github.com/gonutch/crawler/sdk/manifest"
	"github.com/gonutch/crawler/sdk/setting"
)

// Options say what to open.
type Options struct {
	Config    *config.Config
	Builtins  []sdk.Plugin
	Log       hclog.Logger
	Command   string // shown to others while the directory is locked
	MustExist bool   // don't make a new crawl directory
	// NoStore leaves the crawl directory alone: only plugins are opened.
	NoStore bool
	// Despite opens it in spite of mistakes in the configuration, without the plugins and
	// instances that have them; for Check only.
	Despite bool
	// Only names, for an extension point, the one plugin that is to run there.
	Only map[string]string
	// Local runs the built-in plugins inside this process, for tests and
	// comparisons.
	Local   bool
	Version string
	FS      store.FS // nil is the operating system's
}

// Crawl is an open crawl directory. Fields of the store are nil with NoStore.
type Crawl struct {
	Dir       string
	Config    *config.Config
	Log       hclog.Logger
	Manifests []*manifest.Manifest
	Choice    *config.Choice
	Instances []config.Instance // index writers
	Rules     sheet.Rules

	Store  *store.Store
	DB     *crawldb.DB
	Links  *linkdb.DB
	Hosts  *hostdb.DB
	Segs   *segment.Segments
	Host   *pluginhost.Host // nil with Local
	Chains *chain.Chains
}

// Plugins reads the manifests, checks the configuration against them and chooses
// those that take part. The error holds all mistakes, and comes with what could be chosen.
func Plugins(c *config.Config, builtins []sdk.Plugin, log hclog.Logger) ([]*manifest.Manifest, *config.Choice, error) {
	var p struct {
		Folders []string `hcl:"folders"`
	}
	if err := c.Decode("plugin", &p); err != nil {
		return nil, nil, err
	}
	v, _ := c.Get("plugin.folders")
	builtin, err := hosted(builtins)
	if err != nil {
		return nil, nil, err
	}
	found, errs := pluginhost.Discover(builtin, p.Folders, func(string) bool { return v.Origin.Layer == config.Default })
	if err := errors.Join(errs...); err != nil {
		return nil, nil, fault.New(fault.Invalid, err)
	}
	for _, folder := range p.Folders {
		for _, stray := range pluginhost.Strays(folder) {
			log.Warn("a folder among the plugins has no plugin.hcl, so it is none", "folder", stray)
		}
	}
	manifests := make([]*manifest.Manifest, len(found))
	for i, f := range found {
		manifests[i] = f.Manifest
		if f.Replaces {
			log.Info("a plugin in a folder takes the place of the built-in one", "plugin", f.ID, "folder", filepath.Dir(f.File))
		}
	}
	err = c.ValidatePlugins(manifests)
	if c.Broken("plugin") {
		return manifests, nil, err // nobody knows what was to be chosen
	}
	choice, cerr := c.Choose(manifests)
	unready := func(m *manifest.Manifest) bool {
		return slices.ContainsFunc(found, func(f pluginhost.Found) bool { return f.Err != nil && f.ID == m.ID })
	}
	for _, f := range found {
		if f.Err != nil && slices.Contains(choice.Plugins, f.Manifest) {
			errs = append(errs, fault.New(fault.Invalid, f.Err))
		}
	}
	return manifests, choice.Without(unready), hclconf.Merge(append(errs, err, cerr)...)
}

func hosted(builtins []sdk.Plugin) ([]pluginhost.Builtin, error) {
	out := make([]pluginhost.Builtin, len(builtins))
	for i, b := range builtins {
		m, err := manifest.Read("plugin.hcl", b.Manifest)
		if err != nil {
			return nil, err
		}
		out[i] = pluginhost.Builtin{ID: m.ID, Manifest: b.Manifest}
	}
	return out, nil
}

// Open opens the crawl directory. On an error nothing stays open.
func Open(ctx context.Context, o Options) (_ *Crawl, err error) {
	c := &Crawl{Dir: o.Config.String("crawl.dir"), Config: o.Config, Log: o.Log}
	c.Manifests, c.Choice, err = Plugins(o.Config, o.Builtins, o.Log)
	switch {
	case o.Despite && c.Choice != nil:
		c.Choice = o.Config.Sound(c.Choice)
	case err != nil:
		return nil, err
	}
	if c.Rules, err = sheet.Load(o.Config); err != nil && !o.Despite {
		return nil, err
	}
	if c.Instances, err = o.Config.Instances("index_writer", c.Choice.Plugins); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Discard(context.WithoutCancel(ctx)))
		}
	}()
	if !o.NoStore {
		if err := c.openStore(ctx, o); err != nil {
			return nil, err
		}
	}
	return c, c.openPlugins(o)
}

func (c *Crawl) openStore(ctx context.Context, o Options) error {
	var st struct {
		CacheSize    setting.Size `hcl:"cache_size"`
		MemtableSize setting.Size `hcl:"memtable_size"`
		LowWater     setting.Size `hcl:"low_water"`
	}
	var gen struct {
		CountMode string `hcl:"count_mode"`
	}
	var db struct {
		Interval  setting.Duration `hcl:"fetch_interval_default"`
		Additions bool             `hcl:"update_additions_allowed"`
	}
	var seg struct {
		MaxSize setting.Size `hcl:"warc_file_size_max"`
		Level   int          `hcl:"gzip_level"`
	}
	var dd struct {
		Order []string `hcl:"compare_order"`
	}
	cfg := c.Config
	if err := errors.Join(cfg.Decode("store", &st), cfg.Decode("generate", &gen), cfg.Decode("db", &db), cfg.Decode("segment", &seg), cfg.Decode("dedup", &dd)); err != nil {
		return err
	}
	linkOptions, err := invert.LoadConfig(cfg)
	if err != nil {
		return err
	}
	c.Store, err = store.Open(c.Dir, store.Options{
		FS: o.FS, CacheSize: int64(st.CacheSize), MemTableSize: int64(st.MemtableSize), LowWater: int64(st.LowWater),
		Logger: c.Log.Named("store"), Command: o.Command, MustExist: o.MustExist,
	})
	if err != nil {
		return err
	}
	mode := urlkey.ByHost
	if gen.CountMode == "domain" {
		mode = urlkey.ByDomain
	}
	c.DB, err = crawldb.Open(ctx, c.Store, crawldb.Options{
		CountMode: mode, Reducers: reducers(c.Choice), NoAdditions: !db.Additions, DefaultInterval: db.Interval.D(),
		DedupFetchTime: slices.Contains(dd.Order, "fetchTime"),
	})
	if err != nil {
		return err
	}
	if c.DB.Rebuilt() {
		c.Log.Info("generate.count_mode changed since the last run; the fetch indexes were rebuilt", "mode", gen.CountMode)
	}
	c.Links = linkdb.Open(c.Store, linkOptions)
	c.Hosts = hostdb.Open(c.Store)
	c.Segs, err = segment.Open(ctx, c.Store, segment.Options{
		MaxFileSize: int64(seg.MaxSize), Level: seg.Level, Software: "crawler/" + o.Version, UserAgent: c.text("http.agent_name"),
		Operator: c.text("http.agent_email"),
	})
	return err
}

func (c *Crawl) text(key string) string { return c.Config.String(key) }

// reducers of the score fields that the chosen scoring plugins declare.
func reducers(choice *config.Choice) map[string]manifest.Reducer {
	out := map[string]manifest.Reducer{}
	for _, m := range choice.Chain("scoring") {
		for _, f := range m.Fields {
			out[f.Name] = f.Reducer
		}
	}
	return out
}

func (c *Crawl) openPlugins(o Options) error {
	opts, err := chainOptions(c.Config, c.Choice)
	if err != nil {
		return err
	}
	opts.Logger, opts.Only = c.Log.Named("chain"), o.Only
	dataDir := ""
	if c.Store != nil {
		if dataDir, err = filepath.Abs(c.Store.PluginsDir()); err != nil {
			return err
		}
	}
	if o.Local {
		return c.openLocal(o, opts, dataDir)
	}
	hostOpts, err := hostOptions(c.Config)
	if err != nil {
		return err
	}
	hostOpts.Logger = c.Log.Named("plugin")
	hostOpts.DataDir = dataDir
	settings := func(m *manifest.Manifest) (sdk.Settings, error) {
		s, _, err := c.Config.PluginSettings(m)
		return s, err
	}
	var chosen []chain.Plugin
	for _, m := range c.Choice.Plugins {
		s, err := settings(m)
		if err != nil {
			return err
		}
		chosen = append(chosen, chain.Plugin{Manifest: m, Settings: s})
	}
	if c.Host, err = pluginhost.New(hostOpts, c.Choice.Plugins, settings); err != nil {
		return err
	}
	c.Chains, err = chain.New(c.Host, chosen, opts)
	return err
}

func (c *Crawl) openLocal(o Options, opts chain.Options, dataDir string) error {
	byID := map[string]sdk.Plugin{}
	for _, b := range o.Builtins {
		m, err := manifest.Read("plugin.hcl", b.Manifest)
		if err != nil {
			return err
		}
		byID[m.ID] = b
	}
	var local []chain.LocalPlugin
	for _, m := range c.Choice.Plugins {
		b, ok := byID[m.ID]
		if !ok {
			return fmt.Errorf("plugin %s is not built in and can't run inside this process", m.ID)
		}
		s, _, err := c.Config.PluginSettings(m)
		if err != nil {
			return err
		}
		dir := ""
		if dataDir != "" {
			dir = filepath.Join(dataDir, m.ID)
		}
		local = append(local, chain.LocalPlugin{Manifest: m, Settings: s, Plugin: b, DataDir: dir})
	}
	var err error
	c.Chains, err = chain.NewLocal(local, opts)
	return err
}

// StartPlugins starts the processes of all chosen plugins, or with index false of
// those that a crawl without an index needs, so that a mistake in their settings
// shows before anything is fetched. Plugins that are started on demand are left
// out unless the user has set settings of them. With index the exchanges are opened, too. Mistakes
// come as hclconf.Problems.
func (c *Crawl) StartPlugins(ctx context.Context, index bool) error {
	if c.Host == nil {
		return nil
	}
	ids := c.started(index)
	if err := c.Host.Start(ctx, ids); err != nil {
		if ps := c.mistakes(c.startEach(ctx, ids)); len(ps) > 0 {
			return ps.Err()
		}
		return err
	}
	var ps hclconf.Problems
	if index {
		c.Chains.EachExchange(ctx, func(x *chain.ExchangeConfig, err error) {
			if k := fault.KindOf(err); err != nil && ctx.Err() == nil && k != fault.Transient && k != fault.Shutdown { // these may pass
				ps = append(ps, c.paramProblem("exchange", x.Name, x.Plugin, err))
			}
		})
	}
	return ps.Err()
}

// mistakes are the failed starts of plugins that can't use their settings.
func (c *Crawl) mistakes(starts map[string]error) (ps hclconf.Problems) {
	for _, id := range slices.Sorted(maps.Keys(starts)) {
		if err := starts[id]; fault.Is(err, fault.Invalid) {
			name, text := fault.ParamOf(err)
			ps = append(ps, c.Config.SettingProblem(id, name, text))
		}
	}
	return ps
}

func (c *Crawl) paramProblem(kind, name, plugin string, err error) hclconf.Problem {
	param, text := fault.ParamOf(err)
	return c.Config.ParamProblem(kind, name, plugin, param, text)
}

// started are the plugins that StartPlugins starts.
func (c *Crawl) started(index bool) []string {
	var ids []string
	for _, m := range c.Choice.Plugins {
		if (index || needed(m)) && (!m.OnDemand || c.Config.PluginSet(m)) {
			ids = append(ids, m.ID)
		}
	}
	return ids
}

// startEach starts plugins and returns how that went.
func (c *Crawl) startEach(ctx context.Context, ids []string) map[string]error {
	out := map[string]error{}
	if c.Host == nil {
		return out
	}
	if c.Host.Start(ctx, ids) == nil { // all at the same time
		return out
	}
	for _, id := range ids {
		out[id] = c.Host.Start(ctx, []string{id})
	}
	return out
}

// Check starts the chosen plugins and asks them whether their settings, and the parameters of
// index writers and exchanges, can be used. No server is asked and nothing is written. What is
// wrong comes as hclconf.Problems, with the lines of the configuration where they are known.
func (c *Crawl) Check(ctx context.Context) error {
	var ps hclconf.Problems
	failed := map[string]bool{}
	for id, err := range c.startEach(ctx, c.started(true)) {
		if err != nil {
			if ctx.Err() != nil {
				return err
			}
			failed[id] = true
			name, text := fault.ParamOf(err)
			ps = append(ps, c.Config.SettingProblem(id, name, text))
		}
	}
	note := func(kind, name, plugin string, err error) {
		if err != nil && !failed[plugin] {
			ps = append(ps, c.paramProblem(kind, name, plugin, err))
		}
	}
	for _, w := range c.WriterConfigs() {
		note("index_writer", w.Name, w.Plugin, c.Chains.ValidateWriter(ctx, w))
	}
	c.Chains.EachExchange(ctx, func(x *chain.ExchangeConfig, err error) { note("exchange", x.Name, x.Plugin, err) })
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return ps.Err()
}

// OpenWriters opens index writers as chain.OpenWriters does. What their plugins and servers say
// against how they are configured, credentials included, comes as hclconf.Problems.
func (c *Crawl) OpenWriters(ctx context.Context, configs []chain.WriterConfig) ([]*chain.Writer, error) {
	writers, err := c.Chains.OpenWriters(ctx, configs)
	return writers, c.placed(err)
}

// OpenExchanges opens the configured exchanges; see OpenWriters.
func (c *Crawl) OpenExchanges(ctx context.Context) error {
	return c.placed(c.Chains.OpenExchanges(ctx))
}

// placed shows, of joined errors, those that the configuration is to blame for where they are in it.
func (c *Crawl) placed(err error) error {
	all := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		all = joined.Unwrap()
	}
	var ps hclconf.Problems
	var others []error
	for _, err := range all {
		var e *chain.InstanceError
		switch {
		case !errors.As(err, &e):
			others = append(others, err)
		case fault.Is(e.Err, fault.Invalid) || fault.Is(e.Err, fault.Denied):
			ps = append(ps, c.paramProblem(e.Block, e.Name, e.Plugin, e.Err))
		case fault.Is(e.Err, fault.Permanent): // such as a folder that can't be made
			others = append(others, errors.New(c.paramProblem(e.Block, e.Name, e.Plugin, e.Err).String()))
		default:
			others = append(others, err)
		}
	}
	return errors.Join(ps.Err(), errors.Join(others...))
}

// needed reports whether a plugin takes part in a crawl without an index.
func needed(m *manifest.Manifest) bool {
	for _, p := range m.Provides {
		switch p.Point {
		case manifest.IndexingFilter, manifest.IndexWriter, manifest.Exchange, manifest.Searcher, manifest.SegmentMerge:
		default:
			return true
		}
	}
	return false
}

// Close closes everything. It is safe to call twice.
func (c *Crawl) Close(ctx context.Context) error { return c.close(ctx, (*store.Store).Close) }

// Discard is Close for a crawl that could not begin: a directory that Open made is removed again.
func (c *Crawl) Discard(ctx context.Context) error { return c.close(ctx, (*store.Store).Discard) }

func (c *Crawl) close(ctx context.Context, closeStore func(*store.Store) error) error {
	var errs []error
	if c.Chains != nil {
		errs = append(errs, c.Chains.Close(ctx))
		c.Chains = nil
	}
	if c.Host != nil {
		errs = append(errs, c.Host.Close(ctx))
		c.Host = nil
	}
	if c.Segs != nil {
		errs = append(errs, c.Segs.Close())
		c.Segs = nil
	}
	if c.Store != nil {
		errs = append(errs, closeStore(c.Store))
		c.Store = nil
	}
	return errors.Join(errs...)
}

// WriterConfigs returns the configured index writers for chain.OpenWriters.
func (c *Crawl) WriterConfigs() []chain.WriterConfig {
	out := make([]chain.WriterConfig, len(c.Instances))
	for i, in := range c.Instances {
		out[i] = chain.WriterConfig{Name: in.Name, Plugin: in.Plugin, Params: indexwriter.Params(in.Params)}
	}
	return out
}

type pluginSection struct {
	StartTimeout   setting.Duration  `hcl:"start_timeout"`
	CallTimeout    setting.Duration  `hcl:"call_timeout"`
	StopTimeout    setting.Duration  `hcl:"stop_timeout"`
	HealthInterval setting.Duration  `hcl:"health_interval"`
	HealthTimeout  setting.Duration  `hcl:"health_timeout"`
	MemoryLimit    setting.Size      `hcl:"memory_limit"`
	WatchInterval  setting.Duration  `hcl:"watch_interval"`
	MaxProcs       int               `hcl:"gomaxprocs"`
	Concurrency    int               `hcl:"concurrency"`
	BatchURLs      int               `hcl:"batch_urls"`
	BatchPages     int               `hcl:"batch_pages"`
	BatchBytes     setting.Size      `hcl:"batch_bytes"`
	BatchWait      setting.Duration  `hcl:"batch_wait"`
	MaxMessage     setting.Size      `hcl:"max_message"`
	RestartDelay   setting.Duration  `hcl:"restart_delay"`
	RestartMaxWait setting.Duration  `hcl:"restart_delay_max"`
	RestartMax     int               `hcl:"restart_max"`
	Quarantine     int               `hcl:"quarantine_attempts"`
	QuarantineProc int               `hcl:"quarantine_processes"`
	Retries        int               `hcl:"retries"`
	RetryDelay     setting.Duration  `hcl:"retry_delay"`
	CacheSize      setting.Size      `hcl:"cache_size"`
	AutoTLS        bool              `hcl:"auto_tls"`
	Reattach       map[string]string `hcl:"reattach"`
	Checksums      map[string]string `hcl:"checksums"`
	Environment    []string          `hcl:"environment"`
}

// noTimeout stands for no limit where a limit is wanted.
const noTimeout = 1000 * time.Hour

func hostOptions(c *config.Config) (pluginhost.Options, error) {
	var p pluginSection
	if err := c.Decode("plugin", &p); err != nil {
		return pluginhost.Options{}, err
	}
	procs := p.MaxProcs
	if procs == 0 {
		procs = max(1, runtime.NumCPU()/2)
	}
	return pluginhost.Options{
		StartTimeout: p.StartTimeout.D(), CallTimeout: p.CallTimeout.D(), StopTimeout: p.StopTimeout.D(),
		HealthInterval: p.HealthInterval.D(), HealthTimeout: p.HealthTimeout.D(), MemoryLimit: int64(p.MemoryLimit), MaxProcs: procs,
		Concurrency: p.Concurrency, MaxMessage: int(p.MaxMessage), BackoffMin: p.RestartDelay.D(), BackoffMax: p.RestartMaxWait.D(),
		MaxCrashes: p.RestartMax, QuarantineAttempts: p.Quarantine, QuarantineProcs: p.QuarantineProc, WatchInterval: p.WatchInterval.D(), AutoMTLS: p.AutoTLS, Reattach: p.Reattach, Checksums: p.Checksums,
		PassEnv: p.Environment,
	}, nil
}

func chainOptions(c *config.Config, choice *config.Choice) (chain.Options, error) {
	var p pluginSection
	var n struct {
		LoopCount int `hcl:"loop_count"`
	}
	var pr struct {
		Timeout setting.Duration `hcl:"timeout"`
	}
	var h struct {
		TimeLimit setting.Duration `hcl:"time_limit"`
	}
	var x struct {
		BatchSize  int          `hcl:"batch_size"`
		BatchBytes setting.Size `hcl:"batch_bytes"`
	}
	if err := errors.Join(c.Decode("indexer", &x), c.Decode("plugin", &p), c.Decode("urlnormalizer", &n), c.Decode("parser", &pr), c.Decode("http", &h)); err != nil {
		return chain.Options{}, err
	}
	o := chain.Options{
		Order: map[string][]string{}, NormalizerLoops: n.LoopCount, MaxBatchItems: p.BatchURLs, MaxBatchBytes: int(p.BatchBytes),
		WriteItems: x.BatchSize, WriteBytes: int(x.BatchBytes), MaxBatchPages: p.BatchPages, Linger: p.BatchWait.D(), Retries: p.Retries, RetryDelay: p.RetryDelay.D(), ParseTimeout: pr.Timeout.D(),
		FetchTimeout: h.TimeLimit.D(), NormalizerOrder: map[urlnormalizer.Scope][]string{}, ParserTypes: choice.ParserTypes, ProtocolOf: choice.ProtocolOf,
	}
	for _, r := range choice.ProtocolRules {
		o.ProtocolRules = append(o.ProtocolRules, chain.ProtocolRule(r))
	}
	if o.ParseTimeout < 0 {
		o.ParseTimeout = noTimeout
	}
	for scope, ids := range choice.ScopeOrder {
		o.NormalizerOrder[urlnormalizer.Scope(scope)] = ids
	}
	if o.Linger == 0 {
		o.Linger = -1
	}
	if o.CacheBytes = int64(p.CacheSize); o.CacheBytes == 0 {
		o.CacheBytes = -1
	}
	for _, p := range extension.Points() {
		point := p.Name
		for _, m := range choice.Chain(point) {
			o.Order[point] = append(o.Order[point], m.ID)
		}
	}
	instances, err := c.Instances("exchange", choice.Plugins)
	if err != nil {
		return o, err
	}
	for _, in := range instances {
		o.Exchanges = append(o.Exchanges, chain.ExchangeConfig{
			Name: in.Name, Plugin: in.Plugin, Writers: in.Writers, Params: exchange.Params(in.Params), Default: in.Default,
		})
	}
	return o, nil
}
