package testweb

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gonutch/crawler/sdk/model"
)

// perfect makes the CrawlDB of a crawl that does everything right: each URL in the first status allowed.
func perfect(truth *Truth) map[string]model.Status {
	db := map[string]model.Status{}
	truth.Each(func(e Entry) bool {
		if e.Required {
			db[e.URL] = e.Allowed.Statuses()[0]
		}
		return true
	})
	return db
}

func TestCheckFindsEveryKindOfDifference(t *testing.T) {
	w := newWeb(t, func(c *Config) { c.Shares.RobotsSome, c.Shares.Duplicate = 0.4, 0.2 })
	truth := w.Truth(Options{})
	good := perfect(truth)
	if diffs := truth.Check(good); len(diffs) > 0 {
		t.Fatalf("a perfect crawl differs: %v", diffs[0])
	}
	find := func(why string) string {
		for _, u := range slices.Sorted(maps.Keys(good)) {
			if e, ok := truth.Find(u); ok && e.Why == why && u != "http://host0.test/" {
				return u
			}
		}
		t.Fatalf("no URL with %q", why)
		return ""
	}
	page, moved, denied, missing := find("page"), find("301"), find("robots denied"), find("404")
	var group []string // an original and all that repeat it
	for _, u := range slices.Sorted(maps.Keys(good)) {
		if r := w.parse(u); r.kind == kindPage && strings.Contains(u, "/s0/p1.html") {
			group = []string{u}
			for _, v := range slices.Sorted(maps.Keys(good)) {
				if q := w.parse(v); q.kind == kindPage && v != u && !w.denied(q) {
					if pg := w.page(q.host, q.a); pg.fate == fateDuplicate && pg.srcHost == r.host && pg.srcPage == r.a {
						group = append(group, v)
					}
				}
			}
			if len(group) > 2 {
				break
			}
		}
	}
	tests := []struct {
		name   string
		change func(db map[string]model.Status)
		want   []Difference
	}{
		{"missing", func(db map[string]model.Status) { delete(db, page) }, []Difference{{Kind: DiffMissing, URL: page}}},
		{"nothing at all but", func(db map[string]model.Status) {
			maps.DeleteFunc(db, func(u string, _ model.Status) bool { return u == page || u == missing })
		}, []Difference{{Kind: DiffMissing, URL: page}, {Kind: DiffMissing, URL: missing}}},
		{"unfetched", func(db map[string]model.Status) { db[page] = model.StatusDBUnfetched }, []Difference{{Kind: DiffStatus, URL: page, Got: "db_unfetched"}}},
		{"temporary", func(db map[string]model.Status) { db[moved] = model.StatusDBRedirTemp }, []Difference{{Kind: DiffStatus, URL: moved, Got: "db_redir_temp"}}},
		{"fetched although denied", func(db map[string]model.Status) { db[denied] = model.StatusDBFetched }, []Difference{{Kind: DiffStatus, URL: denied, Got: "db_fetched"}}},
		{"orphan", func(db map[string]model.Status) { db[page] = model.StatusDBOrphan }, []Difference{{Kind: DiffStatus, URL: page, Got: "db_orphan"}}},
		{"duplicate without one", func(db map[string]model.Status) { db[page] = model.StatusDBDuplicate }, []Difference{{Kind: DiffStatus, URL: page, Got: "db_duplicate"}}},
		{"all but one duplicate", func(db map[string]model.Status) {
			for _, u := range group[1:] {
				db[u] = model.StatusDBDuplicate
			}
		}, nil},
		{"all duplicates", func(db map[string]model.Status) {
			for _, u := range group {
				db[u] = model.StatusDBDuplicate
			}
		}, []Difference{{Kind: DiffNoWinner, URL: group[0]}}},
		{"not in normal form", func(db map[string]model.Status) { db[page+"#x"] = model.StatusDBFetched }, []Difference{{Kind: DiffUnexpected, URL: page + "#x", Got: "db_fetched"}}},
		{"other host", func(db map[string]model.Status) { db["http://example.org/"] = model.StatusDBFetched }, []Difference{{Kind: DiffUnexpected, URL: "http://example.org/", Got: "db_fetched"}}},
		{"robots.txt", func(db map[string]model.Status) { db["http://host0.test/robots.txt"] = model.StatusDBFetched }, []Difference{{Kind: DiffUnexpected, URL: "http://host0.test/robots.txt", Got: "db_fetched"}}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			db := maps.Clone(good)
			tc.change(db)
			got := truth.Check(db)
			for i := range got {
				if got[i].String() == "" {
					t.Error("no text")
				}
				got[i].Why, got[i].Allowed = "", 0
			}
			byURL := func(a, b Difference) int { return strings.Compare(a.URL, b.URL) }
			slices.SortFunc(got, byURL)
			slices.SortFunc(tc.want, byURL)
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Errorf("differences (-want +got):\n%s", d)
			}
		})
	}
	t.Run("twice", func(t *testing.T) {
		c := truth.Checker()
		for u, s := range good {
			c.Add(u, s)
		}
		hop := ""
		for u := range good {
			if strings.Contains(u, "/hop") {
				hop = u
			}
		}
		c.Add(page, good[page])
		c.Add(hop, good[hop])
		if got := c.Done(); len(got) != 2 || got[0].Kind != DiffTwice || got[1].Kind != DiffTwice {
			t.Errorf("%v", got)
		}
	})
}

