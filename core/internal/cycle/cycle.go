// Package cycle composes the steps into the crawl: "crawler run" as one pipeline
// of fetch, parse and update with rounds of generate before and invert, dedup
// and index after it, and the single commands over the same code. It owns when
// which step runs, stopping and resuming, and the report. It must not know how
// a step does its work.
//
// A round is a segment. Its updates are complete when every URL of its fetch list has been
// applied or released; then its links are inverted, duplicates found and documents
// indexed, over what changed. With cycle.overlap the next round's fetch goes on meanwhile.
//
// Everything resumes: what is leased but not fetched is fetched, what is fetched but
// not parsed is parsed, what is parsed but not applied is applied.
package cycle

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gonutch/crawler/core/internal/config"
	"github.com/gonutch/crawler/core/internal/crawl"
	"github.com/gonutch/crawler/core/internal/db/crawldb"
	"github.com/gonutch/crawler/core/internal/db/hostdb"
	"github.com/gonutch/crawler/core/internal/sheet"
	"github.com/gonutch/crawler/core/internal/step/fetch"
	"github.com/gonutch/crawler/core/internal/step/hostupdate"
	"github.com/gonutch/crawler/core/internal/step/index"
	"github.com/gonutch/crawler/core/internal/step/inject"
	"github.com/gonutch/crawler/core/internal/step/parse"
	"github.com/gonutch/crawler/core/internal/step/sitemap"
	"github.com/gonutch/crawler/core/internal/step/update"
	"github.com/gonutch/crawler/core/internal/store"
	"github.com/gonutch/crawler/core/internal/urlkey"
	"github.com/gonutch/crawler/sdk/extension/scoring"
	"github.com/gonutch/crawler/sdk/hclconf"
	"github.com/gonutch/crawler/sdk/jexl"
	"github.com/gonutch/crawler/sdk/model"
	"github.com/gonutch/crawler/sdk/setting"
)

// Config are the settings of the cycle and its steps.
type Config struct {
	Fetch        fetch.Config
	Parse        parse.Config
	Update       update.Config
	Index        index.Config
	Sitemap      sitemap.Config
	Hosts        hostupdate.Config
	PurgeOrphans bool
	DiskBudget   int64 // bytes of all segments; 0 is none
	Generate     GenerateConfig
	Rounds       int // negative: until nothing is left to do
	Overlap      bool
	Wait         time.Duration // for a URL that becomes due; negative: for ever
	Tail         time.Duration
	IndexEnabled bool
	DedupEnabled bool
	DedupOrder   []string
	DedupGroup   *urlkey.Mode
	CommitWait   time.Duration
	CommitBytes  int64
	ParseWorkers int
	CrawlLog     bool
}

// GenerateConfig are the settings of section generate.
type GenerateConfig struct {
	TopN, MaxCount int // 0 is no limit
	MinScore       int64
	HasMinScore    bool
	MinInterval    time.Duration
	Status         model.Status
	AddDays        time.Duration
	Expr           *jexl.Program // over records; nil is none
	Signatures     bool          // Expr names the signature
	HostExpr       *jexl.Program // over hosts, as those that follow
	MaxCountExpr   *jexl.Program
	DelayExpr      *jexl.Program // ms
}

