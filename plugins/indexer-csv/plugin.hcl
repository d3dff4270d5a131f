id      = "indexer-csv"
name    = "Documents as CSV files"
version = "1.0.0"
api     = 1

provide "indexwriter" {
  extension = "CSVIndexWriter"
}

setting "path" {
  type    = "string"
  default = ""
  meaning = "Folder for the files. Empty: a folder of the writer's name in the crawl directory."
}

setting "fields" {
  type    = "list"
  default = ["id", "title", "content"]
  meaning = "The columns, in order."
}

setting "charset" {
  type    = "string"
  default = "UTF-8"
  meaning = "Encoding of the files; what it can't say becomes \"?\"."
}

setting "separator" {
  type    = "string"
  default = ","
  meaning = "Between two columns."
}

setting "valuesep" {
  type    = "string"
  default = "|"
  meaning = "Between two values of a field."
}

setting "quotechar" {
  type    = "string"
  default = "\""
  meaning = "Around a column that has separators, quotes or line breaks in it. Empty: nothing is quoted, and line breaks and separators become blanks."
}

setting "escapechar" {
  type    = "string"
  default = "\""
  meaning = "Before a quote within quotes."
}

setting "maxfieldlength" {
  type    = "int"
  default = 4096
  min     = "0"
  off     = true
  meaning = "Characters of a value at most; longer ones are cut."
}

setting "maxfieldvalues" {
  type    = "int"
  default = 12
  min     = "0"
  off     = true
  meaning = "Values of a field at most."
}

setting "header" {
  type    = "bool"
  default = true
  meaning = "Begin each file with the names of the columns."
}

setting "max_file_size" {
  type    = "size"
  default = "256MiB"
  min     = "64KiB"
  meaning = "A file is ended once it has so many bytes. A commit ends it, too."
}
