package sitemap

import (
	"errors"
	"time"

	"github.com/gonutch/crawler/core/internal/config"
	"github.com/gonutch/crawler/sdk/setting"
)

// Config are the settings of section sitemap, and what other sections say of
// links. Limits that are not positive are none.
type Config struct {
	FromHosts     string        // never, once or always: what "crawler run" reads
	Interval      time.Duration // until a host's sitemaps are read again under always
	Strict        bool          // only URLs that the sitemap's place, or robots.txt of their host, lets it name
	Filter        bool
	Normalize     bool
	Default       bool // ask for /sitemap.xml of hosts whose robots.txt names none
	Overwrite     bool // records that exist take score, interval and modification time
	RedirectMax   int
	MaxSize       int64 // bytes of one sitemap
	MaxURLs       int   // of one sitemap
	MaxDepth      int   // indexes inside indexes
	MaxPerHost    int   // sitemaps read for one host
	MaxURLsOfHost int   // URLs taken from the sitemaps of one host

	MaxLength      int // of a URL, bytes
	IgnoreExternal bool
	ByDomain       bool
	Additions      bool
}

// LoadConfig reads the settings.
func LoadConfig(c *config.Config) (Config, error) {
	var s struct {
		FromHosts  string           `hcl:"from_hostdb"`
		Interval   setting.Duration `hcl:"interval"`
		Strict     bool             `hcl:"strict_parsing"`
		Filter     bool             `hcl:"url_filter"`
		Normalize  bool             `hcl:"url_normalize"`
		Default    bool             `hcl:"url_default_sitemap_xml"`
		Overwrite  bool             `hcl:"url_overwrite_existing"`
		Redirects  int              `hcl:"redir_max"`
		MaxSize    setting.Size     `hcl:"size_max"`
		MaxURLs    int              `hcl:"max_urls"`
		MaxDepth   int              `hcl:"max_depth"`
		MaxPerHost int              `hcl:"max_per_host"`
		HostURLs   int              `hcl:"max_urls_per_host"`
	}
	var d struct {
		IgnoreExternal bool   `hcl:"ignore_external_links"`
		Mode           string `hcl:"ignore_external_links_mode"`
		MaxLength      int    `hcl:"max_outlink_length"`
		Additions      bool   `hcl:"update_additions_allowed"`
	}
	if err := errors.Join(c.Decode("sitemap", &s), c.Decode("db", &d)); err != nil {
		return Config{}, err
	}
	return Config{
		FromHosts: s.FromHosts, Interval: s.Interval.D(), Strict: s.Strict, Filter: s.Filter, Normalize: s.Normalize, Default: s.Default,
		Overwrite: s.Overwrite, RedirectMax: s.Redirects, MaxSize: int64(s.MaxSize), MaxURLs: s.MaxURLs, MaxDepth: s.MaxDepth,
		MaxPerHost: s.MaxPerHost, MaxURLsOfHost: s.HostURLs, MaxLength: d.MaxLength, IgnoreExternal: d.IgnoreExternal,
		ByDomain: d.Mode == "byDomain", Additions: d.Additions,
	}, nil
}
