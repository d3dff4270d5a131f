id      = "subcollection"
name    = "Subcollections"
version = "1.0.0"
api     = 1

provide "indexingfilter" {
  extension = "SubcollectionIndexingFilter"
}

setting "config" {
  type    = "file"
  default = ""
  meaning = "Collections in Nutch's subcollections.xml."
  nutch   = "subcollections.config"
}

setting "whitelist" {
  type    = "map"
  default = {}
  meaning = "Names of collections and what URLs in them hold: pieces of text separated by white space. They come beside those of the file."
}

setting "blacklist" {
  type    = "map"
  default = {}
  meaning = "Names of collections and what URLs in them must not hold."
}

setting "default_fieldname" {
  type    = "string"
  default = "subcollection"
  meaning = "Field for the names of collections that have no key of their own."
  nutch   = "subcollection.default.fieldname"
}

setting "case_insensitive" {
  type    = "bool"
  default = false
  meaning = "Upper and lower case are the same in URLs and lists."
  nutch   = "subcollection.case.insensitive"
}

setting "metadata_source" {
  type    = "string"
  default = "subcollection"
  meaning = "Key of the CrawlDB's metadata whose values, where a record has them, stand in place of the collections found."
  nutch   = "subcollection.metadata.source"
}
