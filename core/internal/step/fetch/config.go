package fetch

import (
	"errors"
	"fmt"
	"time"

	"github.com/gonutch/crawler/core/internal/config"
	"github.com/gonutch/crawler/core/internal/frontier"
	"github.com/gonutch/crawler/core/internal/robots"
	"github.com/gonutch/crawler/core/internal/sheet"
	"github.com/gonutch/crawler/core/internal/urlkey"
	"github.com/gonutch/crawler/sdk/setting"
)

// Config are the settings of the fetch, from the sections fetcher, http and
// mime.
type Config struct {
	Threads          int
	Queue            frontier.Config
	QueueMode        urlkey.Mode
	MaxCrawlDelay    time.Duration // negative: any delay is waited for
	TimeLimit        time.Duration // negative: none
	ReleaseAfter     time.Duration
	MinPagesPerSec   float64 // negative: none
	MinPagesRetries  int
	MinPagesAfter    time.Duration
	MaxBytesInFlight int64
	Bandwidth        int64 // bytes of pages a second on average; not positive: no limit
	StoreContent     bool
	StoreRobots      bool
	Publish          bool

	RedirectMax       int
	RedirectSkip      bool
	RetryAfterDefault time.Duration
	RetryAfterMax     time.Duration
	StoreRequest      bool // the request as sent goes into the fetch record's metadata
	StoreHeaders      bool // the same for the head of the response
	StoreVersions     bool // and for the version of the protocol
	Magic             bool
	Robots            RobotsConfig
	Sheets            *sheet.Sheets // what holds for some hosts; nil is none
}

// RobotsConfig are the settings that concern robots.txt.
type RobotsConfig struct {
	Agents       []string // product tokens, the crawler's own first
	Allowlist    map[string]bool
	Defer        bool // hosts whose robots.txt can't be had are held back
	ContentLimit int64
	Policy       robots.Policy
}

type fetcherSection struct {
	ServerDelay       setting.Duration `hcl:"server_delay"`
	ServerMinDelay    setting.Duration `hcl:"server_min_delay"`
	MaxCrawlDelay     setting.Duration `hcl:"max_crawl_delay"`
	MinCrawlDelay     setting.Duration `hcl:"min_crawl_delay"`
	ThreadsFetch      int              `hcl:"threads_fetch"`
	ThreadsPerQueue   int              `hcl:"threads_per_queue"`
	QueueMode         string           `hcl:"queue_mode"`
	Timelimit         setting.Duration `hcl:"timelimit"`
	ReleaseAfter      setting.Duration `hcl:"release_after"`
	ThroughputPages   float64          `hcl:"throughput_threshold_pages"`
	ThroughputRetries int              `hcl:"throughput_threshold_retries"`
	ThroughputAfter   setting.Duration `hcl:"throughput_threshold_check_after"`
	MaxExceptions     int              `hcl:"max_exceptions_per_queue"`
	ExceptionsDelay   setting.Duration `hcl:"exceptions_per_queue_delay"`
	ExceptionsClear   setting.Duration `hcl:"exceptions_per_queue_clear_after"`
	MaxBytesInFlight  setting.Size     `hcl:"max_bytes_in_flight"`
	BandwidthTarget   setting.Size     `hcl:"bandwidth_target"`
	QueueURLs         int              `hcl:"queue_urls"`
	StoreContent      bool             `hcl:"store_content"`
	StoreRobotstxt    bool             `hcl:"store_robotstxt"`
	Publisher         bool             `hcl:"publisher"`
}

