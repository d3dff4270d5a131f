id        = "parse-sitemap"
name      = "Sitemaps"
version   = "1.0.0"
api       = 1
on_demand = true

provide "parser" {
  extension  = "SitemapParser"
  mime_types = ["application/xml", "text/xml", "application/x-sitemap+xml", "application/gzip", "application/x-gzip"]
}

sections = ["parser"]

setting "max_urls" {
  type    = "int"
  default = 50000
  min     = "1"
  meaning = "URLs taken from one sitemap at most; the protocol allows 50,000."
}

setting "max_size" {
  type    = "size"
  default = "50MiB"
  min     = "1KiB"
  meaning = "Size of one sitemap at most, unpacked; what is over it is not read. The protocol allows 50 MB."
}

setting "strict" {
  type    = "bool"
  default = false
  meaning = "Only URLs under the sitemap's own folder are taken, as the protocol demands of sitemaps that no robots.txt names (Nutch's sitemap.strict.parsing)."
}

setting "alternates" {
  type    = "bool"
  default = true
  meaning = "Pages in other languages that a sitemap names for a page (xhtml:link hreflang) are links, too."
}

setting "index" {
  type    = "bool"
  default = false
  meaning = "Sitemaps are indexed as documents; else they are marked noindex."
}
