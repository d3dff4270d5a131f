package scoringsimilarity_test

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	similarity "github.com/gonutch/crawler/plugins/scoring-similarity"

	"github.com/gonutch/crawler/sdk/extension/scoring"
	"github.com/gonutch/crawler/sdk/model"
	"github.com/gonutch/crawler/sdk/plugintest"
)

func filter(t testing.TB, c similarity.Config) *similarity.Filter {
	t.Helper()
	if c.Ngrams == "" {
		c.Ngrams = "1,1"
	}
	f, err := similarity.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// own returns the similarity of text that a page never seen before gets.
func own(t testing.TB, f *similarity.Filter, text string) int64 {
	t.Helper()
	out, err := f.Distribute(t.Context(), []scoring.DistributeInput{{Text: text}})
	if err != nil {
		t.Fatal(err)
	}
	return out[0].Self["similarity"]
}

// The cases follow nutch.md 2.6 (scoring-similarity) and the definition of the
// cosine.
func TestCosine(t *testing.T) {
	root := func(n float64) int64 { return int64(math.Round(model.Micro * math.Sqrt(n))) }
	for _, c := range []struct {
		cfg  similarity.Config
		text string
		want int64
	}{
		{similarity.Config{GoldStandard: "sea salt"}, "Sea, salt!", model.Micro},
		{similarity.Config{GoldStandard: "sea salt"}, "salt-SEA salt sea", model.Micro},
		{similarity.Config{GoldStandard: "sea salt"}, "sea", root(0.5)},
		{similarity.Config{GoldStandard: "sea salt"}, "sea sea sea salt", int64(math.Round(model.Micro * 4 / math.Sqrt(20)))},
		{similarity.Config{GoldStandard: "sea salt"}, "mountain", 0},
		{similarity.Config{GoldStandard: "sea salt"}, "…", 0},
		{similarity.Config{GoldStandard: "the sea", Stopwords: []string{"The", "of"}}, "the of the sea", model.Micro},
		{similarity.Config{GoldStandard: "sea", Stopwords: []string{"don't"}}, "Don't sea", model.Micro},
		{similarity.Config{GoldStandard: "Öl über"}, "öl ÜBER", model.Micro},
		{similarity.Config{GoldStandard: "a b c", Ngrams: "2,2"}, "b c", root(0.5)},
		{similarity.Config{GoldStandard: "a b c", Ngrams: "2,2"}, "c b a", 0},
		{similarity.Config{GoldStandard: "a b", Ngrams: "1, 2"}, "b a", int64(math.Round(model.Micro * 2.0 / 3))},
		{similarity.Config{GoldStandard: "a\xffb"}, "a b", model.Micro}, // no letter, so it stands between words
	} {
		if got := own(t, filter(t, c.cfg), c.text); got != c.want {
			t.Errorf("%q to %q = %d, want %d", c.text, c.cfg.GoldStandard, got, c.want)
		}
	}
}

func TestDistribute(t *testing.T) {
	f := filter(t, similarity.Config{GoldStandard: "sea"})
	two := []scoring.Target{{URL: "http://a/"}, {URL: "http://b/"}}
	columns := func(v int64) []scoring.Column {
		return []scoring.Column{{Field: "similarity_linked", Values: []int64{v, v}}}
	}
	for _, c := range []struct {
		name string
		in   scoring.DistributeInput
		want scoring.DistributeOutput
	}{
		{"first fetch", scoring.DistributeInput{Text: "sea", Targets: two}, scoring.DistributeOutput{Columns: columns(model.Micro), Self: model.Fields{"similarity": model.Micro}}},
		{"off topic", scoring.DistributeInput{Text: "hill", Targets: two}, scoring.DistributeOutput{Columns: columns(0), Self: model.Fields{"similarity": 0}}},
		{"changed", scoring.DistributeInput{Text: "sea", Fields: model.Fields{"similarity": 400_000}, Targets: two}, scoring.DistributeOutput{Columns: columns(model.Micro), Self: model.Fields{"similarity": 600_000}}},
		{"unchanged", scoring.DistributeInput{Text: "sea", Fields: model.Fields{"similarity": model.Micro}, Targets: two}, scoring.DistributeOutput{Columns: columns(model.Micro)}},
		{"not modified", scoring.DistributeInput{Fields: model.Fields{"similarity": 7, "similarity_linked": 9}, Targets: two}, scoring.DistributeOutput{Columns: columns(7)}},
		{"redirect", scoring.DistributeInput{Fields: model.Fields{"similarity_linked": 9}, Targets: two}, scoring.DistributeOutput{Columns: columns(9)}},
		{"redirect of a seed", scoring.DistributeInput{Targets: two}, scoring.DistributeOutput{}},
		{"no links", scoring.DistributeInput{Text: "sea"}, scoring.DistributeOutput{Self: model.Fields{"similarity": model.Micro}}},
	} {
		out, err := f.Distribute(t.Context(), []scoring.DistributeInput{c.in})
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(c.want, out[0]); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, d)
		}
	}
}

