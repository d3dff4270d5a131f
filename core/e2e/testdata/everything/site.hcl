# Every plugin between fetch and index at work on one small web (the folder www).
http {
  agent_name = "testbot"
  agent_url  = "http://example.org/bot"
}
fetcher { server_delay = "0s" }
store { low_water = "0" }
cycle { overlap = false } # scores are those of whole rounds
db {
  ignore_external_links      = true
  ignore_external_links_mode = "byDomain"
}
linkdb { ignore_internal_links = false }

plugin {
  add = [
    # URL filters; regex and validator are on by default
    "urlfilter-automaton", "urlfilter-domain", "urlfilter-domaindenylist", "urlfilter-fast", "urlfilter-ignoreexempt",
    "urlfilter-prefix", "urlfilter-suffix",
    # URL normalizers; basic, regex and pass are on by default
    "urlnormalizer-ajax", "urlnormalizer-host", "urlnormalizer-protocol", "urlnormalizer-querystring", "urlnormalizer-slash",
    # scoring; opic is on by default
    "scoring-depth", "scoring-link", "scoring-metadata", "scoring-orphan", "scoring-similarity", "urlmeta",
    # parse filters
    "creativecommons", "headings", "language-identifier", "microformats-reltag", "parse-js", "parse-metatags", "parsefilter-css",
    "parsefilter-debug", "parsefilter-naivebayes", "parsefilter-regex", "parsefilter-structured",
    # indexing filters; basic, anchor, more and feed are on by default
    "index-arbitrary", "index-content", "index-dedup-near", "index-geoip", "index-jexl-filter", "index-links", "index-metadata",
    "index-replace", "index-static", "mimetype-filter", "subcollection", "tld",
    "indexer-jsonl",
  ]
}

plugin "urlfilter-automaton" { rules = ["-.*/page<1-99>", "+@"] }
plugin "urlfilter-domain" { rules = ["example.org", "co.uk", "info", "203.0.113.7"] }
plugin "urlfilter-domaindenylist" { rules = ["ads.example.org"] }
plugin "urlfilter-fast" { rules = ["Domain example.org", "  DenyPathQuery /list\\?.*sort="] }
plugin "urlfilter-ignoreexempt" { rules = ["+^http://[^/]+\\.example\\.(co\\.uk|net)/"] }
plugin "urlfilter-prefix" { rules = ["http://"] }
plugin "urlfilter-regex" { file = "regex-urlfilter.txt" }
plugin "urlfilter-suffix" { rules = ["+P", ".zip"] }
plugin "urlfilter-validator" { max_length = "200B" }

urlnormalizer { order = ["urlnormalizer-ajax", "urlnormalizer-basic", "urlnormalizer-regex"] }
plugin "urlnormalizer-host" { rules = ["m.example.org www.example.org"] }
plugin "urlnormalizer-protocol" { rules = ["old.example.org http"] }
plugin "urlnormalizer-regex" { rules = ["s/;jsessionid=[0-9a-f]+//"] }
plugin "urlnormalizer-slash" { rules = ["docs.example.org +"] }

plugin "scoring-depth" { max = 2 }
plugin "scoring-metadata" { parse_md = ["metatag.topic"] }
plugin "scoring-similarity" {
  goldstandard = "tea leaves water cup"
  stopwords    = ["the", "a", "of"]
}
plugin "urlmeta" { tags = ["client"] }

plugin "headings" {
  headings    = ["h1", "h2"]
  multivalued = true
}
plugin "parse-metatags" { names = ["description", "keywords", "topic"] }
plugin "parsefilter-css" {
  fields      = { product_price = ".price > b", color = ".colors li", photo = "img.main::attr(src)" }
  multivalued = ["color"]
  numbers     = ["product_price"]
  urls        = ["photo"]
}
plugin "parsefilter-debug" { max_length = "64B" }
plugin "parsefilter-naivebayes" {
  training = ["1\ttea leaves and hot water in a cup", "1\tgreen tea and black tea", "0\tstocks fell as banks sold bonds", "0\tthe bank raised rates on bonds"]
  words    = ["tea"]
}
plugin "parsefilter-regex" { rules = ["hasprice html class=\"price\"", "brewing text (?i)hot water"] }

plugin "index-arbitrary" { command = ["python3", "words.py"] }
plugin "index-content" {
  min_length    = 100
  excerpt_field = "excerpt"
}
plugin "index-dedup-near" { source_field = "main_content" }
plugin "index-geoip" { db_city = "places.mmdb" }
plugin "index-jexl-filter" { filter = "size(title) > 3 && !(url =~ '.*/draft.*')" }
plugin "index-metadata" {
  db_md              = ["metatag.topic"]
  parse_md           = ["metatag.description", "metatag.keywords", "h1", "h2", "naivebayes.relevant", "hasprice", "brewing", "debug.tree"]
  content_md         = ["X-Department"]
  separator          = ","
  multivalued_fields = ["metatag.keywords"]
}
plugin "index-more" { mime_types = { "text/html" = "web page" } }
plugin "index-replace" {
  regexp = <<-EOT
    title=/ \| Tea House$//
    urlmatch=/tea
    title:kind=/^(\w+) tea.*/$1/2
  EOT
}
plugin "index-static" { static = "source:everything,edition:first second" }
plugin "mimetype-filter" { rules = ["-", "text/html", "application/xhtml+xml", "application/rss+xml"] }
plugin "subcollection" { config = "subcollections.xml" }

index_writer "log" { plugin = "indexer-jsonl" }