type httpSection struct {
	AgentName         string           `hcl:"agent_name"`
	RobotsAgents      []string         `hcl:"robots_agents"`
	Allowlist         []string         `hcl:"robots_rules_allowlist"`
	Robots403Allow    bool             `hcl:"robots_403_allow"`
	RobotsDefer       bool             `hcl:"robots_503_defer_visits"`
	RobotsDeferDelay  setting.Duration `hcl:"robots_503_defer_visits_delay"`
	RobotsRedirectMax int              `hcl:"robots_redirect_max"`
	RobotsExpiry      setting.Duration `hcl:"robots_expiry"`
	RobotsLimit       setting.Size     `hcl:"robots_content_limit"`
	RedirectMax       int              `hcl:"redirect_max"`
	RedirectSkip      bool             `hcl:"redirect_max_exceeded_skip"`
	RetryAfterDefault setting.Duration `hcl:"retry_after_default"`
	RetryAfterMax     setting.Duration `hcl:"retry_after_max"`
	StoreRequest      bool             `hcl:"store_request"`
	StoreHeaders      bool             `hcl:"store_headers"`
	StoreVersions     bool             `hcl:"store_protocol_versions"`
}

// LoadConfig reads the settings; sheets, which may be nil, are of the same configuration.
func LoadConfig(c *config.Config, sheets *sheet.Sheets) (Config, error) {
	var f fetcherSection
	var h httpSection
	var m struct {
		Magic bool `hcl:"type_magic"`
	}
	if err := errors.Join(c.Decode("fetcher", &f), c.Decode("http", &h), c.Decode("mime", &m)); err != nil {
		return Config{}, err
	}
	mode, err := urlkey.ParseMode(f.QueueMode)
	if err != nil {
		return Config{}, fmt.Errorf("fetcher.queue_mode: %w", err)
	}
	allow := make(map[string]bool, len(h.Allowlist))
	for _, host := range h.Allowlist {
		allow[host] = true
	}
	policy := robots.DefaultPolicy()
	policy.TTL, policy.DeferDelay, policy.RedirectMax = h.RobotsExpiry.D(), h.RobotsDeferDelay.D(), h.RobotsRedirectMax
	policy.MaxDefer, policy.Deny403 = max(policy.MaxDefer, policy.DeferDelay), !h.Robots403Allow
	or := func(d, other setting.Duration) time.Duration {
		if d < 0 {
			return other.D()
		}
		return d.D()
	}
	cfg := Config{
		Threads: f.ThreadsFetch, QueueMode: mode,
		Queue: frontier.Config{
			Delay: f.ServerDelay.D(), MinDelay: f.ServerMinDelay.D(), MinCrawlDelay: or(f.MinCrawlDelay, f.ServerDelay),
			ThreadsPerQueue: f.ThreadsPerQueue, StartDelay: true, BackoffDelay: or(f.ExceptionsDelay, f.ServerDelay),
			MaxBackoff: time.Hour, MaxExceptions: max(f.MaxExceptions, 0), BlockFor: f.ExceptionsClear.D(),
			ClearAfter: f.ExceptionsClear.D(), MaxItems: f.QueueURLs,
		},
		MaxCrawlDelay: f.MaxCrawlDelay.D(), TimeLimit: f.Timelimit.D(), ReleaseAfter: f.ReleaseAfter.D(),
		MinPagesPerSec: f.ThroughputPages, MinPagesRetries: f.ThroughputRetries, MinPagesAfter: f.ThroughputAfter.D(),
		MaxBytesInFlight: int64(f.MaxBytesInFlight), Bandwidth: int64(f.BandwidthTarget), StoreContent: f.StoreContent, StoreRobots: f.StoreRobotstxt, Publish: f.Publisher,
		RedirectMax: h.RedirectMax, RedirectSkip: h.RedirectSkip,
		RetryAfterDefault: h.RetryAfterDefault.D(), RetryAfterMax: h.RetryAfterMax.D(),
		StoreRequest: h.StoreRequest, StoreHeaders: h.StoreHeaders, StoreVersions: h.StoreVersions, Magic: m.Magic, Sheets: sheets,
		Robots: RobotsConfig{
			Agents: robots.Agents(h.AgentName, h.RobotsAgents), Allowlist: allow, Defer: h.RobotsDefer, ContentLimit: int64(h.RobotsLimit),
			Policy: policy,
		},
	}
	if err := cfg.Queue.Validate(); err != nil {
		return cfg, fmt.Errorf("section fetcher: %w", err)
	}
	return cfg, nil
}
