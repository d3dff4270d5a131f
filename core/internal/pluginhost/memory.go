package pluginhost

import (
	"fmt"

	"github.com/gonutch/crawler/sdk/setting"
)

// checkMemory kills plugins that, with all they started, take more than their
// limit. Memory that processes share is looked at closely only when the quick
// sum is above the limit.
func (h *Host) checkMemory() {
	procs := h.processes()
	sessions := map[int]bool{}
	for p, prs := range procs {
		if p.memoryLimit() <= 0 {
			continue
		}
		for _, pr := range prs {
			sessions[pr.runner.pid] = true
		}
	}
	if len(sessions) == 0 {
		return
	}
	used := usage(sessions)
	for p, prs := range procs {
		limit := p.memoryLimit()
		for _, pr := range prs {
			u := used[pr.runner.pid]
			if limit <= 0 || u.RSS <= limit {
				continue
			}
			if u.Processes > 1 {
				if pss := proportional(pr.runner.pid); pss > 0 && pss <= limit {
					continue
				}
			}
			pr.kill(OutOfMemory, fmt.Sprintf("%s used, %s allowed, in %d processes",
				setting.Size(u.RSS>>20<<20), setting.Size(limit), u.Processes))
		}
	}
}
