package index

import (
	"errors"
	"time"

	"github.com/gonutch/crawler/core/internal/config"
	"github.com/gonutch/crawler/sdk/setting"
)

// Config are the settings of section indexer.
type Config struct {
	Delete        bool // delete gone, redirected, duplicate
	DeleteNoIndex bool
	DeleteSkipped bool
	UnroutedError bool // a document that no exchange takes ends the step
	Normalize     bool // ids by the normalizers of scope indexer
	Filter        bool // documents whose URL a filter rejects are deleted
	BatchSize     int
	BatchBytes    int64
	CommitSize    int
	Retries       int
	RetryDelay    time.Duration
	Restarts      int // times the plugin of a writer may end in a row without getting further
	// A writer that takes nothing is left alone for DownDelay, then twice as long each time
	// up to DownDelayMax; asking it takes ProbeTimeout at most.
	DownDelay, DownDelayMax, ProbeTimeout time.Duration
}

// NewHealth returns what remembers the writers that take nothing.
func (c *Config) NewHealth() *Health { return &Health{Delay: c.DownDelay, MaxDelay: c.DownDelayMax} }

// LoadConfig reads the settings.
func LoadConfig(c *config.Config) (Config, error) {
	var x struct {
		Delete        bool             `hcl:"delete"`
		DeleteNoIndex bool             `hcl:"delete_robots_noindex"`
		DeleteSkipped bool             `hcl:"delete_skipped_by_indexingfilter"`
		Unrouted      string           `hcl:"unrouted"`
		Normalize     bool             `hcl:"url_normalizers"`
		Filter        bool             `hcl:"url_filters"`
		BatchSize     int              `hcl:"batch_size"`
		BatchBytes    setting.Size     `hcl:"batch_bytes"`
		CommitSize    int              `hcl:"commit_size"`
		Retries       int              `hcl:"retries"`
		RetryDelay    setting.Duration `hcl:"retry_delay"`
		DownDelay     setting.Duration `hcl:"down_delay"`
		DownDelayMax  setting.Duration `hcl:"down_delay_max"`
		ProbeTimeout  setting.Duration `hcl:"probe_timeout"`
	}
	var p struct {
		RestartMax int `hcl:"restart_max"`
	}
	if err := errors.Join(c.Decode("indexer", &x), c.Decode("plugin", &p)); err != nil {
		return Config{}, err
	}
	return Config{
		Normalize: x.Normalize, Filter: x.Filter,
		Delete: x.Delete, DeleteNoIndex: x.DeleteNoIndex, DeleteSkipped: x.DeleteSkipped, UnroutedError: x.Unrouted == "error", BatchSize: x.BatchSize,
		BatchBytes: int64(x.BatchBytes), CommitSize: x.CommitSize, Retries: x.Retries, RetryDelay: x.RetryDelay.D(), Restarts: p.RestartMax,
		DownDelay: x.DownDelay.D(), DownDelayMax: max(x.DownDelay.D(), x.DownDelayMax.D()), ProbeTimeout: x.ProbeTimeout.D(),
	}, nil
}
