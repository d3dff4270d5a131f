id          = "parse-zip"
name        = "Archives"
version     = "1.0.0"
api         = 1
on_demand   = true
concurrency = 2 # each call may unpack max_size

provide "parser" {
  extension = "ZipParser"
  mime_types = [
    "application/zip", "application/x-zip", "application/x-zip-compressed", "application/gzip", "application/x-gzip", "application/x-tar",
    "application/x-gtar", "application/x-compressed-tar", "application/x-bzip2", "application/x-bzip", "application/zstd", "application/x-zstd",
  ]
}

setting "max_entries" {
  type    = "int"
  default = 1000
  min     = "1"
  meaning = "Files taken from one archive at most."
}

setting "max_size" {
  type    = "size"
  default = "16MiB"
  min     = "1KiB"
  max     = "48MiB"
  meaning = "Bytes of all files of one archive, unpacked, at most; files that don't fit are left out. It must stay below plugin.max_message."
}

setting "max_file" {
  type    = "size"
  default = "8MiB"
  min     = "1KiB"
  meaning = "Bytes of one file at most; what is over it is cut off."
}

setting "max_ratio" {
  type    = "int"
  default = 200
  min     = "2"
  meaning = "An archive with a file of more than 1 MiB that unpacks to more than so many times its packed size is refused as a bomb."
}

setting "skip" {
  type    = "list"
  default = ["__MACOSX/*", ".git/*", "*.exe", "*.dll", "*.so", "*.class", "*.o", "*.pyc"]
  meaning = "Names of files that are left out, as patterns with * and ?; a pattern is compared with the whole name and with its last part."
}
