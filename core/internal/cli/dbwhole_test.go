package cli

import (
	"bytes"
	"context"
	"fmt"
	"os"
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

// TestDBUpgrade: a crawl of an older version is refused by all commands but this one, and brought up.
func TestDBUpgrade(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "crawl")
	line := func(args ...string) outcome { return runLine(t, "", append(args, "--dir", dir)...) }
	line("db", "upgrade").wants(t, ExitError, "!there is no crawl in ")
	smallCrawl(t, dir)
	now := fmt.Sprintf("version %d", store.FormatVersion)
	line("db", "upgrade").wants(t, ExitNothing, "is of "+now+", which is what this program writes")
	file := filepath.Join(dir, "CRAWLER")
	b, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(file, bytes.Replace(b, []byte(now), []byte("version 1"), 1), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	line("readdb", "--stats").wants(t, ExitError, "!it has version 1, this program writes .*; run: crawler db upgrade --dir "+dir)
	line("db", "check").wants(t, ExitError, "!crawler db upgrade")
	line("db", "upgrade", "--json").wants(t, 0, `"from": 1`)
	line("db", "check").wants(t, 0, "0 problems")
}

// TestDedupOptions: options instead of settings, and names that are none.
func TestDedupOptions(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "crawl")
	smallCrawl(t, dir)
	line := func(args ...string) outcome {
		return runLine(t, "", append(args, "--dir", dir, "-D", "store.low_water=0")...)
	}
	line("dedup", "-group", "host", "-compareOrder", "score,fetchTime,urlLength", "--json").wants(t, 0, `"duplicates": 0`)
	line("dedup", "--group", "server").wants(t, ExitUsage, "!none, host, domain|host")
	line("dedup", "--compare-order", "score,size").wants(t, ExitUsage, `!there is no criterion "size"; want score, fetchTime, urlLength, httpsOverHttp`)
}
