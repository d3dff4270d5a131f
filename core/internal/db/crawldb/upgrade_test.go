package crawldb

import (
	"context"
	"testing"

	"github.com/gonutch/crawler/core/internal/store"
	"github.com/gonutch/crawler/core/internal/urlkey"
	"github.com/gonutch/crawler/sdk/model"
)

// TestUpgradeFrom1: a CrawlDB of version 1 lacks signatures of pages that wait for a retry.
func TestUpgradeFrom1(t *testing.T) {
	ctx := context.Background()
	fsys := store.NewMemFS()
	s, db := openFS(t, fsys, Options{})
	page(t, db, "http://a.test/", "sig", 1)
	must(t, db.Update(ctx, func(tx *Tx) error {
		tx.Put(urlkey.FromURL("http://b.test/"), &Record{Datum: model.CrawlDatum{
			Status: model.StatusDBUnfetched, FetchTime: t0, Score: 5, Signature: []byte("sig"), Segment: "s1",
		}})
		return nil
	}))
	dir := s.Dir()
	must(t, s.Update(ctx, func(tx *store.Tx) error { // as version 1 left it
		for _, p := range []byte{store.PrefixSignature, store.PrefixDedupDirty} {
			tx.Delete(signatureKey(p, []byte("sig"), urlkey.FromURL("http://b.test/")))
		}
		return nil
	}))
	if rep, err := db.Check(ctx); err != nil || rep.Total == 0 {
		t.Fatalf("%+v %v", rep, err)
	}
	must(t, s.Close())
	must(t, store.WriteFile(fsys, fsys.PathJoin(dir, "CRAWLER"), []byte("version 1\nid x\n")))
	from, err := store.Upgrade(ctx, dir, store.Options{FS: fsys}, UpgradeSteps(nil))
	if err != nil || from != 1 {
		t.Fatalf("from %d, %v", from, err)
	}
	s, db = openFS(t, fsys, Options{})
	defer s.Close()
	wantClean(t, db)
	dedup(t, db, DedupOptions{})
	if got := duplicates(t, db); len(got) != 1 || got[0] != "http://a.test/ > http://b.test/" {
		t.Error(got)
	}
}
