id      = "urlfilter-domain"
name    = "Domain URL filter"
version = "1.0.0"
api     = 1

provide "urlfilter" {
  extension = "DomainURLFilter"
}

setting "file" {
  type    = "file"
  default = ""
  meaning = "File with one public suffix, registered domain or host per line; only URLs whose suffix, domain or host is listed are accepted. Empty, or without entries: every URL is accepted."
  nutch   = "urlfilter.domain.file"
}

setting "rules" {
  type    = "list"
  default = []
  meaning = "Suffixes, domains and hosts given here instead of in a file; they win over file."
  nutch   = "urlfilter.domain.rules"
}
