package cli

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/gonutch/crawler/core/internal/store"
)

// TestDBCheckRepairRescore: a lost index is found and made anew; a crawl that is open elsewhere
// is not touched.
func TestDBCheckRepairRescore(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "crawl")
	smallCrawl(t, dir)
	runLine(t, "", "db", "check", "--dir", dir).wants(t, 0, "^3 records .*: 0 problems")
	runLine(t, "", "db", "rescore", "--dir", dir, "--json").wants(t, 0, `"records": 3`)
	c := openLocal(t, dir)
	runLine(t, "", "db", "repair", "--dir", dir).wants(t, ExitError, "!in use by process")
	err := c.Store.Update(t.Context(), func(tx *store.Tx) error {
		tx.DeleteRange([]byte{store.PrefixWait}, []byte{store.PrefixWait + 1})
		tx.DeleteRange([]byte{store.PrefixSignature}, []byte{store.PrefixSignature + 1})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	runLine(t, "", "db", "check", "--dir", dir).wants(t, ExitError, "not in the index", "not in the signature index", "!crawler db repair")
	runLine(t, "", "db", "repair", "--dir", dir).wants(t, 0, "^3 records", "signatures 2, counters 0, leases 0")
	runLine(t, "", "db", "check", "--dir", dir, "--json").wants(t, 0, `"total": 0`)
	runLine(t, "", "db", "chek", "--dir", dir).wants(t, ExitUsage, "!did you mean")
}
