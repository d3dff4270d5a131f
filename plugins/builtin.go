// Package plugins is the table of the plugins that the crawler's binary can
// serve itself. Each is still a process of its own: the binary starts itself
// as "plugin serve <id>".
package plugins

import (
	"github.com/gonutch/crawler/plugins/creativecommons"
	exchangejexl "github.com/gonutch/crawler/plugins/exchange-jexl"
	"github.com/gonutch/crawler/plugins/feed"
	"github.com/gonutch/crawler/plugins/headings"
	indexanchor "github.com/gonutch/crawler/plugins/index-anchor"
	indexarbitrary "github.com/gonutch/crawler/plugins/index-arbitrary"
	indexbasic "github.com/gonutch/crawler/plugins/index-basic"
	indexcontent "github.com/gonutch/crawler/plugins/index-content"
	indexdedupnear "github.com/gonutch/crawler/plugins/index-dedup-near"
	indexgeoip "github.com/gonutch/crawler/plugins/index-geoip"
	indexjexlfilter "github.com/gonutch/crawler/plugins/index-jexl-filter"
	indexlinks "github.com/gonutch/crawler/plugins/index-links"
	indexmetadata "github.com/gonutch/crawler/plugins/index-metadata"
	indexmore "github.com/gonutch/crawler/plugins/index-more"
	indexreplace "github.com/gonutch/crawler/plugins/index-replace"
	indexstatic "github.com/gonutch/crawler/plugins/index-static"
	indexerbleve "github.com/gonutch/crawler/plugins/indexer-bleve"
	indexercsv "github.com/gonutch/crawler/plugins/indexer-csv"
	indexerdummy "github.com/gonutch/crawler/plugins/indexer-dummy"
	indexerelastic "github.com/gonutch/crawler/plugins/indexer-elastic"
	indexerjsonl "github.com/gonutch/crawler/plugins/indexer-jsonl"
	indexerkafka "github.com/gonutch/crawler/plugins/indexer-kafka"
	indexerparquet "github.com/gonutch/crawler/plugins/indexer-parquet"
	indexerrabbit "github.com/gonutch/crawler/plugins/indexer-rabbit"
	indexersolr "github.com/gonutch/crawler/plugins/indexer-solr"
	indexerwebhook "github.com/gonutch/crawler/plugins/indexer-webhook"
	languageidentifier "github.com/gonutch/crawler/plugins/language-identifier"
	microformatsreltag "github.com/gonutch/crawler/plugins/microformats-reltag"
	mimetypefilter "github.com/gonutch/crawler/plugins/mimetype-filter"
	parseext "github.com/gonutch/crawler/plugins/parse-ext"
	parsehtml "github.com/gonutch/crawler/plugins/parse-html"
	parseimage "github.com/gonutch/crawler/plugins/parse-image"
	parsejs "github.com/gonutch/crawler/plugins/parse-js"
	parsemetatags "github.com/gonutch/crawler/plugins/parse-metatags"
	parseoffice "github.com/gonutch/crawler/plugins/parse-office"
	parsepdf "github.com/gonutch/crawler/plugins/parse-pdf"
	parsesitemap "github.com/gonutch/crawler/plugins/parse-sitemap"
	parsetext "github.com/gonutch/crawler/plugins/parse-text"
	parsetika "github.com/gonutch/crawler/plugins/parse-tika"
	parsexml "github.com/gonutch/crawler/plugins/parse-xml"
	parsezip "github.com/gonutch/crawler/plugins/parse-zip"
	parsefiltercss "github.com/gonutch/crawler/plugins/parsefilter-css"
	parsefilterdebug "github.com/gonutch/crawler/plugins/parsefilter-debug"
	parsefilternaivebayes "github.com/gonutch/crawler/plugins/parsefilter-naivebayes"
	parsefilterregex "github.com/gonutch/crawler/plugins/parsefilter-regex"
	parsefilterstructured "github.com/gonutch/crawler/plugins/parsefilter-structured"
	protocolbrowser "github.com/gonutch/crawler/plugins/protocol-browser"
	protocolfile "github.com/gonutch/crawler/plugins/protocol-file"
	protocolftp "github.com/gonutch/crawler/plugins/protocol-ftp"
	protocolhttp "github.com/gonutch/crawler/plugins/protocol-http"
	protocols3 "github.com/gonutch/crawler/plugins/protocol-s3"
	publishjsonl "github.com/gonutch/crawler/plugins/publish-jsonl"
	publishnats "github.com/gonutch/crawler/plugins/publish-nats"
	publishrabbitmq "github.com/gonutch/crawler/plugins/publish-rabbitmq"
	scoringdepth "github.com/gonutch/crawler/plugins/scoring-depth"
	scoringlink "github.com/gonutch/crawler/plugins/scoring-link"
	scoringmetadata "github.com/gonutch/crawler/plugins/scoring-metadata"
	scoringopic "github.com/gonutch/crawler/plugins/scoring-opic"
	scoringorphan "github.com/gonutch/crawler/plugins/scoring-orphan"
	scoringsimilarity "github.com/gonutch/crawler/plugins/scoring-similarity"
	"github.com/gonutch/crawler/plugins/subcollection"
	"github.com/gonutch/crawler/plugins/tld"
	urlfilterautomaton "github.com/gonutch/crawler/plugins/urlfilter-automaton"
	urlfilterdomain "github.com/gonutch/crawler/plugins/urlfilter-domain"
	urlfilterdomaindenylist "github.com/gonutch/crawler/plugins/urlfilter-domaindenylist"
	urlfilterfast "github.com/gonutch/crawler/plugins/urlfilter-fast"
	urlfilterignoreexempt "github.com/gonutch/crawler/plugins/urlfilter-ignoreexempt"
	urlfilterprefix "github.com/gonutch/crawler/plugins/urlfilter-prefix"
	urlfilterregex "github.com/gonutch/crawler/plugins/urlfilter-regex"
	urlfiltersuffix "github.com/gonutch/crawler/plugins/urlfilter-suffix"
	urlfiltervalidator "github.com/gonutch/crawler/plugins/urlfilter-validator"
	"github.com/gonutch/crawler/plugins/urlmeta"
	urlnormalizerajax "github.com/gonutch/crawler/plugins/urlnormalizer-ajax"
	urlnormalizerbasic "github.com/gonutch/crawler/plugins/urlnormalizer-basic"
	urlnormalizerhost "github.com/gonutch/crawler/plugins/urlnormalizer-host"
	urlnormalizerpass "github.com/gonutch/crawler/plugins/urlnormalizer-pass"
	urlnormalizerprotocol "github.com/gonutch/crawler/plugins/urlnormalizer-protocol"
	urlnormalizerquerystring "github.com/gonutch/crawler/plugins/urlnormalizer-querystring"
	urlnormalizerregex "github.com/gonutch/crawler/plugins/urlnormalizer-regex"
	urlnormalizerslash "github.com/gonutch/crawler/plugins/urlnormalizer-slash"
	"github.com/gonutch/crawler/sdk"
)