func TestOptionsWidenWhatIsAllowed(t *testing.T) {
	w := newWeb(t, func(c *Config) { c.Shares.FlakyError, c.Shares.RobotsFlaky = 0.1, 0.2 })
	base := w.Truth(Options{})
	for _, tc := range []struct {
		name string
		o    Options
		why  string
		from model.Status
		to   model.Status
	}{
		{"retry pending", Options{OnePass: true}, "503 at first", model.StatusDBFetched, model.StatusDBUnfetched},
		{"gone pending", Options{OnePass: true}, "403 for ever", model.StatusDBGone, model.StatusDBUnfetched},
		{"refetched", Options{Refetched: true}, "page", model.StatusDBFetched, model.StatusDBNotModified},
		{"same text", Options{TextSignature: true}, "page", model.StatusDBFetched, model.StatusDBDuplicate},
	} {
		t.Run(tc.name, func(t *testing.T) {
			wide := w.Truth(tc.o)
			n := 0
			base.Each(func(e Entry) bool {
				if e.Why != tc.why {
					return true
				}
				n++
				o, ok := wide.Find(e.URL)
				if !ok || e.Allowed.Has(tc.to) || !o.Allowed.Has(tc.from) || !o.Allowed.Has(tc.to) {
					t.Errorf("%s: %s became %s", e.URL, e.Allowed, o.Allowed)
					return false
				}
				return true
			})
			if n == 0 {
				t.Errorf("no URL with %q", tc.why)
			}
		})
	}
	narrow := w.Truth(Options{NoDedup: true})
	narrow.Each(func(e Entry) bool {
		if e.Allowed.Has(model.StatusDBDuplicate) {
			t.Errorf("%s may be %s without deduplication", e.URL, e.Allowed)
		}
		return !t.Failed()
	})
	if full, one := base.Summary(), w.Truth(Options{OnePass: true}).Summary(); one.Required >= full.Required || one.Optional <= full.Optional {
		t.Errorf("one pass requires %d and allows %d more, a whole crawl %d and %d", one.Required, one.Optional, full.Required, full.Optional)
	}
}

// TestIssueSizedWeb holds what issue-sized crawls rely on: 1,000 hosts, 100,000 pages.
func TestIssueSizedWeb(t *testing.T) {
	for _, shares := range []Shares{Standard(), Stable(), Plain()} {
		w := newWeb(t, func(c *Config) { c.Hosts, c.Pages, c.LargestHost, c.Shares = 1000, 100_000, 5000, shares })
		s := w.Truth(Options{}).Summary()
		if int(w.hosts[0].size) != 5000 || s.Required < 95_000 || (shares == Plain()) != (s.Required == 100_000 && s.Optional == 0) {
			t.Errorf("host0 has %d pages; %+v", w.hosts[0].size, s)
		}
	}
}

func TestSizes(t *testing.T) {
	for _, tc := range []struct{ hosts, pages, largest int }{
		{1, 1, 1}, {1, 7, 7}, {10, 10, 1}, {10, 10, 5}, {3, 100, 34}, {1000, 100_000, 5000}, {1000, 100_000, 100}, {50_000, 2_000_000, 100_000}, {7, 6 * 7, 7},
	} {
		n := sizes(tc.hosts, tc.pages, tc.largest)
		total := 0
		for i, v := range n {
			total += int(v)
			if v < 1 || int(v) > tc.largest || (i > 0 && v > n[i-1]) {
				t.Fatalf("%+v: host %d has %d pages", tc, i, v)
			}
		}
		if len(n) != tc.hosts || total != tc.pages {
			t.Errorf("%+v: %d hosts, %d pages", tc, len(n), total)
		}
	}
	n := sizes(1000, 100_000, 5000) // a power law: the hundred largest hosts of 1,000 hold most pages
	most := 0
	for _, v := range n[:100] {
		most += int(v)
	}
	if most < 60_000 || n[999] > 20 {
		t.Errorf("the largest 100 hosts have %d pages, the smallest %d", most, n[999])
	}
}

func TestInDegreesFollowPowerLaw(t *testing.T) {
	w := newWeb(t, func(c *Config) { c.Hosts, c.Pages, c.Shares = 200, 20_000, Plain() })
	in := map[ref]int{}
	links, across := 0, 0
	for h := range w.hosts {
		for p := range w.hosts[h].size {
			for _, l := range w.linksOf(nil, int32(h), p, false) {
				in[l.to]++
				links++
				if l.to.host != int32(h) {
					across++
				}
			}
		}
	}
	counts := slices.Sorted(maps.Values(in))
	slices.Reverse(counts)
	top := 0
	for _, n := range counts[:len(counts)/100] {
		top += n
	}
	if share := float64(top) / float64(links); share < 0.15 || share > 0.7 {
		t.Errorf("the most linked hundredth of the pages has %.2f of all links", share)
	}
	if share := float64(across) / float64(links); share < 0.1 || share > 0.4 {
		t.Errorf("%.2f of the links lead to other hosts", share)
	}
	if mean := links / w.cfg.Pages; mean < 10 || mean > 60 {
		t.Errorf("%d links a page", mean)
	}
}

// TestUniformLinksDiscoverFast: a few per cent of the pages must name most of the web.
func TestUniformLinksDiscoverFast(t *testing.T) {
	w := newWeb(t, func(c *Config) {
		c.Hosts, c.Pages, c.Links, c.Shares = 2000, 200_000, 60, Shares{UniformLinks: 1}
	})
	queue := []ref{{kind: kindPage}}
	known := map[ref]bool{queue[0]: true}
	for i := 0; i < 8000; i++ { // in order of discovery
		for _, to := range w.edges(nil, queue[i]) {
			if !known[to] {
				known[to] = true
				queue = append(queue, to)
			}
		}
	}
	if len(known) < 120_000 {
		t.Errorf("8,000 pages lead to %d of 200,000", len(known))
	}
}
