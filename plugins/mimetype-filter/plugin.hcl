id      = "mimetype-filter"
name    = "MIME type filter"
version = "1.0.0"
api     = 1

provide "indexingfilter" {
  extension = "MimeTypeIndexingFilter"
}

setting "file" {
  type    = "file"
  default = ""
  meaning = "Rule file in Nutch's format: a line with + (index all but the types below) or - (index only the types below), then one beginning of a MIME type a line. Without rules every document is indexed."
  nutch   = "mimetype.filter.file"
}

setting "rules" {
  type    = "list"
  default = []
  meaning = "The lines of the file given here; they win over file."
}
