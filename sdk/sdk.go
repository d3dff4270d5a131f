// Package sdk is what a plugin's main needs: describe the plugin, build its
// extensions from settings, serve them.
//
// A plugin is a separate process. Its main is one line:
//
//	func main() { sdk.Main(sdk.Plugin{Manifest: manifest, New: New}) }
//
// where manifest is the embedded plugin.hcl and New builds the extensions the
// manifest provides. The contracts are in the packages under extension/, the
// records in model/, error kinds in fault/, the conformance tests in
// plugintest/.
package sdk

import (
	"github.com/hashicorp/go-hclog"

	"github.com/gonutch/crawler/sdk/extension/exchange"
	"github.com/gonutch/crawler/sdk/extension/indexingfilter"
	"github.com/gonutch/crawler/sdk/extension/indexwriter"
	"github.com/gonutch/crawler/sdk/extension/parsefilter"
	"github.com/gonutch/crawler/sdk/extension/parser"
	"github.com/gonutch/crawler/sdk/extension/protocol"
	"github.com/gonutch/crawler/sdk/extension/publisher"
	"github.com/gonutch/crawler/sdk/extension/scoring"
	"github.com/gonutch/crawler/sdk/extension/searcher"
	"github.com/gonutch/crawler/sdk/extension/segmentmerge"
	"github.com/gonutch/crawler/sdk/extension/urlexemption"
	"github.com/gonutch/crawler/sdk/extension/urlfilter"
	"github.com/gonutch/crawler/sdk/extension/urlnormalizer"
)

// Plugin is a plugin: its manifest's bytes and how to build its extensions.
type Plugin struct {
	Manifest []byte
	// New is called once for each Configure, before any other call.
	New func(Env) (*Extensions, error)
}

// Env is what a plugin is built from.
type Env struct {
	Settings Settings
	Logger   hclog.Logger
	// DataDir is a folder the plugin may keep files in that live as long as the
	// crawl directory; "" when there is none. It is created on first use by the
	// plugin.
	DataDir string
}

// Extensions are the implementations a plugin provides; nil fields are not
// provided. They must match the manifest.
type Extensions struct {
	Protocol       protocol.Protocol
	Parser         parser.Parser
	ParseFilter    parsefilter.Filter
	URLNormalizer  urlnormalizer.Normalizer
	URLFilter      urlfilter.Filter
	URLExemption   urlexemption.Filter
	Scoring        scoring.Filter
	IndexingFilter indexingfilter.Filter
	Exchange       exchange.Exchange
	IndexWriter    indexwriter.Writer
	Publisher      publisher.Publisher
	SegmentMerge   segmentmerge.Filter
	Searcher       searcher.Searcher
	// Close, if set, releases everything; called once at shutdown.
	Close func() error
}
