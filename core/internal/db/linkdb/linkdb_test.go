package linkdb

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gonutch/crawler/core/internal/store"
	"github.com/gonutch/crawler/core/internal/urlkey"
	"github.com/gonutch/crawler/sdk/model"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func open(t testing.TB, o Options) (*store.Store, *DB) {
	t.Helper()
	s, err := store.Open("crawl", store.Options{FS: store.NewMemFS()})
	must(t, err)
	return s, Open(s, o)
}

func replace(t testing.TB, db *DB, source string, before, now []Link) (st Stats) {
	t.Helper()
	must(t, db.s.Update(context.Background(), func(tx *store.Tx) error {
		st = db.Replace(tx, urlkey.FromURL(source), before, now)
		return nil
	}))
	return st
}

func link(url, anchor string) Link { return Link{Target: urlkey.FromURL(url), Anchor: anchor} }

// all returns "target < source: anchor" of every link.
func all(t testing.TB, db *DB) (out []string) {
	t.Helper()
	must(t, db.Each(context.Background(), "", func(k urlkey.Key, ls []model.Inlink) error {
		for _, l := range ls {
			out = append(out, fmt.Sprintf("%s < %s: %s", k, l.From, l.Anchor))
		}
		return nil
	}))
	return out
}

// equal compares the counts of two Stats.
func equal(a, b Stats) bool {
	a.Changed, b.Changed = nil, nil
	return cmp.Equal(a, b)
}

func TestReplace(t *testing.T) {
	s, db := open(t, Options{MaxAnchor: 5})
	defer s.Close()
	first := []Link{link("http://b.test/1", ""), link("http://b.test/1", "anchörs"), link("http://b.test/1", "late"), link("http://c.test/", "c")}
	if st := replace(t, db, "http://a.test/", nil, first); len(st.Changed) != 2 || !equal(st, Stats{Added: 2}) {
		t.Fatalf("%+v", st)
	}
	want := []string{"test.b:http/1 < http://a.test/: anchö", "test.c:http/ < http://a.test/: c"}
	if d := cmp.Diff(want, all(t, db)); d != "" {
		t.Fatal(d)
	}
	second := []Link{link("http://c.test/", "changed"), {Target: urlkey.FromURL("http://d.test/"), Metadata: model.Metadata{"rel": {"x"}}}}
	if st := replace(t, db, "http://a.test/", first, second); len(st.Changed) < 2 || !equal(st, Stats{Added: 1, Removed: 1, Lost: []urlkey.Key{urlkey.FromURL("http://b.test/1")}}) {
		t.Fatalf("%+v", st)
	}
	ls, err := db.Inlinks(urlkey.FromURL("http://d.test/"), 0)
	must(t, err)
	if d := cmp.Diff([]model.Inlink{{From: "http://a.test/", Metadata: model.Metadata{"rel": {"x"}}}}, ls); d != "" {
		t.Fatal(d)
	}
	if has, err := db.HasInlinks(urlkey.FromURL("http://b.test/1")); has || err != nil {
		t.Fatal("the old link is still there", err)
	}
	if has, err := db.HasInlinks(urlkey.FromURL("http://c.test/")); !has || err != nil {
		t.Fatal("the new link is missing", err)
	}
}

func TestIgnore(t *testing.T) {
	for _, c := range []struct {
		o    Options
		want Stats
	}{
		{Options{}, Stats{Added: 2}},
		{Options{IgnoreInternal: true}, Stats{Added: 1, IgnoredInternal: 1}},
		{Options{IgnoreExternal: true}, Stats{Added: 1, IgnoredExternal: 1}},
		{Options{IgnoreInternal: true, IgnoreExternal: true}, Stats{IgnoredInternal: 1, IgnoredExternal: 1}},
	} {
		s, db := open(t, c.o)
		if st := replace(t, db, "http://a.test/", nil, []Link{link("https://a.test:8443/x", ""), link("http://b.test/", "")}); !equal(st, c.want) {
			t.Errorf("%+v: %+v", c.o, st)
		}
		must(t, s.Close())
	}
}

// TestLimit gives a target more inlinks than the limit, in any order: those that
// count are the first by source, before and after Trim.
func TestLimit(t *testing.T) {
	s, db := open(t, Options{MaxInlinks: 10})
	defer s.Close()
	for _, i := range rand.Perm(50) {
		replace(t, db, fmt.Sprintf("http://a.test/%02d", i), nil, []Link{link("http://b.test/", "")})
	}
	want := func(n int) {
		t.Helper()
		ls, err := db.Inlinks(urlkey.FromURL("http://b.test/"), n)
		must(t, err)
		if len(ls) != min(n, 10) || !strings.HasSuffix(ls[len(ls)-1].From, fmt.Sprintf("%02d", len(ls)-1)) {
			t.Fatalf("%v", ls)
		}
	}
	want(99)
	want(3)
	n, err := db.Trim(context.Background())
	must(t, err)
	if n != 40 {
		t.Fatalf("trimmed %d", n)
	}
	want(99)
	if n, err = db.Trim(context.Background()); n != 0 || err != nil {
		t.Fatal(n, err)
	}
}

func FuzzLink(f *testing.F) {
	f.Add(appendLink(nil, &Link{Anchor: "a", Metadata: model.Metadata{"k": {"v"}}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		k := linkKey("t:http/", "s:http/")
		if l, err := decodeLink(k, b, len("Lt:http/\x00")); err == nil && l.From != "http://s/" {
			t.Fatal(l)
		}
	})
}
