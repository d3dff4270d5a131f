id      = "urlfilter-suffix"
name    = "Suffix URL filter"
version = "1.0.0"
api     = 1

provide "urlfilter" {
  extension = "SuffixURLFilter"
}

setting "file" {
  type    = "file"
  default = ""
  meaning = "File of suffixes in Nutch's format: a line with + rejects URLs with a listed suffix, a line with - accepts only these; P on such a line compares the path only, I ignores case. Empty: the list built into the plugin, which rejects files that hold no text."
  nutch   = "urlfilter.suffix.file"
}

setting "rules" {
  type    = "list"
  default = []
  meaning = "Lines of the file format given here instead of in a file; they win over file."
  nutch   = "urlfilter.suffix.rules"
}