func TestScore(t *testing.T) {
	in := []scoring.ScoreInput{
		{Score: 5, Sort: model.Micro},
		{Score: 5, Sort: model.Micro, Fields: model.Fields{"similarity_linked": 600_000}},
		{Score: 5, Sort: 2 * model.Micro, Fields: model.Fields{"similarity_linked": 600_000, "similarity": 250_000}},
		{Score: 5, Sort: model.Micro, Fields: model.Fields{"similarity_linked": 600_000, "similarity": 0}},
	}
	out, err := filter(t, similarity.Config{GoldStandard: "sea"}).Score(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]scoring.ScoreOutput{{Score: 5, Sort: model.Micro}, {Score: 600_000, Sort: 600_000}, {Score: 250_000, Sort: 500_000}, {}}, out); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	out, err = filter(t, similarity.Config{}).Score(t.Context(), in[1:2])
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]scoring.ScoreOutput{{Score: 5, Sort: model.Micro}}, out); d != "" {
		t.Errorf("without gold standard (-want +got):\n%s", d)
	}
}

func TestFilesAndErrors(t *testing.T) {
	dir := t.TempDir()
	gold, stop := filepath.Join(dir, "goldstandard.txt"), filepath.Join(dir, "stopwords.txt")
	for name, text := range map[string]string{gold: "The sea\n", stop: "# words\nthe\n\nof\r\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f := filter(t, similarity.Config{GoldStandardFile: gold, StopwordFile: stop})
	if got := own(t, f, "of the sea"); got != model.Micro {
		t.Errorf("got %d", got)
	}
	for _, c := range []struct {
		cfg  similarity.Config
		want string
	}{
		{similarity.Config{Ngrams: "1"}, "ngrams"},
		{similarity.Config{Ngrams: "2,1"}, "ngrams"},
		{similarity.Config{Ngrams: "0,1"}, "ngrams"},
		{similarity.Config{Ngrams: "1,6"}, "ngrams"},
		{similarity.Config{Ngrams: "1,1", Stopwords: []string{"a", "—"}}, "stopwords[1]: "},
		{similarity.Config{Ngrams: "1,1", Stopwords: []string{"a"}, GoldStandard: "a …"}, "no words"},
		{similarity.Config{Ngrams: "1,1", GoldStandardFile: gold + "x"}, gold + "x"},
	} {
		if _, err := similarity.New(c.cfg); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: error %v, want %q", c.cfg, err, c.want)
		}
	}
}

func TestConformance(t *testing.T) {
	plugintest.Run(t, similarity.Plugin(), plugintest.Options{
		Settings: `{"goldstandard": "some words of the sea", "ngrams": "1,2"}`,
		Pages:    []scoring.DistributeInput{{URL: "http://example.org/", Text: "words of the sea", Targets: make([]scoring.Target, 3)}},
	})
}

func FuzzText(f *testing.F) {
	f.Add("some sea", "sea of words")
	f.Fuzz(func(t *testing.T, gold, text string) {
		flt, err := similarity.New(similarity.Config{GoldStandard: gold, Ngrams: "1,2"})
		if err != nil {
			return
		}
		if s := own(t, flt, text); s < 0 || s > model.Micro {
			t.Errorf("similarity of %q to %q = %d", text, gold, s)
		}
	})
}

func BenchmarkPage(b *testing.B) {
	f := filter(b, similarity.Config{GoldStandard: strings.Repeat("the salt of the sea and other words ", 20)})
	text := strings.Repeat("a page about the sea and about hills, with some other words in it. ", 60)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		own(b, f, text)
	}
}
