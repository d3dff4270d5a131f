id      = "indexer-jsonl"
name    = "Documents as lines of JSON"
version = "1.0.0"
api     = 1

provide "indexwriter" {
  extension = "JSONLIndexWriter"
}

setting "path" {
  type    = "string"
  default = ""
  meaning = "Folder for the files. Empty: a folder of the writer's name in the crawl directory."
}

setting "max_file_size" {
  type    = "size"
  default = "256MiB"
  min     = "64KiB"
  meaning = "A file is ended once it has so many bytes, before compression. A commit ends it, too."
}

setting "gzip" {
  type    = "bool"
  default = false
  meaning = "Compress the files with gzip."
}
