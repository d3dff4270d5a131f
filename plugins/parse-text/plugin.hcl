id      = "parse-text"
name    = "Plain text parser"
version = "1.0.0"
api     = 1

provide "parser" {
  extension = "TextParser"
  mime_types = [
    "text/plain", "text/markdown", "text/x-markdown", "text/x-rst", "text/csv", "text/tab-separated-values", "text/x-log",
    "text/x-diff", "text/x-patch", "text/troff", "text/x-tex", "text/x-bibtex", "text/calendar", "text/vcard", "text/x-vcard", "text/vtt",
    "application/json", "text/json", "text/x-json", "application/ld+json", "application/geo+json", "application/manifest+json",
    "application/vnd.api+json", "application/hal+json", "application/activity+json", "application/problem+json", "application/schema+json",
    "application/jsonl", "application/x-jsonlines", "application/x-ndjson", "application/json-seq",
    "application/yaml", "application/x-yaml", "text/yaml", "text/x-yaml", "text/vnd.yaml", "application/toml", "text/x-toml", "text/x-ini",
    "application/csv", "application/x-csv", "application/markdown", "application/sql", "text/x-sql", "application/x-tex", "application/x-latex",
    "application/x-sh", "application/x-shellscript", "text/x-sh", "text/x-shellscript", "application/x-perl", "text/x-perl", "text/x-python", "text/x-php", "text/x-tcl", "application/x-subrip", "text/x-srt", "application/vnd.cyclonedx+json",
    "text/x-script.python", "text/x-ruby", "text/x-lua", "text/x-c", "text/x-c++", "text/x-csrc", "text/x-chdr", "text/x-c++src", "text/x-c++hdr",
    "text/x-java", "text/x-java-source", "text/x-go", "text/x-rust", "text/x-asm", "text/x-makefile", "text/x-haskell", "text/x-scala",
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
  meaning = "Characters of the title, which is the first line with a letter or digit in it, at most; 0 means no title."
}
