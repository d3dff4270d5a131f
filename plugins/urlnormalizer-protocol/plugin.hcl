id      = "urlnormalizer-protocol"
name    = "Protocol URL normalizer"
version = "1.0.0"
api     = 1

provide "urlnormalizer" {
  extension = "ProtocolURLNormalizer"
}

setting "file" {
  type    = "file"
  default = ""
  meaning = "Rule file with a host and http or https on each line; *.domain stands for the domain and all hosts below it. Empty: no rules."
  nutch   = "urlnormalizer.protocols.file"
}

setting "rules" {
  type    = "list"
  default = []
  meaning = "Lines of the file format given here instead of in a file; they win over file."
  nutch   = "urlnormalizer.protocols.rules"
}
