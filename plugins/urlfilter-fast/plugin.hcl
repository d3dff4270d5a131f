id      = "urlfilter-fast"
name    = "Fast URL filter by host and domain"
version = "1.0.0"
api     = 1

provide "urlfilter" {
  extension = "FastURLFilter"
}

setting "file" {
  type    = "file"
  default = ""
  meaning = "Rule file in Nutch's format: Host and Domain blocks with DenyPath and DenyPathQuery rules. Empty: no rules."
  nutch   = "urlfilter.fast.file"
}

setting "rules" {
  type    = "list"
  default = []
  meaning = "Lines of the file format given here instead of in a file; they win over file."
}

setting "url_max_length" {
  type    = "size"
  default = "-1"
  off     = true
  meaning = "Longest URL accepted, in bytes; \"-1\" for no limit."
  nutch   = "urlfilter.fast.url.max.length (bytes)"
}

setting "url_path_max_length" {
  type    = "size"
  default = "-1"
  off     = true
  meaning = "Longest path of a URL accepted, in bytes; \"-1\" for no limit."
  nutch   = "urlfilter.fast.url.path.max.length (bytes)"
}

setting "url_query_max_length" {
  type    = "size"
  default = "-1"
  off     = true
  meaning = "Longest query of a URL accepted, without the ?, in bytes; \"-1\" for no limit."
  nutch   = "urlfilter.fast.url.query.max.length (bytes)"
}

setting "time_limit" {
  type    = "duration"
  default = "100ms"
  meaning = "Time one match of a back-tracking rule may take. A URL on which a rule runs into it is rejected."
}
