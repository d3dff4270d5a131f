id      = "urlfilter-domaindenylist"
name    = "Domain deny list URL filter"
version = "1.0.0"
api     = 1

provide "urlfilter" {
  extension = "DomainDenylistURLFilter"
}

setting "file" {
  type    = "file"
  default = ""
  meaning = "File with one public suffix, registered domain or host per line; URLs whose suffix, domain or host is listed are rejected, all others accepted."
  nutch   = "urlfilter.domaindenylist.file"
}

setting "rules" {
  type    = "list"
  default = []
  meaning = "Suffixes, domains and hosts given here instead of in a file; they win over file."
  nutch   = "urlfilter.domaindenylist.rules"
}