// LoadConfig reads the settings; rules are of the same configuration. The error holds all
// mistakes.
func LoadConfig(c *config.Config, rules sheet.Rules) (Config, error) {
	var cfg Config
	var err error
	var errs []error
	note := func(e error) { errs = append(errs, e) }
	cfg.Fetch, err = fetch.LoadConfig(c, rules.Sheets)
	note(err)
	cfg.Parse, err = parse.LoadConfig(c)
	note(err)
	cfg.Update, err = update.LoadConfig(c, rules)
	note(err)
	cfg.Index, err = index.LoadConfig(c)
	note(err)
	cfg.Sitemap, err = sitemap.LoadConfig(c)
	note(err)
	cfg.Hosts, err = hostupdate.LoadConfig(c)
	note(err)
	var cy struct {
		Rounds  int              `hcl:"rounds"`
		Overlap bool             `hcl:"overlap"`
		Wait    setting.Duration `hcl:"wait"`
		Tail    setting.Duration `hcl:"tail"`
	}
	var g struct {
		TopN     int              `hcl:"top_n"`
		MaxCount int              `hcl:"max_count"`
		MinScore float64          `hcl:"min_score"`
		Interval setting.Duration `hcl:"min_interval"`
		Status   string           `hcl:"restrict_status"`
		Expr     string           `hcl:"expr"`
		HostDB   string           `hcl:"hostdb_expr"`
		Count    string           `hcl:"max_count_expr"`
		Delay    string           `hcl:"fetch_delay_expr"`
	}
	var d struct {
		Enabled bool     `hcl:"enabled"`
		Group   string   `hcl:"group"`
		Order   []string `hcl:"compare_order"`
	}
	var x struct {
		Enabled bool `hcl:"enabled"`
	}
	var st struct {
		Bytes setting.Size     `hcl:"commit_bytes"`
		Wait  setting.Duration `hcl:"commit_wait"`
	}
	var l struct {
		CrawlLog bool `hcl:"crawl_log"`
	}
	var db struct {
		PurgeOrphans bool `hcl:"update_purge_orphans"`
	}
	var sg struct {
		Budget setting.Size `hcl:"disk_budget"`
	}
	note(errors.Join(c.Decode("segment", &sg), c.Decode("cycle", &cy), c.Decode("generate", &g), c.Decode("dedup", &d), c.Decode("indexer", &x), c.Decode("store", &st), c.Decode("log", &l), c.Decode("db", &db)))
	for i, x := range d.Order {
		if !slices.Contains(crawldb.DedupCriteria(), x) {
			note(c.Problem("dedup.compare_order", i, "there is no criterion %q; want %s", x, strings.Join(crawldb.DedupCriteria(), ", ")))
		}
	}
	cfg.Rounds, cfg.Overlap, cfg.Wait, cfg.Tail = cy.Rounds, cy.Overlap, cy.Wait.D(), cy.Tail.D()
	cfg.Generate = GenerateConfig{
		TopN: max(g.TopN, 0), MaxCount: max(g.MaxCount, 0), MinScore: int64(g.MinScore * model.Micro), HasMinScore: g.MinScore > 0,
		MinInterval: max(g.Interval.D(), 0),
	}
	if g.Status != "" {
		s, ok := model.ParseDBStatus(g.Status)
		if !ok {
			note(c.Problem("generate.restrict_status", -1, "there is no status %q", g.Status))
		}
		cfg.Generate.Status = s
	}
	note(cfg.Generate.compile(c, g.Expr, g.HostDB, g.Count, g.Delay))
	cfg.IndexEnabled, cfg.DedupEnabled, cfg.DedupOrder = x.Enabled, d.Enabled, d.Order
	if d.Group != "none" {
		mode := urlkey.ByHost
		if d.Group == "domain" {
			mode = urlkey.ByDomain
		}
		cfg.DedupGroup = &mode
	}
	cfg.CommitBytes, cfg.CommitWait, cfg.CrawlLog = int64(st.Bytes), st.Wait.D(), l.CrawlLog
	cfg.PurgeOrphans, cfg.DiskBudget = db.PurgeOrphans, int64(sg.Budget)
	cfg.ParseWorkers = 16 * runtime.NumCPU()
	return cfg, hclconf.Merge(errs...)
}

// deps are what the stages work with.
type deps struct {
	*crawl.Crawl
	cfg     Config
	Parser  *parse.Parser
	Applier *update.Applier
	targets []index.Target
	health  *index.Health // of the writers, over all steps of this process
	stop    <-chan struct{}
	now     func() time.Time
	log     *crawlLog
	failed  func(url string, err error) // of the Summary of the command that runs

	tell     func(pages int64, share float64) // how far a step is; nil when nobody listens
	indexing atomic.Int64                     // pages that the index step under way has gone through
	fetching atomic.Pointer[fetching]         // what "crawler fetch" does; nil while it does nothing
}

