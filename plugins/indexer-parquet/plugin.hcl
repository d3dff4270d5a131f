id      = "indexer-parquet"
name    = "Documents as Parquet files"
version = "1.0.0"
api     = 1

provide "indexwriter" {
  extension = "ParquetIndexWriter"
}

setting "path" {
  type    = "string"
  default = ""
  meaning = "Folder for the files. Empty: a folder of the writer's name in the crawl directory."
}

setting "fields" {
  type    = "list"
  default = ["url", "title", "content", "host", "type[]", "anchor[]", "lang", "tstamp", "digest"]
  meaning = "The columns besides op, id and boost: a name is a text (several values are joined by line feeds), a name with [] a list of texts."
}

setting "compression" {
  type    = "string"
  default = "zstd"
  one_of  = ["none", "gzip", "snappy", "zstd"]
  meaning = "Compression of the columns."
}

setting "row_group" {
  type    = "int"
  default = 5000
  min     = "1"
  meaning = "Rows that are kept in memory and written together."
}

setting "max_file_size" {
  type    = "size"
  default = "256MiB"
  min     = "64KiB"
  meaning = "A file is ended once it has so many bytes. A commit ends it, too."
}
