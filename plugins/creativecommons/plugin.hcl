id      = "creativecommons"
name    = "Creative Commons licences"
version = "1.0.0"
api     = 1

provide "parsefilter" {
  extension = "CCParseFilter"
}

provide "indexingfilter" {
  extension = "CCIndexingFilter"
}

needs {
  content  = true
  outlinks = true
  fact "rel" {
    arg = "license"
    max = 20
  }
}

setting "exclude_unlicensed" {
  type    = "bool"
  default = false
  meaning = "Pages without a licence count as failed parses and are not indexed."
  nutch   = "creativecommons.exclude.unlicensed"
}
