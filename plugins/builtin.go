// Package plugins is the table of the plugins that the crawler's binary can
// serve itself. Each is still a process of its own: the binary starts itself
// as "plugin serve <id>".
package plugins

import (
	"github.com/gonutch/crawler/plugins/creativecommons"
	"github.com/gonutch/crawler/plugins/headings"
	indexanchor "github.com/gonutch/crawler/plugins/index-anchor"
	indexbasic "github.com/gonutch/crawler/plugins/index-basic"
	indexmore "github.com/gonutch/crawler/plugins/index-more"
	indexerbleve "github.com/gonutch/crawler/plugins/indexer-bleve"
	languageidentifier "github.com/gonutch/crawler/plugins/language-identifier"
	microformatsreltag "github.com/gonutch/crawler/plugins/microformats-reltag"
	parsehtml "github.com/gonutch/crawler/plugins/parse-html"
	parsemetatags "github.com/gonutch/crawler/plugins/parse-metatags"
	parsetext "github.com/gonutch/crawler/plugins/parse-text"
	parsefiltercss "github.com/gonutch/crawler/plugins/parsefilter-css"
	parsefilterdebug "github.com/gonutch/crawler/plugins/parsefilter-debug"
	parsefilterregex "github.com/gonutch/crawler/plugins/parsefilter-regex"
	parsefilterstructured "github.com/gonutch/crawler/plugins/parsefilter-structured"
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
		creativecommons.Plugin(),
		headings.Plugin(),
		indexanchor.Plugin(), indexbasic.Plugin(), indexmore.Plugin(),
		indexerbleve.Plugin(),
		languageidentifier.Plugin(),
		microformatsreltag.Plugin(),
		parsehtml.Plugin(), parsemetatags.Plugin(), parsetext.Plugin(),
		parsefiltercss.Plugin(), parsefilterdebug.Plugin(), parsefilterregex.Plugin(), parsefilterstructured.Plugin(),
		protocolfile.Plugin(), protocolhttp.Plugin(),
		scoringopic.Plugin(),
		urlfilterregex.Plugin(), urlfiltervalidator.Plugin(),
		urlnormalizerbasic.Plugin(), urlnormalizerpass.Plugin(), urlnormalizerregex.Plugin(),
	}
}
