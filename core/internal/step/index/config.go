package index

import (
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
}

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
	}
	if err := c.Decode("indexer", &x); err != nil {
		return Config{}, err
	}
	return Config{
		Normalize: x.Normalize, Filter: x.Filter,
		Delete: x.Delete, DeleteNoIndex: x.DeleteNoIndex, DeleteSkipped: x.DeleteSkipped, UnroutedError: x.Unrouted == "error", BatchSize: x.BatchSize,
		BatchBytes: int64(x.BatchBytes), CommitSize: x.CommitSize, Retries: x.Retries, RetryDelay: x.RetryDelay.D(),
	}, nil
}
