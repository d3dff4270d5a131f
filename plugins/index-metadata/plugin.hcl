id      = "index-metadata"
name    = "Fields from metadata"
version = "1.0.0"
api     = 1

provide "indexingfilter" {
  extension = "MetadataIndexer"
}

setting "db_md" {
  type    = "list"
  default = []
  meaning = "Keys of the CrawlDB's metadata that become fields; a \"*\" at the end of a key stands for anything."
  nutch   = "index.db.md"
}

setting "parse_md" {
  type    = "list"
  default = ["metatag.description", "metatag.keywords"]
  meaning = "Keys of the parse metadata that become fields."
  nutch   = "index.parse.md"
}

setting "content_md" {
  type    = "list"
  default = []
  meaning = "Keys of the content metadata, among them response headers, that become fields."
  nutch   = "index.content.md"
}

setting "separator" {
  type    = "string"
  default = ""
  meaning = "Text that separates several values in one; empty: values are not split."
  nutch   = "index.metadata.separator"
}

setting "multivalued_fields" {
  type    = "list"
  default = []
  meaning = "Fields whose values are split; empty: all."
  nutch   = "index.metadata.multivalued.fields"
}

setting "max_values" {
  type    = "int"
  default = 1000
  min     = "1"
  meaning = "Values that one key may give a document; the rest is left out."
}
