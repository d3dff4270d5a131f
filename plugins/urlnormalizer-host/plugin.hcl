id      = "urlnormalizer-host"
name    = "Host URL normalizer"
version = "1.0.0"
api     = 1

provide "urlnormalizer" {
  extension = "HostURLNormalizer"
}

setting "file" {
  type    = "file"
  default = ""
  meaning = "Rule file with a host and the host that replaces it on each line; *.domain stands for the domain and all hosts below it. Empty: no rules."
  nutch   = "urlnormalizer.hosts.file"
}

setting "rules" {
  type    = "list"
  default = []
  meaning = "Lines of the file format given here instead of in a file; they win over file."
  nutch   = "urlnormalizer.hosts.rules"
}
