// Package extension is the table of extension points. The contract of a point
// is in the package named after it.
package extension

// Cardinality says how the plugins of a point work together.
type Cardinality string

// The cardinalities.
const (
	// Pick: for each item one plugin is chosen, by scheme, MIME type or name.
	Pick Cardinality = "pick"
	// Chain: each plugin works on what the one before left.
	Chain Cardinality = "chain"
	// Fan: every plugin is asked about the same thing.
	Fan Cardinality = "fan-out"
)

// Point is one extension point.
type Point struct {
	// Name is what manifests call it, the package's name, and the section of the
	// configuration that holds the order of its plugins.
	Name string
	// Nutch is the name of Nutch's interface, "" when Nutch has none.
	Nutch string
	// Prefix starts the ids of plugins that mainly provide it.
	Prefix      string
	Cardinality Cardinality
	// Ordered says that the section has order = [...].
	Ordered bool
}

// Points returns the extension points in the order in which a page meets them.
func Points() []Point {
	return []Point{
		{Name: "protocol", Nutch: "Protocol", Prefix: "protocol-", Cardinality: Pick, Ordered: true},
		{Name: "parser", Nutch: "Parser", Prefix: "parse-", Cardinality: Pick, Ordered: true},
		{Name: "parsefilter", Nutch: "HtmlParseFilter", Prefix: "parsefilter-", Cardinality: Chain, Ordered: true},
		{Name: "urlnormalizer", Nutch: "URLNormalizer", Prefix: "urlnormalizer-", Cardinality: Chain, Ordered: true},
		{Name: "urlfilter", Nutch: "URLFilter", Prefix: "urlfilter-", Cardinality: Chain, Ordered: true},
		{Name: "urlexemption", Nutch: "URLExemptionFilter", Prefix: "urlexemption-", Cardinality: Fan, Ordered: true},
		{Name: "scoring", Nutch: "ScoringFilter", Prefix: "scoring-", Cardinality: Chain, Ordered: true},
		{Name: "indexingfilter", Nutch: "IndexingFilter", Prefix: "index-", Cardinality: Chain, Ordered: true},
		{Name: "exchange", Nutch: "Exchange", Prefix: "exchange-", Cardinality: Pick},
		{Name: "indexwriter", Nutch: "IndexWriter", Prefix: "indexer-", Cardinality: Fan},
		{Name: "publisher", Nutch: "NutchPublisher", Prefix: "publish-", Cardinality: Fan, Ordered: true},
		{Name: "segmentmerge", Nutch: "SegmentMergeFilter", Prefix: "segmentmerge-", Cardinality: Chain, Ordered: true},
		{Name: "searcher", Prefix: "indexer-", Cardinality: Pick},
	}
}

// Lookup returns the point called name, and whether there is one.
func Lookup(name string) (Point, bool) {
	for _, p := range Points() {
		if p.Name == name {
			return p, true
		}
	}
	return Point{}, false
}
