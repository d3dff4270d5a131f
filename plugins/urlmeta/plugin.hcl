id      = "urlmeta"
name    = "Seed metadata for outlinks and documents"
version = "1.0.0"
api     = 1

provide "scoring" {
  extension = "scoring-urlmeta"
}

provide "indexingfilter" {
  extension = "indexer-urlmeta"
}

setting "tags" {
  type    = "list"
  default = []
  meaning = "Keys of seed metadata that pages found by links inherit, and that documents get as fields."
  nutch   = "urlmeta.tags"
}