// Builtins returns the built-in plugins.
func Builtins() []sdk.Plugin {
	return []sdk.Plugin{
		creativecommons.Plugin(),
		exchangejexl.Plugin(),
		feed.Plugin(),
		headings.Plugin(),
		indexanchor.Plugin(), indexarbitrary.Plugin(), indexbasic.Plugin(), indexcontent.Plugin(), indexdedupnear.Plugin(),
		indexgeoip.Plugin(), indexjexlfilter.Plugin(), indexlinks.Plugin(), indexmetadata.Plugin(), indexmore.Plugin(),
		indexreplace.Plugin(), indexstatic.Plugin(),
		indexerbleve.Plugin(), indexercsv.Plugin(), indexerdummy.Plugin(), indexerjsonl.Plugin(), indexerkafka.Plugin(), indexerparquet.Plugin(), indexerrabbit.Plugin(), indexerwebhook.Plugin(),
		indexerelastic.Plugin(),
		indexersolr.Plugin(),
		languageidentifier.Plugin(),
		microformatsreltag.Plugin(),
		mimetypefilter.Plugin(),
		parseext.Plugin(), parsehtml.Plugin(), parseimage.Plugin(), parsejs.Plugin(), parsemetatags.Plugin(), parseoffice.Plugin(), parsepdf.Plugin(), parsesitemap.Plugin(), parsetext.Plugin(), parsetika.Plugin(), parsexml.Plugin(), parsezip.Plugin(),
		parsefiltercss.Plugin(), parsefilterdebug.Plugin(), parsefilternaivebayes.Plugin(), parsefilterregex.Plugin(), parsefilterstructured.Plugin(),
		protocolbrowser.Plugin(), protocolfile.Plugin(), protocolftp.Plugin(), protocolhttp.Plugin(), protocols3.Plugin(),
		publishjsonl.Plugin(), publishnats.Plugin(), publishrabbitmq.Plugin(),
		scoringdepth.Plugin(), scoringlink.Plugin(), scoringmetadata.Plugin(), scoringopic.Plugin(), scoringorphan.Plugin(),
		scoringsimilarity.Plugin(),
		subcollection.Plugin(),
		tld.Plugin(),
		urlfilterautomaton.Plugin(), urlfilterdomain.Plugin(), urlfilterdomaindenylist.Plugin(), urlfilterfast.Plugin(),
		urlfilterignoreexempt.Plugin(), urlfilterprefix.Plugin(), urlfilterregex.Plugin(), urlfiltersuffix.Plugin(),
		urlfiltervalidator.Plugin(),
		urlmeta.Plugin(),
		urlnormalizerajax.Plugin(), urlnormalizerbasic.Plugin(), urlnormalizerhost.Plugin(), urlnormalizerpass.Plugin(),
		urlnormalizerprotocol.Plugin(), urlnormalizerquerystring.Plugin(), urlnormalizerregex.Plugin(), urlnormalizerslash.Plugin(),
	}
}
