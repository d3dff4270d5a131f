package update

import (
	"slices"
	"testing"
	"time"

	"github.com/gonutch/crawler/core/internal/db/crawldb"
	"github.com/gonutch/crawler/core/internal/db/transition"
	"github.com/gonutch/crawler/core/internal/segment"
	"github.com/gonutch/crawler/core/internal/urlkey"
	"github.com/gonutch/crawler/sdk/model"
)

// with gives a page parts whose text is their URL and version.
func with(p Page, version string, parts ...string) Page {
	for _, u := range parts {
		p.Parsed.Parts = append(p.Parsed.Parts, segment.Part{URL: u, Parsed: segment.Parsed{
			Status: model.ParseStatus{Major: model.ParseSuccess}, Text: u + version, Signature: []byte(u + version),
			ContentMeta: model.Metadata{"Content-Type": {"text/plain"}},
		}})
	}
	return p
}

// marked reports whether the index step is to look at url, and takes the mark away.
func (b *bench) marked(url string) bool {
	b.t.Helper()
	found := slices.Contains(b.dirty(), url)
	err := b.db.Update(b.t.Context(), func(tx *crawldb.Tx) error {
		tx.ClearIndexDirty(urlkey.FromURL(url))
		return nil
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return found
}

func TestParts(t *testing.T) {
	const (
		feed  = "http://a.com/feed"
		guid  = feed + "#guid"
		other = feed + "#other"
		own   = "http://a.com/post"
		known = "http://a.com/known"
	)
	b := newBench(t)
	b.put(model.StatusDBUnfetched, feed)
	b.generate("s1")
	b.put(model.StatusDBGone, known)
	b.apply(with(b.page("s1", feed, model.StatusFetchSuccess, own), "v1", guid, other, own, known))

	for _, u := range []string{guid, other, own} {
		d := b.get(u)
		if d == nil || d.Status != model.StatusDBFetched || d.Segment != "s1" || d.Metadata.First(transition.MetaPartOf) != feed {
			t.Fatalf("%s: %+v", u, d)
		}
		p, err := b.segs.GetParse("s1", urlkey.FromURL(u), segment.Want{Text: true})
		f, ferr := b.segs.GetFetch("s1", urlkey.FromURL(u))
		if err != nil || ferr != nil || p.Text != u+"v1" || f.URL != u || f.MIMEType != "text/plain" {
			t.Fatalf("%s: stored %+v %+v %v %v", u, p, f, err, ferr)
		}
		if !b.marked(u) {
			t.Errorf("%s is not marked for the index", u)
		}
	}
	if d := b.get(known); d.Status != model.StatusDBGone || b.marked(known) {
		t.Errorf("a page that was asked for itself became %s", d.Status)
	}
	if !b.get(guid).FetchTime.After(b.now.AddDate(1000, 0, 0)) || b.get(own).FetchTime.After(b.now) {
		t.Errorf("due: inside the page %s, with a URL of its own %s", b.get(guid).FetchTime, b.get(own).FetchTime)
	}

	// Not modified: nothing changes.
	b.now = b.now.Add(31 * 24 * time.Hour)
	b.generate("s2")
	if b.db.LeasedCount("s2") != 3 {
		t.Fatalf("%d leases, want those of all but what is inside the feed", b.db.LeasedCount("s2"))
	}
	b.apply(b.page("s2", feed, model.StatusFetchNotModified))
	if b.get(guid) == nil || b.marked(guid) {
		t.Error("a 304 answer touched the parts")
	}

	// The page with a URL of its own is fetched: it stands for itself from now on.
	b.apply(b.page("s2", own, model.StatusFetchSuccess))
	if d := b.get(own); d.Segment != "s2" || d.Metadata.First(transition.MetaPartOf) != "" || !b.marked(own) {
		t.Errorf("own page: %+v", d)
	}

	// A new version lacks one part, changes another, and names the own page again.
	b.now = b.now.Add(31 * 24 * time.Hour)
	b.generate("s3")
	b.apply(with(b.page("s3", feed, model.StatusFetchSuccess), "v3", guid, own))
	if b.get(other) != nil || !b.marked(other) {
		t.Error("a part that is no more is still there")
	}
	if d := b.get(guid); d.Segment != "s3" || string(d.Signature) != guid+"v3" || !b.marked(guid) {
		t.Errorf("changed part: %+v", d)
	}
	if d := b.get(own); d.Segment != "s2" {
		t.Errorf("the feed took over a page that was fetched: %+v", d)
	}

	// A failed request leaves them, and they go with the page.
	b.now = b.now.Add(31 * 24 * time.Hour)
	b.generate("s4")
	b.apply(b.page("s4", feed, model.StatusFetchRetry))
	if b.get(guid) == nil {
		t.Error("a failed request took the parts away")
	}
	b.now = b.now.Add(31 * 24 * time.Hour)
	b.generate("s5")
	b.apply(b.page("s5", feed, model.StatusFetchGone))
	if b.get(guid) != nil || !b.marked(guid) {
		t.Error("the page is gone and its part is not")
	}
	if b.get(own) == nil {
		t.Error("a page that was fetched went with the feed")
	}
}

// TestPartsAcrossSteps: crawler parse and crawler updatedb store the same as one run.
func TestPartsAcrossSteps(t *testing.T) {
	const zip, part = "http://a.com/x.zip", "http://a.com/x.zip#a.txt"
	b := newBench(t)
	b.put(model.StatusDBUnfetched, zip)
	b.generate("s1")
	p := with(b.page("s1", zip, model.StatusFetchSuccess), "v", part)
	if err := b.db.Update(t.Context(), func(tx *crawldb.Tx) error {
		segment.PutParse(tx.Tx, "s1", p.Key, p.Parsed, p.Fetch)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	var err error
	p.StoreParse = false
	if p.Parsed, err = b.segs.GetParse("s1", p.Key, segment.Want{Text: true, Outlinks: true, Parts: true}); err != nil {
		t.Fatal(err)
	}
	b.apply(p)
	if d := b.get(part); d == nil || string(d.Signature) != part+"v" || d.Segment != "s1" {
		t.Errorf("part: %+v", d)
	}
}
