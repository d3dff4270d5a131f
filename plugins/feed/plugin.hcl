id        = "feed"
name      = "RSS, Atom and JSON feeds"
version   = "1.0.0"
api       = 1
on_demand = true

provide "parser" {
  extension = "FeedParser"
  mime_types = [
    "application/rss+xml", "application/atom+xml", "application/rdf+xml", "application/feed+json", "application/x-rss+xml",
    "text/rss+xml", "text/atom+xml", "text/rdf+xml", "text/rss", "application/rss", "application/xml", "text/xml", "application/json",
  ]
}

provide "indexingfilter" {
  extension  = "FeedIndexingFilter"
  parse_meta = ["feed", "feed.title", "author", "tag", "published", "updated"]
}

sections = ["parser"]

setting "entries" {
  type    = "string"
  default = "documents"
  one_of  = ["documents", "links"]
  meaning = "What becomes of entries: each is a document under its own link, until the page behind the link is fetched, or only the link is followed. Entries without a link are documents under the feed's URL, \"#\" and their id."
}

setting "max_entries" {
  type    = "int"
  default = 1000
  min     = "0"
  meaning = "Entries taken from one feed at most; 0 means no limit."
}

setting "content_links" {
  type    = "bool"
  default = true
  meaning = "Links in the entries' texts are links of the feed."
}

setting "enclosures" {
  type    = "bool"
  default = false
  meaning = "Files attached to entries, such as those of podcasts, are links of the feed."
}

setting "outlinks_max" {
  type    = "int"
  default = 10000
  min     = "0"
  meaning = "Links taken from one feed at most; 0 means no limit."
}
