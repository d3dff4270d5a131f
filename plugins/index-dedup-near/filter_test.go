package indexdedupnear_test

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	indexdedupnear "github.com/gonutch/crawler/plugins/index-dedup-near"
	"github.com/gonutch/crawler/plugins/internal/libtest"
	"github.com/gonutch/crawler/sdk/extension/indexingfilter"
	"github.com/gonutch/crawler/sdk/model"
)

func input(ws []string) *indexingfilter.Input {
	return &indexingfilter.Input{Parse: model.Parse{Text: strings.Join(ws, " ")}}
}

func sentence(r *rand.Rand, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("w%d", r.IntN(5000))
	}
	return out
}

func marks(t *testing.T, f indexingfilter.Filter, in *indexingfilter.Input) (simhash uint64, cluster string, bands []string) {
	t.Helper()
	p, err := f.FilterDocument(t.Context(), in)
	if err != nil || p == nil {
		t.Fatal(p, err)
	}
	simhash, err = strconv.ParseUint(p.Set["simhash"][0], 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	return simhash, p.Set["near_cluster"][0], p.Set["bands"]
}

// TestNear: pages that differ in a date line are close, others are far; the
// shares of equal cluster ids are those of Broder's formula.
func TestNear(t *testing.T) {
	f := libtest.Must(t, indexdedupnear.Plugin(), `{"bands_field": "bands"}`).IndexingFilter
	r := rand.New(rand.NewPCG(1, 2))
	const n = 300
	var far, farCluster, near, nearCluster, banded int
	for range n {
		page := sentence(r, 400)
		s, c, b := marks(t, f, input(page))
		other := slices.Clone(page)
		copy(other[100:], sentence(r, 2))
		s2, c2, b2 := marks(t, f, input(other))
		d := bits.OnesCount64(s ^ s2)
		near += d
		if c == c2 {
			nearCluster++
		}
		if d <= 3 {
			banded++
			if !slices.ContainsFunc(b, func(x string) bool { return slices.Contains(b2, x) }) {
				t.Errorf("%x and %x differ in %d bits and share no band: %v %v", s, s2, d, b, b2)
			}
		}
		s3, c3, _ := marks(t, f, input(sentence(r, 400)))
		far += bits.OnesCount64(s ^ s3)
		if c == c3 {
			farCluster++
		}
	}
	// Four of 398 groups change: the resemblance is 0.98, its cube 0.94.
	if nearCluster < n*88/100 || farCluster > 0 {
		t.Errorf("clusters: %d of %d near pages and %d far pages share one", nearCluster, n, farCluster)
	}
	if near > 8*n || far < 25*n || banded < n/5 {
		t.Errorf("bits: near pages differ in %d, far ones in %d on average, %d near ones in at most 3", near/n, far/n, banded)
	}
}

func TestFilterDocument(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	page := sentence(r, 50)
	f := libtest.Must(t, indexdedupnear.Plugin(), "").IndexingFilter
	s, c, _ := marks(t, f, input(page))
	upper := input(page)
	upper.Parse.Text = strings.ToUpper(strings.ReplaceAll(upper.Parse.Text, " ", ",\n- "))
	if s2, c2, _ := marks(t, f, upper); s2 != s || c2 != c {
		t.Error("case and punctuation count")
	}
	field := &indexingfilter.Input{Doc: model.Document{Fields: map[string][]string{"main_content": {strings.Join(page, " ")}}}, Parse: model.Parse{Text: strings.Repeat("menu ", 99)}}
	if s2, _, _ := marks(t, libtest.Must(t, indexdedupnear.Plugin(), `{"source_field": "main_content"}`).IndexingFilter, field); s2 != s {
		t.Error("the field is not what counts")
	}
	if s2, _, _ := marks(t, libtest.Must(t, indexdedupnear.Plugin(), `{"source_field": "other"}`).IndexingFilter, input(page)); s2 != s {
		t.Error("without the field the text does not count")
	}
	if s2, _, _ := marks(t, libtest.Must(t, indexdedupnear.Plugin(), `{"max_words": 30}`).IndexingFilter, input(append(slices.Clone(page[:30]), "x", "y"))); s2 == s {
		t.Error("words beyond the limit count")
	}
	for own, in := range map[string]*indexingfilter.Input{
		``: input(page[:19]),
		`{"simhash_field": "", "cluster_field": ""}`: input(page),
		`{"min_words": 1}`:                           input(nil),
	} {
		if p := libtest.FilterDocument(t, indexdedupnear.Plugin(), own, in); p.Set != nil {
			t.Errorf("%s: %v", own, p.Set)
		}
	}
	if p := libtest.FilterDocument(t, indexdedupnear.Plugin(), `{"min_words": 1, "shingle_words": 20}`, input(page[:2])); len(p.Set) != 2 {
		t.Errorf("fewer words than a group has: %v", p.Set)
	}
}

// TestStable: marks are stored in indexes, so they must not change between
// versions.
func TestStable(t *testing.T) {
	p := libtest.FilterDocument(t, indexdedupnear.Plugin(), `{"bands_field": "bands"}`, input(strings.Fields(strings.Repeat("one two three four five ", 5))))
	if got, want := fmt.Sprint(p.Set), "map[bands:[0-0cf7 1-6e89 2-a63b 3-2bfc] near_cluster:[9e5d7568674048f3] simhash:[0cf76e89a63b2bfc]]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func BenchmarkMarks(b *testing.B) {
	f := libtest.Must(b, indexdedupnear.Plugin(), "").IndexingFilter
	in := input(sentence(rand.New(rand.NewPCG(5, 6)), 1000))
	for b.Loop() {
		if _, err := f.FilterDocument(b.Context(), in); err != nil {
			b.Fatal(err)
		}
	}
}
