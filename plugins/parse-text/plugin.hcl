id      = "parse-text"
name    = "Plain text parser"
version = "1.0.0"
api     = 1

provide "parser" {
  extension = "TextParser"
  mime_types = [
    "text/plain", "text/markdown", "text/x-markdown", "text/x-rst", "text/csv", "text/tab-separated-values", "text/x-log",
    "text/x-diff", "text/x-patch", "text/troff", "text/x-tex", "text/x-bibtex", "text/calendar", "text/vcard", "text/x-vcard",
  ]
}

sections = ["parser"]

setting "extract_outlinks" {
  type    = "bool"
  default = true
  meaning = "URLs in the text are links."
}

setting "outlinks_max" {
  type    = "int"
  default = 10000
  meaning = "Links taken from one document at most; 0 means no limit."
}

setting "title_length" {
  type    = "int"
  default = 80
  meaning = "Characters of the title, which is the first line that isn't empty, at most; 0 means no title."
}
