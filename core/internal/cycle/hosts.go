package cycle

import (
	"context"

	"github.com/gonutch/crawler/core/internal/step/hostupdate"
)

// UpdateHosts is "crawler updatehostdb". change, which may be nil, changes the
// settings; told is told how many records were looked at.
func (c *Cycle) UpdateHosts(ctx context.Context, change func(*hostupdate.Config), scores hostupdate.Scores, told func(int64)) (hostupdate.Report, error) {
	cfg := c.d.cfg.Hosts
	if change != nil {
		change(&cfg)
	}
	return hostupdate.Run(ctx, hostupdate.Deps{DB: c.d.DB, Hosts: c.d.Hosts, Plugins: c.d.Chains, Now: c.d.now, Told: told}, cfg, scores)
}
