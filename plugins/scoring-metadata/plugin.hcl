id      = "scoring-metadata"
name    = "Metadata for outlinks"
version = "1.0.0"
api     = 1

provide "scoring" {
  extension = "scoring-metadata"
}

setting "db_md" {
  type    = "list"
  default = []
  meaning = "Keys of a page's CrawlDB metadata that are handed to its content."
  nutch   = "scoring.db.md"
}

setting "content_md" {
  type    = "list"
  default = []
  meaning = "Keys of content metadata that are handed to the parse; of these, those in db_md have a value."
  nutch   = "scoring.content.md"
}

setting "parse_md" {
  type    = "list"
  default = []
  meaning = "Keys of parse metadata that pages found by links get into their CrawlDB metadata."
  nutch   = "scoring.parse.md"
}
