// Package bench measures the crawler as a whole against what it promises: a
// page's way through the plugin processes against the plain way in one process,
// and a whole crawl against a process that only fetches and extracts links
// (baseline). It owns these comparisons and nothing else; benchmarks of a part
// are with the part.
package bench
