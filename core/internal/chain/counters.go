package chain

// Counters returns what the chains did since they were built: "cache.hits",
// "cache.misses", "publish.dropped", and for every plugin "<id>.calls",
// ".records", ".errors" (items it failed on), ".drops" (items it rejected) and
// ".retries". Counters that are zero are left out.
func (c *Chains) Counters() map[string]int64 {
	out := map[string]int64{}
	add := func(name string, n int64) {
		if n != 0 {
			out[name] += n
		}
	}
	if c.cache != nil {
		add("cache.hits", c.cache.hits.Load())
		add("cache.misses", c.cache.misses.Load())
	}
	for _, q := range c.publish.queues {
		add("publish.dropped", q.dropped.Load())
	}
	for id, m := range c.members {
		add(id+".calls", m.calls.Load())
		add(id+".records", m.records.Load())
		add(id+".errors", m.errors.Load())
		add(id+".drops", m.drops.Load())
		add(id+".retries", m.retries.Load())
	}
	return out
}
