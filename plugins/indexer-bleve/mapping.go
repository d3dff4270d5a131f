package indexerbleve

import (
	"slices"
	"strings"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/analysis/analyzer/keyword"

	// Each registers the analyzer that setting analyzer names.
	_ "github.com/blevesearch/bleve/v2/analysis/analyzer/standard"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/da"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/de"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/en"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/es"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/fi"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/fr"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/it"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/nl"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/no"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/pt"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/ru"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/sv"
	"github.com/blevesearch/bleve/v2/mapping"
)

// searched are the fields a query without a field name looks into, with their
// weights.
func searched(text []string) map[string]float64 {
	w := map[string]float64{"title": 3, "anchor": 2, "content": 1}
	for _, f := range text {
		if _, known := w[f]; !known {
			w[f] = 1
		}
	}
	return w
}

var dateFields = []string{"tstamp", "date", "lastModified"}

// newMapping returns how documents are indexed: known text fields analyzed, known
// dates as dates, every other field as one keyword per value.
func newMapping(c Config) (mapping.IndexMapping, error) {
	doc := bleve.NewDocumentMapping()
	for f := range searched(c.TextFields) {
		m := bleve.NewTextFieldMapping()
		m.Analyzer = c.Analyzer
		m.IncludeInAll = false
		m.Store = f != "content" || c.StoreContent
		m.IncludeTermVectors = m.Store // phrases in unstored content need them, too, but cost as much again
		if f == "content" {
			m.IncludeTermVectors = true
			m.DocValues = false
		}
		doc.AddFieldMappingsAt(f, m)
	}
	for _, f := range dateFields {
		m := bleve.NewDateTimeFieldMapping()
		m.IncludeInAll = false
		doc.AddFieldMappingsAt(f, m)
	}
	for _, f := range []string{"contentLength", "boost"} {
		m := bleve.NewNumericFieldMapping()
		m.IncludeInAll = false
		doc.AddFieldMappingsAt(f, m)
	}
	im := bleve.NewIndexMapping()
	im.DefaultAnalyzer = keyword.Name
	im.DefaultMapping = doc
	im.IndexDynamic, im.StoreDynamic, im.DocValuesDynamic = true, true, true
	return im, im.Validate()
}

// analyzers lists what the setting analyzer may name.
var analyzers = []string{"standard", "da", "de", "en", "es", "fi", "fr", "it", "nl", "no", "pt", "ru", "sv"}

func knownAnalyzer(name string) bool { return slices.Contains(analyzers, name) }

func analyzerNames() string { return strings.Join(analyzers, ", ") }
