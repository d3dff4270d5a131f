package hostdb

import (
	"strconv"
	"strings"

	"github.com/gonutch/crawler/core/internal/urlkey"
	"github.com/gonutch/crawler/sdk/jexl"
	"github.com/gonutch/crawler/sdk/model"
)

// Variables are what an expression about a host may name, Nutch's names first (lastCheck
// in milliseconds since 1970, as there). r may be nil. Figures of metadata are read
// as avg._rs_, pct95._rs_ and so on; all of it is in metadata.
func Variables(host string, c Counts, r *Record) map[string]any {
	if r == nil {
		r = new(Record)
	}
	c = r.Counted(c)
	total := int64(0)
	for _, n := range c.URLs {
		total += n
	}
	fetched, same := c.URLs[model.StatusDBFetched], c.URLs[model.StatusDBNotModified]
	v := map[string]any{
		"unfetched": c.URLs[model.StatusDBUnfetched], "fetched": fetched, "gone": c.URLs[model.StatusDBGone],
		"redirTemp": c.URLs[model.StatusDBRedirTemp], "redirPerm": c.URLs[model.StatusDBRedirPerm], "notModified": same,
		"ok": fetched + same, "numRecords": total, "dnsFailures": int64(r.DNSFailures), "connectionFailures": c.Failures, "lastCheck": int64(0),
		"homepage": r.Homepage, "score": float64(r.Score) / model.Micro,
		"host": host, "domain": urlkey.DomainOf(host), "duplicate": c.URLs[model.StatusDBDuplicate], "requests": c.Requests, "failures": c.Failures,
		"bytes": c.Bytes, "failuresInRow": int64(r.Failures), "crawlDelay": r.Delay.Seconds(), "metadata": jexl.Firsts(r.Metadata),
	}
	if !r.Checked.IsZero() {
		v["lastCheck"] = r.Checked.UnixMilli()
	}
	for k := range r.Metadata {
		kind, field, ok := strings.Cut(k, ".")
		n, err := strconv.ParseFloat(r.Metadata.First(k), 64)
		if !ok || err != nil || !figure(kind) {
			continue
		}
		if v[kind] == nil {
			v[kind] = map[string]any{}
		}
		if m, ok := v[kind].(map[string]any); ok {
			m[field] = n
		}
	}
	return v
}

// figure reports whether kind begins the key of a number in a host's metadata.
func figure(kind string) bool {
	return kind == "min" || kind == "max" || kind == "avg" || strings.HasPrefix(kind, "pct")
}
