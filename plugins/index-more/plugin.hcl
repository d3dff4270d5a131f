id      = "index-more"
name    = "More index fields"
version = "1.0.0"
api     = 1

provide "indexingfilter" {
  extension = "MoreIndexingFilter"
}

setting "index_mime_type_parts" {
  type    = "bool"
  default = true
  meaning = "Add the two parts of the MIME type to the field type, too."
  nutch   = "moreIndexingFilter.indexMimeTypeParts"
}

setting "mime_types" {
  type    = "map"
  default = {}
  meaning = "Names for MIME types, such as { \"text/html\" = \"web page\" }; a type that is not listed keeps its own."
  nutch   = "moreIndexingFilter.mapMimeTypes"
}

setting "mime_types_field" {
  type    = "string"
  default = ""
  meaning = "Field for the names of mime_types; empty: they take the place of the type in the field type."
  nutch   = "moreIndexingFilter.mapMimeTypes.field"
}
