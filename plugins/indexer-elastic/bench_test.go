package indexerelastic_test

import (
	"path/filepath"
	"testing"

	elastic "github.com/gonutch/crawler/plugins/indexer-elastic"
	"github.com/gonutch/crawler/plugins/internal/libtest"
	"github.com/gonutch/crawler/sdk/extension/indexwriter"
	"github.com/gonutch/crawler/sdk/testengine"
)

// BenchmarkWrite measures a real OpenSearch; a batch is one bulk request.
func BenchmarkWrite(b *testing.B) {
	s := testengine.Start(b, testengine.OpenSearch, nil)
	libtest.BenchWrite(b, func(b *testing.B) *libtest.Writer {
		b.Helper()
		w, err := libtest.OpenWriter(b, elastic.Plugin(), b.TempDir(), indexwriter.Params{
			"url": s.URL, "index": "bench" + filepath.Base(b.Name()), "replicas": "0", "max_bulk_docs": "4000", "max_bulk_size": "64MB",
		})
		if err != nil {
			b.Fatal(err)
		}
		return w
	})
}
