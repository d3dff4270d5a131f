// Package scoringsimilarity keeps a crawl on its topic: pages that are linked from
// pages similar to a given text are fetched first. It owns the comparison and two
// fields; getting text out of pages is the parsers'.
package scoringsimilarity

import (
	"context"
	_ "embed"

	"github.com/gonutch/crawler/plugins/internal/librule"
	"github.com/gonutch/crawler/plugins/internal/libscore"
	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/extension/scoring"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/model"
)

//go:embed plugin.hcl
var manifest []byte

const (
	own    = "similarity"
	linked = "similarity_linked"
)

// Plugin returns the plugin.
func Plugin() sdk.Plugin { return sdk.Plugin{Manifest: manifest, New: build} }

// Config are the settings; see plugin.hcl.
type Config struct {
	Model            string   `json:"model"`
	GoldStandardFile string   `json:"goldstandard_file"`
	GoldStandard     string   `json:"goldstandard"`
	StopwordFile     string   `json:"stopword_file"`
	Stopwords        []string `json:"stopwords"`
	Ngrams           string   `json:"ngrams"`
}

func build(env sdk.Env) (*sdk.Extensions, error) {
	var c Config
	if err := env.Settings.Decode(&c); err != nil {
		return nil, err
	}
	f, err := New(c)
	if err != nil {
		return nil, fault.New(fault.Invalid, err)
	}
	if len(f.gold) == 0 {
		env.Logger.Warn("there is no gold standard to compare pages with: scores stay as they are; set goldstandard_file")
	}
	return &sdk.Extensions{Scoring: f}, nil
}

// Filter implements Nutch's SimilarityScoringFilter with the cosine model. It
// keeps no state and is safe for concurrent use.
type Filter struct {
	scoring.Pass
	terms *terms
	gold  vector // empty: no comparison
}

// New reads the gold standard and stop words.
func New(c Config) (*Filter, error) {
	stop, err := librule.Source{Setting: "stopwords", Inline: c.Stopwords, File: c.StopwordFile}.Load()
	if err != nil {
		return nil, err
	}
	t, err := newTerms(c.Ngrams, stop)
	if err != nil {
		return nil, err
	}
	text := c.GoldStandard
	if text == "" && c.GoldStandardFile != "" {
		b, err := librule.Read(c.GoldStandardFile)
		if err != nil {
			return nil, err
		}
		text = string(b)
	}
	f := &Filter{terms: t, gold: t.vector(text)}
	if text != "" && len(f.gold) == 0 {
		return nil, fault.Errorf(fault.Invalid, "the gold standard %s has no words besides stop words", c.GoldStandardFile)
	}
	return f, nil
}

// Distribute hands the page's similarity on to its outlinks, and notes it for the
// page itself. A page without text, such as a redirect or one that was not
// modified, hands on what is known of it.
func (f *Filter) Distribute(_ context.Context, in []scoring.DistributeInput) ([]scoring.DistributeOutput, error) {
	out := make([]scoring.DistributeOutput, len(in))
	if len(f.gold) == 0 {
		return out, nil
	}
	for i := range in {
		d := &in[i]
		before, known := d.Fields[own]
		value := before
		switch {
		case d.Text != "":
			value = cosine(f.terms.vector(d.Text), f.gold)
			if !known || value != before {
				out[i].Self = model.Fields{own: value - before}
			}
		case !known:
			if value, known = d.Fields[linked]; !known {
				continue
			}
		}
		if n := len(d.Targets); n > 0 {
			values := make([]int64, n)
			for j := range values {
				values[j] = value
			}
			out[i].Columns = []scoring.Column{{Field: linked, Values: values}}
		}
	}
	return out, nil
}

// Score is the page's own similarity, before its first fetch that of the most
// similar page that links to it. Seeds keep their score.
func (f *Filter) Score(_ context.Context, in []scoring.ScoreInput) ([]scoring.ScoreOutput, error) {
	out := make([]scoring.ScoreOutput, len(in))
	for i := range in {
		out[i] = scoring.ScoreOutput{Score: in[i].Score, Sort: in[i].Sort}
		s, ok := in[i].Fields[own]
		if !ok {
			s, ok = in[i].Fields[linked]
		}
		if ok && len(f.gold) > 0 {
			out[i].Score, out[i].Sort = s, libscore.Mul(in[i].Sort, s)
		}
	}
	return out, nil
}

var _ scoring.Filter = (*Filter)(nil)
