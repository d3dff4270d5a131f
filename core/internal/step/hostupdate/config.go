package hostupdate

import (
	"strconv"
	"time"

	"github.com/gonutch/crawler/core/internal/config"
	"github.com/gonutch/crawler/sdk/setting"
)

// Config are the settings of section hostdb.
type Config struct {
	New, Known, Failed bool // which hosts are looked up
	Force              bool // whatever their last look-up
	Recheck            time.Duration
	Threshold          int // failures in a row after which a host is given up; 0 never
	Resolvers          int
	Numeric, Strings   []string
	Percentiles        []float64
	// Filter and Normalize count only URLs that pass the filters, under the host of their
	// normal form.
	Filter, Normalize bool
	URLLimit          int64 // hosts with fewer URLs are left as they are; 0 or less is none
}

// judges reports whether URLs are judged before they count.
func (c *Config) judges() bool { return c.Filter || c.Normalize }

// LoadConfig reads the settings.
func LoadConfig(c *config.Config) (Config, error) {
	var h struct {
		New         bool             `hcl:"check_new"`
		Known       bool             `hcl:"check_known"`
		Failed      bool             `hcl:"check_failed"`
		Force       bool             `hcl:"force_check"`
		Recheck     setting.Duration `hcl:"recheck_interval"`
		Threshold   int              `hcl:"purge_failed_hosts_threshold"`
		Resolvers   int              `hcl:"num_resolvers_threads"`
		Numeric     []string         `hcl:"numeric_fields"`
		Strings     []string         `hcl:"string_fields"`
		Percentiles []string         `hcl:"percentiles"`
		Filter      bool             `hcl:"url_filter"`
		Normalize   bool             `hcl:"url_normalize"`
		URLLimit    int64            `hcl:"url_limit"`
	}
	if err := c.Decode("hostdb", &h); err != nil {
		return Config{}, err
	}
	cfg := Config{
		New: h.New, Known: h.Known, Failed: h.Failed, Force: h.Force, Recheck: h.Recheck.D(), Threshold: max(h.Threshold, 0),
		Resolvers: h.Resolvers, Numeric: h.Numeric, Strings: h.Strings, Filter: h.Filter, Normalize: h.Normalize, URLLimit: h.URLLimit,
	}
	for i, text := range h.Percentiles {
		p, err := strconv.ParseFloat(text, 64)
		if err != nil || !(p >= 0 && p <= 100) {
			return cfg, c.Problem("hostdb.percentiles", i, "%q: want a number from 0 to 100", text)
		}
		cfg.Percentiles = append(cfg.Percentiles, p)
	}
	return cfg, nil
}