// told tells how far a step is that has gone through n of total pages; 0 of unknown many.
func (d *deps) told(n, total int64) {
	if d.tell != nil {
		d.tell(n, float64(n)/float64(max(n, total))*float64(min(total, 1)))
	}
}

// newSummary returns an empty summary that is told of plugins' failures from now on.
func (d *deps) newSummary() *Summary {
	sum := &Summary{}
	if d.publishes() {
		sum.lost = func() int64 { return d.Chains.Counters()["publish.dropped"] }
	}
	d.failed, d.Parser.Failed, d.Applier.Failed = sum.failed, sum.failed, sum.failed
	return sum
}

// Cycle runs steps over an open crawl.
type Cycle struct {
	d *deps
}

// New returns a cycle. Close it before the crawl.
func New(c *crawl.Crawl, cfg Config) (*Cycle, error) {
	cfg.Update.Orphans = c.Chains.JudgesOrphans()
	p, err := parse.New(cfg.Parse, c.Chains)
	if err != nil {
		return nil, err
	}
	d := &deps{
		Crawl: c, cfg: cfg, Parser: p, now: time.Now, health: cfg.Index.NewHealth(),
		Applier: update.New(cfg.Update, c.DB, c.Segs, c.Chains, c.Log.Named("update")),
	}
	if cfg.CrawlLog && c.Store != nil {
		if d.log, err = openCrawlLog(filepath.Join(c.Dir, "crawl.log")); err != nil {
			return nil, err
		}
	}
	return &Cycle{d: d}, nil
}

// StopWhen lets steps that send documents end early once stop is closed: what is sent is
// committed, the rest is kept for the next time. A Runner has its own Stop.
func (c *Cycle) StopWhen(stop <-chan struct{}) { c.d.stop = stop }

// Tell has f told how many pages a single step has gone through, and, when that is known, the share
// of all of them; 0 is not known. The goroutine that runs the step calls it.
func (c *Cycle) Tell(f func(pages int64, share float64)) { c.d.tell = f }

// Close closes what New opened.
func (c *Cycle) Close() error { return c.d.log.close() }

func (d *deps) logFetch(o *fetch.Outcome) { d.log.fetch(o) }

// indexes reports whether rounds send pages to index writers.
func (d *deps) indexes() bool { return d.cfg.IndexEnabled && len(d.Instances) > 0 }

// openWriters opens the configured index writers, once.
func (d *deps) openWriters(ctx context.Context) error {
	if d.targets != nil || len(d.Instances) == 0 {
		return nil
	}
	if err := d.OpenExchanges(ctx); err != nil {
		return err
	}
	writers, err := d.OpenWriters(ctx, d.WriterConfigs())
	if err != nil {
		return err
	}
	for i, w := range writers {
		d.targets = append(d.targets, target(w, &d.Instances[i]))
	}
	return nil
}

func target(w index.Writer, in *config.Instance) index.Target {
	h := sha256.New()
	for _, k := range slices.Sorted(maps.Keys(in.Params)) {
		_, _ = fmt.Fprintf(h, "%q=%q\n", k, in.Params[k])
	}
	return index.Target{Writer: w, Plugin: in.Plugin, Params: h.Sum(nil)[:8], Copy: in.Copy, Rename: in.Rename, Remove: in.Remove}
}

// fold applies pending effects and scores.
func (d *deps) fold(ctx context.Context) (crawldb.FoldStats, error) {
	return d.DB.Fold(ctx, d.now(), func(ctx context.Context, in []scoring.ScoreInput) ([]scoring.ScoreOutput, error) {
		out, errs, err := d.Chains.Score(ctx, in)
		if err != nil {
			return nil, fmt.Errorf("score records: %w", err)
		}
		for i := range errs {
			if errs[i] != nil {
				d.Log.Warn("record could not be scored; it keeps its score", "url", in[i].URL, "error", errs[i])
				d.failed(in[i].URL, errs[i])
				out[i] = scoring.ScoreOutput{Score: in[i].Score, Sort: in[i].Sort}
			}
		}
		return out, nil
	})
}

// hostRobots is the fetch's RobotsStore over the HostDB.
type hostRobots struct {
	hosts *hostdb.DB
	s     *store.Store
}

