package config

import (
	"fmt"
	"strings"
)

// otherwise says how this program does what a Nutch property without a setting
// was for: "plugin ID" when the property belongs to a plugin, else a clause. A
// "*" at the end stands for any rest.
func otherwise() map[string]string {
	return map[string]string{
		"crawldb.url.filters":                  `use "crawler db refilter" after a change of rules`,
		"crawldb.url.normalizers":              `use "crawler db refilter" after a change of rules`,
		"crawldb.inject.filter.normalize.all":  `use "crawler db refilter"`,
		"crawl.datum.processor.*":              "host statistics are kept up to date with each page; there is no job to configure",
		"mime.types.file":                      "types are decided by built-in rules, not by a file of Tika's",
		"http.auth.verbose":                    `what happens at a login is logged with log.level = "debug"`,
		"libselenium.*":                        "plugin protocol-browser",
		"nutch.conf.uuid":                      "it is made by Nutch for each of its runs",
		"crawl.gen.delay":                      "a URL is reserved until its segment is fetched or released; crawler run goes on with unfinished segments",
		"http.robots.503.defer.visits.retries": "URLs of a host that is held back are released at once and come again when the hold ends",
		"db.preserve.backup":                   "the store is changed in place by atomic commits, so there is no old copy",
		"db.update.max.inlinks":                "scores are summed over all inlinks; linkdb.max_inlinks bounds what is stored",
		"exchanges.exchanges.file":             `write exchange "name" { ... } blocks instead`,
		"indexer.indexwriters.file":            `write index_writer "name" { ... } blocks instead`,
		"fetcher.bandwidth.*":                  "fetcher.bandwidth_target starts requests as the average allows; threads stay as they are",
		"fetcher.maxNum.threads":               "use fetcher.threads_fetch",
		"fetcher.follow.outlinks.*":            "rounds overlap, so links are fetched as soon as their host allows; see cycle.overlap",
		"fetcher.parse":                        "pages are always parsed while others are fetched",
		"fetcher.signature":                    "signatures are always made when a page is parsed",
		"fetcher.queue.depth.multiplier":       "use fetcher.queue_urls",
		"fetcher.redirect.dedupcache.*":        "a redirect to a page that was just fetched is always seen",
		"fetcher.threads.start.delay":          "requests are started without a delay between threads",
		"fetcher.threads.timeout.divisor":      "a request that takes longer than http.time_limit is ended",
		"file.content.ignored":                 "use fetcher.store_content",
		"generate.hostdb":                      "the HostDB is part of the crawl directory",
		"generate.update.crawldb":              "URLs are always reserved for their segment until they are fetched or released",
		"fetcher.filter.urls":                  `URLs are filtered where they first appear; use "crawler db refilter" after a change of rules`,
		"fetcher.normalize.urls":               `URLs are normalized where they first appear; use "crawler db refilter" after a change of rules`,
		"parse.filter.urls":                    "links are always filtered",
		"parse.normalize.urls":                 "links are always normalized",
		"segment.reader.content.recode":        "readseg prints the text of a page as UTF-8",
		"hostdb.*":                             "see section hostdb and the options of readhostdb",
		"http.accept.charset":                  "the header Accept-Charset is not sent: no browser does",
		"http.connection.pool.okhttp":          `use idle_connections in plugin "protocol-http" { ... }`,
		"http.log.exceptions.suppress.stack":   "failures are logged in one line",
		"http.partial.truncated":               "what was read before a failure is kept by the plugin's own rule",
		"http.proxy.realm":                     `plugin protocol-httpclient`,
		"http.useHttp11":                       "HTTP/1.1 is always spoken; see http.http2",
		"io.serializations":                    "Hadoop is not used",
		"mapreduce.*":                          "Hadoop is not used",
		"hadoop.*":                             "Hadoop is not used",
		"parse.plugin.file":                    `write parser { mime_types = { "text/html" = "parse-html" } }`,
		"parser.html.*":                        "plugin parse-html",
		"parser.html.impl":                     "there is one HTML parser, which parses as browsers do",
		"plugin.auto-activation":               "a plugin that is required must be chosen; the message says which",
		"nutch.jexl.disable.sandbox":           "expressions can't leave their sandbox",
		"link.analyze.normalize.score":         "plugin scoring-link",
		"link.analyze.iteration":               "LinkRank needs no settings between its iterations",
		"link.analyze.rank.one":                "LinkRank needs no settings between its iterations",
		"link.loops.*":                         "Nutch itself gave up looking for loops; a link of a page to itself never counts",
		"webgraph.url.*":                       "links are normalized and filtered when a page is parsed",
		"urlnormalizer.basic.host.idna2008":    "host names are always treated by IDNA 2008 as browsers do",
		"urlnormalizer.order.*":                "write urlnormalizer { order_by_scope = { outlink = \"...\" } }",
		"cosine.goldstandard.file":             "plugin scoring-similarity",
		"scoring.similarity.*":                 "plugin scoring-similarity",
		"scoring.depth.*":                      "plugin scoring-depth",
		"scoring.orphan.*":                     "plugin scoring-orphan",
		"scoring.db.md":                        "plugin scoring-metadata",
		"scoring.content.md":                   "plugin scoring-metadata",
		"scoring.parse.md":                     "plugin scoring-metadata",
		"db.ignore.external.exemptions.file":   "plugin urlfilter-ignoreexempt",
		"ftp.*":                                "plugin protocol-ftp",
		"headings":                             "plugin headings",
		"headings.multivalued":                 "plugin headings",
		"htmlunit.*":                           "plugin protocol-browser",
		"page.load.delay":                      "plugin protocol-browser",
		"take.screenshot":                      "plugin protocol-browser",
		"screenshot.location":                  "plugin protocol-browser",
		"selenium.*":                           "plugin protocol-browser",
		"interactiveselenium.handlers":         "plugin protocol-browser, setting steps",
		"webdriver.chrome.driver":              "plugin protocol-browser",
		"index.arbitrary.*":                    "plugin index-arbitrary",
		"index.content.md":                     "plugin index-metadata",
		"index.db.md":                          "plugin index-metadata",
		"index.parse.md":                       "plugin index-metadata",
		"index.metadata.*":                     "plugin index-metadata",
		"index.geoip.*":                        "plugin index-geoip",
		"index.jexl.filter":                    "plugin index-jexl-filter",
		"index.links.*":                        "plugin index-links",
		"index.replace.regexp":                 "plugin index-replace",
		"index.static*":                        "plugin index-static",
		"lang.*":                               "plugin language-identifier",
		"metatags.names":                       "plugin parse-metatags",
		"mimetype.filter.file":                 "plugin mimetype-filter",
		"parsefilter.naivebayes.*":             "plugin parsefilter-naivebayes",
		"parsefilter.regex.*":                  "plugin parsefilter-regex",
		"rabbitmq.*":                           "plugin publish-rabbitmq",
		"subcollection.*":                      "plugin subcollection",
		"subcollections.config":                "plugin subcollection",
		"creativecommons.exclude.unlicensed":   "plugin creativecommons",
		"tika.*":                               "plugin parse-tika",
		"urlfilter.automaton.*":                "plugin urlfilter-automaton",
		"urlfilter.domain.*":                   "plugin urlfilter-domain",
		"urlfilter.domaindenylist.*":           "plugin urlfilter-domaindenylist",
		"urlfilter.fast.*":                     "plugin urlfilter-fast",
		"urlfilter.prefix.*":                   "plugin urlfilter-prefix",
		"urlfilter.suffix.*":                   "plugin urlfilter-suffix",
		"urlfilter.regex.*":                    "plugin urlfilter-regex",
		"urlmeta.tags":                         "plugin urlmeta",
		"urlnormalizer.protocols.*":            "plugin urlnormalizer-protocol",
		"urlnormalizer.hosts.*":                "plugin urlnormalizer-host",
		"urlnormalizer.slashes.*":              "plugin urlnormalizer-slash",
		"urlnormalizer.regex.*":                "plugin urlnormalizer-regex",
		"urlnormalizer.basic.*":                "plugin urlnormalizer-basic",
		"anchorIndexingFilter.deduplicate":     "plugin index-anchor",
		"moreIndexingFilter.*":                 "plugin index-more",
	}
}

// nutchInstead explains a Nutch property, or a setting named by the general
// rule after one, that has no setting here. Text is "" for what Nutch doesn't
// know either; plugin is the plugin it belongs to, if any; sure tells that the
// property itself is known, not only others that start like it.
func nutchInstead(key string) (text, plugin string, sure bool) {
	section, rest, _ := strings.Cut(key, ".")
	byRule := section + "." + strings.NewReplacer(".", "_", "-", "_").Replace(rest)
	best := ""
	for property, t := range otherwise() {
		stem, wild := strings.CutSuffix(property, "*")
		matches := key == property || ruleName(property) == byRule
		if wild {
			matches = strings.HasPrefix(key, stem) || strings.HasPrefix(byRule, ruleName(stem))
		}
		if matches && len(stem) > len(best) {
			best, text, sure = stem, t, !wild
		}
	}
	key = strings.TrimSuffix(key, ".")
	if id, ok := strings.CutPrefix(text, "plugin "); ok {
		return fmt.Sprintf("Nutch's %s belongs to plugin %s: write it into plugin %q { ... }", key, id, id), id, sure
	}
	if text != "" {
		return fmt.Sprintf("Nutch's %s has no setting here: %s", key, text), "", sure
	}
	return "", "", false
}
