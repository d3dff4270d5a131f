package indexerbleve

import (
	"maps"
	"slices"
	"strings"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/analysis/analyzer/keyword"
	"github.com/blevesearch/bleve/v2/analysis/analyzer/standard"

	// Each registers the analyzer of a language.
	_ "github.com/blevesearch/bleve/v2/analysis/lang/ar"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/cjk"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/da"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/de"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/en"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/es"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/fa"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/fi"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/fr"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/hi"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/hr"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/hu"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/it"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/nl"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/no"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/pt"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/ro"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/ru"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/sv"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/tr"
	"github.com/blevesearch/bleve/v2/mapping"

	"github.com/gonutch/crawler/plugins/internal/libindex"
)

// auto stands for the analyzer of each document's own language.
const auto = "auto"

// languages are those with an analyzer: the language codes that it serves. bleve's "hr" and "cjk" serve several.
func languages() map[string][]string {
	out := map[string][]string{
		"cjk": {"ja", "ko", "zh"}, "hr": {"bs", "hr", "sr"}, "no": {"nb", "nn", "no"},
	}
	for _, l := range []string{"ar", "da", "de", "en", "es", "fa", "fi", "fr", "hi", "hu", "it", "nl", "pt", "ro", "ru", "sv", "tr"} {
		out[l] = []string{l}
	}
	return out
}

// analyzerOf returns the analyzer of a language as documents name it, such as "de" or "pt-BR";
// "" when there is none of its own.
func analyzerOf(lang string) string {
	lang, _, _ = strings.Cut(strings.ToLower(strings.ReplaceAll(lang, "_", "-")), "-")
	for analyzer, codes := range languages() {
		if slices.Contains(codes, lang) {
			return analyzer
		}
	}
	return ""
}

// analyzers lists what the setting analyzer may name.
func analyzers() []string {
	return append([]string{auto, standard.Name}, slices.Sorted(maps.Keys(languages()))...)
}

// Fields of the index that documents don't have.
const (
	analyzerField = "_analyzer" // of the document; "standard" without a language
	monthSuffix   = "_month"    // of a date field: its year and month, for facets
)

func dateFields() []string { return []string{"tstamp", "date", "lastModified"} }

// newMapping returns how documents are indexed: known text fields analyzed, known
// dates as dates, every other field as one keyword per value. With analyzer "auto" there is a
// type of documents for each analyzer.
func newMapping(c Config) (*mapping.IndexMappingImpl, error) {
	im := bleve.NewIndexMapping()
	im.DefaultAnalyzer = keyword.Name
	if c.Analyzer == auto {
		im.DefaultMapping = documentMapping(c, standard.Name)
		for l := range languages() {
			im.AddDocumentMapping(l, documentMapping(c, l))
		}
	} else {
		im.DefaultMapping = documentMapping(c, c.Analyzer)
	}
	im.IndexDynamic, im.StoreDynamic, im.DocValuesDynamic = true, true, true
	return im, im.Validate()
}

func documentMapping(c Config, analyzer string) *mapping.DocumentMapping {
	doc := bleve.NewDocumentMapping()
	for f := range libindex.Weights(c.TextFields) {
		m := bleve.NewTextFieldMapping()
		m.Analyzer = analyzer
		m.IncludeInAll = false
		m.Store = f != "content" || c.StoreContent
		m.IncludeTermVectors = m.Store // phrases in unstored content need them, too, but cost as much again
		if f == "content" {
			m.IncludeTermVectors = true
			m.DocValues = false
		}
		doc.AddFieldMappingsAt(f, m)
	}
	for _, f := range dateFields() {
		m := bleve.NewDateTimeFieldMapping()
		m.IncludeInAll = false
		doc.AddFieldMappingsAt(f, m)
		doc.AddFieldMappingsAt(f+monthSuffix, hiddenField())
	}
	for _, f := range []string{"contentLength", "boost"} {
		m := bleve.NewNumericFieldMapping()
		m.IncludeInAll = false
		doc.AddFieldMappingsAt(f, m)
	}
	doc.AddFieldMappingsAt(analyzerField, hiddenField())
	return doc
}

// hiddenField is a keyword that is searched and counted but not shown.
func hiddenField() *mapping.FieldMapping {
	m := bleve.NewKeywordFieldMapping()
	m.IncludeInAll, m.Store, m.IncludeTermVectors = false, false, false
	return m
}

// made is what an index was made with, as far as it matters to queries and differs by settings.
type made struct {
	Config
	months bool // date fields have their months beside them
}

// madeWith reads the settings out of an index's mapping: those of the configuration count only
// when an index is made.
func madeWith(im mapping.IndexMapping) made {
	var m made
	i, ok := im.(*mapping.IndexMappingImpl)
	if !ok {
		return m
	}
	field := func(name string) *mapping.FieldMapping {
		if p := i.DefaultMapping.Properties[name]; p != nil && len(p.Fields) > 0 {
			return p.Fields[0]
		}
		return &mapping.FieldMapping{}
	}
	m.Analyzer = field("content").Analyzer
	if len(i.TypeMapping) > 0 {
		m.Analyzer = auto
	}
	m.StoreContent = field("content").Store
	m.months = field(dateFields()[0]+monthSuffix).Type != ""
	known := libindex.Weights(nil)
	for _, name := range slices.Sorted(maps.Keys(i.DefaultMapping.Properties)) {
		f := field(name)
		if known[name] == 0 && f.Type == "text" && f.Analyzer != keyword.Name {
			m.TextFields = append(m.TextFields, name)
		}
	}
	return m
}
