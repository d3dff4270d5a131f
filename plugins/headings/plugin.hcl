id      = "headings"
name    = "Headings"
version = "1.0.0"
api     = 1

provide "parsefilter" {
  extension = "HeadingsParseFilter"
}

needs {
  fact "heading" {
    setting = "headings"
  }
}

setting "headings" {
  type    = "list"
  default = ["h1", "h2"]
  one_of  = ["h1", "h2", "h3", "h4", "h5", "h6"]
  meaning = "Headings that become parse metadata under their own name."
  nutch   = "headings"
}

setting "multivalued" {
  type    = "bool"
  default = false
  meaning = "Keep every heading of a kind, not the first one only."
  nutch   = "headings.multivalued"
}
