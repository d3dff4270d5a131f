id      = "parsefilter-css"
name    = "Fields by CSS selectors"
version = "1.0.0"
api     = 1

provide "parsefilter" {
  extension = "CSSParseFilter"
}

provide "indexingfilter" {
  extension = "CSSIndexingFilter"
}

needs {
  fact "selector" {
    setting = "fields"
  }
}

setting "fields" {
  type    = "map"
  default = {}
  meaning = "Field names and the CSS selectors that find their values. A selector may end in ::text (the default), ::html or ::attr(name)."
}

setting "multivalued" {
  type    = "list"
  default = []
  meaning = "Fields that keep every value in page order, each once; \"*\" stands for all. The others keep the first."
}

setting "numbers" {
  type    = "list"
  default = []
  meaning = "Fields whose values are numbers: \"1.299,50 €\" becomes 1299.5. Values without a number are left out."
}

setting "decimal" {
  type    = "string"
  default = "auto"
  one_of  = ["auto", ".", ","]
  meaning = "What stands before decimals in numbers; auto decides for each value."
}

setting "dates" {
  type    = "list"
  default = []
  meaning = "Fields whose values are dates; they become RFC 3339 in UTC. Values that are none are left out."
}

setting "date_layouts" {
  type    = "list"
  default = []
  meaning = "Forms of dates beside the common ones, written as Go writes the date of 2 January 2006, 15:04:05."
}

setting "day_first" {
  type    = "bool"
  default = false
  meaning = "3/4/2026 is the third of April, not the fourth of March."
}

setting "urls" {
  type    = "list"
  default = []
  meaning = "Fields whose values are links; they become absolute."
}

setting "max_values" {
  type    = "int"
  default = 100
  min     = "1"
  meaning = "Values one field of a page may have; the rest is left out."
}

setting "max_length" {
  type    = "size"
  default = "16KiB"
  min     = "1B"
  meaning = "Length of one value; what is longer is cut."
}

setting "index" {
  type    = "bool"
  default = true
  meaning = "The fields become fields of the document, too. With false they are only parse metadata, for index-metadata."
}
