package indexersolr_test

import (
	"os"
	"path/filepath"
	"testing"

	solr "github.com/gonutch/crawler/plugins/indexer-solr"
	"github.com/gonutch/crawler/plugins/internal/libtest"
	"github.com/gonutch/crawler/sdk/extension/indexwriter"
	"github.com/gonutch/crawler/sdk/testengine"
)

// BenchmarkWrite measures a real Solr; a batch is one update request.
func BenchmarkWrite(b *testing.B) {
	s := testengine.Start(b, testengine.Solr, func(home string) {
		if err := os.CopyFS(filepath.Join(home, "configsets", "crawler"), os.DirFS("configset")); err != nil {
			b.Fatal(err)
		}
	})
	libtest.BenchWrite(b, func(b *testing.B) *libtest.Writer {
		b.Helper()
		w, err := libtest.OpenWriter(b, solr.Plugin(), b.TempDir(), indexwriter.Params{
			"url": s.URL, "collection": "bench" + filepath.Base(b.Name()), "create": "true", "max_docs": "4000", "max_size": "64MB",
		})
		if err != nil {
			b.Fatal(err)
		}
		return w
	})
}
