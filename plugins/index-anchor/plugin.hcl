id      = "index-anchor"
name    = "Anchor texts"
version = "1.0.0"
api     = 1

provide "indexingfilter" {
  extension = "AnchorIndexingFilter"
}

needs {
  inlinks = true
}

setting "deduplicate" {
  type    = "bool"
  default = true
  meaning = "Add the same anchor text once only, upper and lower case alike, whichever hosts it comes from."
  nutch   = "anchorIndexingFilter.deduplicate"
}
