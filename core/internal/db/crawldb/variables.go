package crawldb

import (
	"fmt"
	"strings"

	"github.com/gonutch/crawler/core/internal/urlkey"
	"github.com/gonutch/crawler/sdk/jexl"
	"github.com/gonutch/crawler/sdk/model"
)

// Variables are what an expression about a record may name, Nutch's names first
// (times in milliseconds since 1970, as there); meta keys with signs other than letters,
// digits and _ are in metadata only.
func Variables(url string, r *Record) map[string]any {
	d := &r.Datum
	v := map[string]any{
		"url": url, "status": d.Status.String(), "fetchTime": d.FetchTime.UnixMilli(), "modifiedTime": d.ModifiedTime.UnixMilli(),
		"retries": d.Retries, "interval": int64(d.Interval.Seconds()), "score": float64(d.Score) / model.Micro, "signature": fmt.Sprintf("%x", d.Signature),
		"statusCode": int(d.Status), "http": d.ProtocolStatus.HTTP, "protocol": d.ProtocolStatus.Code.String(), "host": urlkey.Host(url),
		"domain": urlkey.Domain(url), "segment": d.Segment, "metadata": jexl.Firsts(d.Metadata),
	}
	for k, x := range jexl.Firsts(d.Metadata) {
		name := strings.NewReplacer("-", "_", ".", "_").Replace(k)
		if v[name] == nil {
			v[name] = x
		}
	}
	return v
}
