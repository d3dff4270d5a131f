id      = "index-content"
name    = "Main text"
version = "1.0.0"
api     = 1

provide "indexingfilter" {
  extension = "MainContentIndexingFilter"
}

needs {
  content = true
}

setting "field" {
  type    = "string"
  default = "main_content"
  meaning = "Field for the main text of an HTML page, without navigation and boilerplate."
}

setting "html_field" {
  type    = "string"
  default = ""
  meaning = "Field for the same as HTML; empty: none."
}

setting "excerpt_field" {
  type    = "string"
  default = ""
  meaning = "Field for the page's description, or the first paragraph of the main text; empty: none."
}

setting "fallback" {
  type    = "bool"
  default = true
  meaning = "Where no main text is found, field gets the whole text."
}

setting "min_length" {
  type    = "int"
  default = 200
  min     = "0"
  meaning = "Characters below which a main text counts as not found."
}

setting "max_length" {
  type    = "size"
  default = "1MiB"
  min     = "1B"
  meaning = "Length of a field at most; the rest is cut off."
}

setting "max_nodes" {
  type    = "int"
  default = 50000
  min     = "1"
  meaning = "Pages with more '<' than this are not looked at; they count as pages without a main text."
}
