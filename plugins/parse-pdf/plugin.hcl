id      = "parse-pdf"
name    = "PDF parser"
version = "1.0.0"
api     = 1

memory_limit = "2GiB" # the engine's code, and up to memory for each document under way

provide "parser" {
  extension  = "PdfParser"
  mime_types = ["application/pdf", "application/x-pdf", "application/acrobat", "application/vnd.pdf", "text/pdf", "text/x-pdf"]
}

sections = ["parser"]

setting "time_limit" {
  type    = "duration"
  default = "20s"
  min     = "100ms"
  meaning = "How long one document may take; what was read by then counts. Should be below parser.timeout."
}

setting "memory" {
  type    = "size"
  default = "256MiB"
  min     = "32MiB"
  max     = "2GiB"
  meaning = "Memory one document may take, its own bytes included. Several are parsed at the same time; their sum must stay well below the manifest's memory_limit."
}

setting "max_pages" {
  type    = "int"
  default = 2000
  min     = "0"
  meaning = "Pages read of one document at most; 0 means no limit."
}

setting "passwords" {
  type    = "list"
  default = []
  secret  = true
  meaning = "Passwords tried on encrypted documents that can't be opened without one."
}

setting "title_from_text" {
  type    = "bool"
  default = true
  meaning = "A document without a title is named by the first line of its text."
}

setting "text_outlinks" {
  type    = "bool"
  default = true
  meaning = "URLs written in the text are links, besides those marked as links."
}

setting "outlinks_max" {
  type    = "int"
  default = 10000
  min     = "0"
  meaning = "Links taken from one document at most; 0 means no limit."
}

setting "outlinks_max_length" {
  type    = "size"
  default = "8KiB"
  min     = "0"
  meaning = "Length of a link as written at most; longer ones are dropped. 0 means no limit."
}

setting "keep_compiled" {
  type    = "bool"
  default = true
  meaning = "Keep the engine's machine code (22 MB) in the crawl directory, so that later starts need not compile it (some seconds)."
}
