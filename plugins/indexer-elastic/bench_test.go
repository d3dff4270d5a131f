package indexerelastic_test

import (
	"testing"

	elastic "github.com/gonutch/crawler/plugins/indexer-elastic"
	"github.com/gonutch/crawler/plugins/internal/libtest"
	"github.com/gonutch/crawler/sdk/extension/indexwriter"
	"github.com/gonutch/crawler/sdk/testengine"
)

// BenchmarkWrite measures a real OpenSearch with bulk requests of several sizes.
func BenchmarkWrite(b *testing.B) {
	s := testengine.Start(b, testengine.OpenSearch, nil)
	for _, docs := range []string{"50", "250", "1000"} {
		b.Run("max_bulk_docs="+docs, func(b *testing.B) {
			libtest.BenchWrite(b, func(b *testing.B) *libtest.Writer {
				b.Helper()
				w, err := libtest.OpenWriter(b, elastic.Plugin(), b.TempDir(), indexwriter.Params{
					"url": s.URL, "index": "bench" + docs, "replicas": "0", "max_bulk_docs": docs, "max_bulk_size": "20MB",
				})
				if err != nil {
					b.Fatal(err)
				}
				return w
			}, 1000)
		})
	}
}
