// Package parsefilternaivebayes keeps a crawl on its subject: it learns from texts what
// is relevant, and takes the links away from pages that are not. It owns the
// classifier and the form of the texts; it must not know where links lead.
package parsefilternaivebayes

import (
	"context"
	_ "embed"
	"errors"
	"iter"
	"math"
	"strconv"
	"strings"
	"unicode"

	"github.com/gonutch/crawler/plugins/internal/librule"
	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/extension/parsefilter"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/model"
)

//go:embed plugin.hcl
var manifest []byte

// Plugin returns the plugin.
func Plugin() sdk.Plugin { return sdk.Plugin{Manifest: manifest, New: build} }

type config struct {
	TrainFile string   `json:"train_file"`
	Training  []string `json:"training"`
	WordList  string   `json:"wordlist"`
	Words     []string `json:"words"`
}

// Keys of the parse metadata.
const (
	metaRelevant = "naivebayes.relevant" // true or false
	metaDropped  = "outlinks.dropped.irrelevant"
)

func build(env sdk.Env) (*sdk.Extensions, error) {
	var c config
	if err := env.Settings.Decode(&c); err != nil {
		return nil, err
	}
	lines, err := librule.Source{Setting: "training", Inline: c.Training, File: c.TrainFile}.Lines()
	if err != nil {
		return nil, err
	}
	words, err := librule.Source{Setting: "words", Inline: c.Words, File: c.WordList}.Lines()
	if err != nil {
		return nil, err
	}
	f := &Filter{}
	for _, w := range words {
		f.words = append(f.words, strings.ToLower(strings.TrimSpace(w.Text)))
	}
	if len(lines) == 0 {
		env.Logger.Warn("nothing to learn from, so every page counts as relevant: set train_file or training")
		return &sdk.Extensions{ParseFilter: f}, nil
	}
	if f.model, err = train(lines); err != nil {
		return nil, err
	}
	return &sdk.Extensions{ParseFilter: f}, nil
}

// classifier is a multinomial naive Bayes classifier of two classes with Laplace
// smoothing (Manning, Raghavan, Schütze: Introduction to Information Retrieval, 13.2),
// as Nutch's is. It is read only once it is trained.
type classifier struct {
	prior [2]float64            // logarithm of the share of texts; 1 is relevant
	words map[string][2]float64 // logarithm of the likelihood by class
	other [2]float64            // of a word that was not met in training
}

// train learns from lines "0 or 1, tab, text".
func train(lines []librule.Line) (*classifier, error) {
	var texts, total [2]float64
	counts := map[string]*[2]float64{}
	var errs []error
	for _, l := range lines {
		class, text, ok := strings.Cut(l.Text, "\t")
		n, err := strconv.Atoi(strings.TrimSpace(class))
		if !ok || err != nil || n != 0 && n != 1 || strings.TrimSpace(text) == "" {
			errs = append(errs, l.Errorf("want 1 (relevant) or 0 (irrelevant), a tab and a text"))
			continue
		}
		texts[n]++
		for w := range tokens(text) {
			c := counts[w]
			if c == nil {
				c = new([2]float64)
				counts[w] = c
			}
			c[n]++
			total[n]++
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if texts[0] == 0 || texts[1] == 0 {
		return nil, fault.Errorf(fault.Invalid, "there are %.0f relevant and %.0f irrelevant texts to learn from; give some of both", texts[1], texts[0])
	}
	m := &classifier{words: make(map[string][2]float64, len(counts))}
	for c := range 2 {
		m.prior[c] = math.Log(texts[c] / (texts[0] + texts[1]))
		m.other[c] = -math.Log(total[c] + float64(len(counts)))
	}
	for w, n := range counts {
		m.words[w] = [2]float64{math.Log(n[0]+1) + m.other[0], math.Log(n[1]+1) + m.other[1]}
	}
	return m, nil
}

// relevant reports whether a text is more likely relevant; a tie counts as
// relevant.
func (m *classifier) relevant(text string) bool {
	p := m.prior
	for w := range tokens(text) {
		l, ok := m.words[w]
		if !ok {
			continue // it tells nothing; with classes of unequal size it would only favour the smaller
		}
		p[0] += l[0]
		p[1] += l[1]
	}
	return p[1] >= p[0]
}

// tokens yields the words of a text in lower case: runs of letters and digits.
func tokens(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for w := range strings.FieldsFuncSeq(text, func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsDigit(c) }) {
			if !yield(strings.ToLower(w)) {
				return
			}
		}
	}
}

// Filter implements Nutch's NaiveBayesParseFilter. It is safe for concurrent use.
type Filter struct {
	model *classifier // nil: everything is relevant
	words []string
}

// FilterParse implements parsefilter.Filter.
func (f *Filter) FilterParse(_ context.Context, in *parsefilter.Input) (*parsefilter.Patch, error) {
	if f.model == nil {
		return nil, nil
	}
	ok := f.model.relevant(in.Parse.Text)
	p := &parsefilter.Patch{SetMeta: model.Metadata{metaRelevant: {strconv.FormatBool(ok)}}}
	if ok {
		return p, nil
	}
	for _, l := range in.Parse.Outlinks {
		if f.saved(l.URL) {
			p.Outlinks = append(p.Outlinks, l)
		}
	}
	if n := len(in.Parse.Outlinks) - len(p.Outlinks); n > 0 {
		p.ReplaceLinks = true
		p.SetMeta.Set(metaDropped, strconv.Itoa(n))
	} else {
		p.Outlinks = nil
	}
	return p, nil
}

// saved reports whether a URL has one of the words in it.
func (f *Filter) saved(url string) bool {
	url = strings.ToLower(url)
	for _, w := range f.words {
		if strings.Contains(url, w) {
			return true
		}
	}
	return false
}

var _ parsefilter.Filter = (*Filter)(nil)
