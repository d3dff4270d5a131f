id      = "urlnormalizer-basic"
name    = "Basic URL normalizer"
version = "1.0.0"
api     = 1

provide "urlnormalizer" {
  extension = "BasicURLNormalizer"
}

setting "host_idn" {
  type    = "string"
  default = "to_ascii"
  meaning = "How international host names are written: \"to_ascii\" (xn--…), \"to_unicode\", or \"\" to leave them."
  nutch   = "urlnormalizer.basic.host.idn"
}

setting "host_trim_trailing_dot" {
  type    = "bool"
  default = true
  meaning = "Remove the dot at the end of a host name."
  nutch   = "urlnormalizer.basic.host.trim-trailing-dot"
}
