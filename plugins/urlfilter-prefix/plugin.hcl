id      = "urlfilter-prefix"
name    = "Prefix URL filter"
version = "1.0.0"
api     = 1

provide "urlfilter" {
  extension = "PrefixURLFilter"
}

setting "file" {
  type    = "file"
  default = ""
  meaning = "File with one prefix per line; URLs that start with one of them are accepted, all others rejected. Empty: http:// and https://."
  nutch   = "urlfilter.prefix.file"
}

setting "rules" {
  type    = "list"
  default = []
  meaning = "Prefixes given here instead of in a file; they win over file."
  nutch   = "urlfilter.prefix.rules"
}
