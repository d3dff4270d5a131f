// Package plugins is the table of the plugins that the crawler's binary can
// serve itself. Each is still a process of its own: the binary starts itself
// as "plugin serve <id>".
package plugins

import (
	indexanchor "github.com/gonutch/crawler/plugins/index-anchor"
	indexbasic "github.com/gonutch/crawler/plugins/index-basic"
	indexmore "github.com/gonutch/crawler/plugins/index-more"
	indexerbleve "github.com/gonutch/crawler/plugins/indexer-bleve"
	parsehtml "github.com/gonutch/crawler/plugins/parse-html"
	parsetext "github.com/gonutch/crawler/plugins/parse-text"
	protocolfile "github.com/gonutch/crawler/plugins/protocol-file"
	protocolhttp "github.com/gonutch/crawler/plugins/protocol-http"
	scoringopic "github.com/gonutch/crawler/plugins/scoring-opic"
	urlfilterregex "github.com/gonutch/crawler/plugins/urlfilter-regex"
	urlfiltervalidator "github.com/gonutch/crawler/plugins/urlfilter-validator"
	urlnormalizerbasic "github.com/gonutch/crawler/plugins/urlnormalizer-basic"
	urlnormalizerpass "github.com/gonutch/crawler/plugins/urlnormalizer-pass"
	urlnormalizerregex "github.com/gonutch/crawler/plugins/urlnormalizer-regex"
	"github.com/gonutch/crawler/sdk"
)

// Builtins returns the built-in plugins.
func Builtins() []sdk.Plugin {
	return []sdk.Plugin{
		indexanchor.Plugin(), indexbasic.Plugin(), indexmore.Plugin(), indexerbleve.Plugin(),
		parsehtml.Plugin(), parsetext.Plugin(),
		protocolfile.Plugin(), protocolhttp.Plugin(),
		scoringopic.Plugin(),
		urlfilterregex.Plugin(), urlfiltervalidator.Plugin(),
		urlnormalizerbasic.Plugin(), urlnormalizerpass.Plugin(), urlnormalizerregex.Plugin(),
	}
}