func (h hostRobots) LoadRobots(origin string) (*hostdb.Robots, error) {
	rec, err := h.hosts.Get(urlkey.Host(origin + "/"))
	if err != nil || rec == nil {
		return nil, err
	}
	return rec.RobotsOf(origin), nil
}

func (h hostRobots) SaveRobots(r hostdb.Robots) error {
	host := urlkey.Host(r.Origin + "/")
	return h.s.UpdateNoSync(context.Background(), func(tx *store.Tx) error {
		rec, err := hostdb.GetTx(tx, host)
		if err != nil {
			return err
		}
		if rec == nil {
			rec = new(hostdb.Record)
		}
		rec.SetRobots(r)
		c := hostdb.Counts{Requests: 1}
		if r.Status == 0 && r.Error != "" {
			c.Failures = 1
		}
		hostdb.AddCounts(tx, host, c)
		rec.LastRequest = r.Fetched
		hostdb.Put(tx, host, rec)
		return nil
	})
}

func (h hostRobots) Hold(queue string, until time.Time, why string) error {
	return h.s.UpdateNoSync(context.Background(), func(tx *store.Tx) error {
		hostdb.PutHold(tx, hostdb.Hold{Queue: queue, Until: until, Reason: why})
		return nil
	})
}

func (h hostRobots) Unhold(queue string) error {
	return h.s.UpdateNoSync(context.Background(), func(tx *store.Tx) error {
		hostdb.DropHold(tx, queue)
		return nil
	})
}

// newEngine returns an engine that feeds p.
func (d *deps) newEngine(ctx context.Context, p *pipeline) (*fetch.Engine, error) {
	allow, err := inject.AllowPrivate(ctx, d.Store)
	if err != nil {
		return nil, err
	}
	return d.engine(p.sink, allow), nil
}

// engine returns an engine that feeds sink.
func (d *deps) engine(sink fetch.Sink, allow map[string]bool) *fetch.Engine {
	cfg := d.cfg.Fetch
	cfg.Publish = d.publishes()
	return fetch.New(cfg, fetch.Deps{
		Delay: d.delays(), Fetcher: d.Chains, Robots: hostRobots{d.Hosts, d.Store}, Sink: sink, Log: d.Log.Named("fetch"), Now: d.now, AllowPrivate: allow,
	})
}

// stopFile is a file whose presence ends the run after the current round.
const stopFile = ".STOP"

func (d *deps) stopAsked() bool {
	for _, dir := range []string{".", d.Dir} {
		if _, err := os.Stat(filepath.Join(dir, stopFile)); err == nil {
			return true
		}
	}
	return false
}

// crawlLog writes crawl.log: one line for each fetch.
type crawlLog struct {
	mu sync.Mutex
	f  io.WriteCloser
	w  *bufio.Writer
}

func openCrawlLog(name string) (*crawlLog, error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open crawl log: %w", err)
	}
	return &crawlLog{f: f, w: bufio.NewWriterSize(f, 64<<10)}, nil
}

func (l *crawlLog) close() error {
	if l == nil {
		return nil
	}
	return errors.Join(l.w.Flush(), l.f.Close())
}

// flush is called after each commit, so that the log is never far behind.
func (l *crawlLog) flush() {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = l.w.Flush()
}

// fetch writes time, status, protocol code, bytes, milliseconds, MIME type, URL and
// redirect target, separated by tabs. A line that can't be written is lost: the log
// is for people, the store has the facts.
func (l *crawlLog) fetch(o *fetch.Outcome) {
	if l == nil || o.Extra {
		return
	}
	f := &o.Fetch
	dash := func(s string) string {
		if s == "" {
			return "-"
		}
		return s
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	_, _ = fmt.Fprintf(l.w, "%s\t%s\t%s\t%d\t%d\t%d\t%s\t%s\t%s\n", f.FetchTime.UTC().Format(time.RFC3339Nano), f.Status,
		f.Protocol.Code, f.Protocol.HTTP, f.Size, f.Elapsed.Milliseconds(), dash(f.MIMEType), f.URL, dash(f.Location))
}
