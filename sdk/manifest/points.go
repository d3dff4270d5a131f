package manifest

// The extension points as manifests and configuration name them.
const (
	Protocol       = "protocol"
	Parser         = "parser"
	ParseFilter    = "parsefilter"
	URLNormalizer  = "urlnormalizer"
	URLFilter      = "urlfilter"
	URLExemption   = "urlexemption"
	Scoring        = "scoring"
	IndexingFilter = "indexingfilter"
	Exchange       = "exchange"
	IndexWriter    = "indexwriter"
	Publisher      = "publisher"
	SegmentMerge   = "segmentmerge"
	Searcher       = "searcher"
)

// Points lists the extension points in the order a page meets them.
func Points() []string {
	return []string{
		Protocol, Parser, ParseFilter, URLNormalizer, URLFilter, URLExemption, Scoring,
		IndexingFilter, Exchange, IndexWriter, Publisher, SegmentMerge, Searcher,
	}
}
