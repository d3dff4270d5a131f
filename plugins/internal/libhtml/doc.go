// Package libhtml turns the bytes of an HTML page into title, text, links and
// the page-level facts a crawler needs, fast enough that links and text cost a
// fraction of building a tree.
//
// There are two ways through a page that give equal results:
//
//   - The stream: a lexer over the bytes and a reduced tree construction that
//     keeps only the stack of open elements. It never builds a node.
//   - The tree: golang.org/x/net/html with scripting off, walked once.
//
// Both report to the same sink, which alone decides what an element or a piece
// of text means for the output. The stream stops and the tree takes over where
// the HTML standard's tree construction (https://html.spec.whatwg.org/, section
// 13.2.6) moves or copies nodes in a way that could show in the output: foster
// parenting, anchors split by the adoption agency, framesets, HTML inside
// foreign content. x/net/html is the reference for "equal", its few departures
// from the standard included.
//
// Pages the tree can't take (deeper than 512 elements, or with more markup than
// Options.MaxNodes) go through the stream again without the right to stop; the
// result is then a best effort and Page.Degraded says why.
//
// The package knows nothing of charsets (input is valid UTF-8), robots rules,
// settings or the crawl.
package libhtml
