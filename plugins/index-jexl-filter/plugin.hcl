id      = "index-jexl-filter"
name    = "Filter by an expression"
version = "1.0.0"
api     = 1

provide "indexingfilter" {
  extension = "JexlIndexingFilter"
}

needs {
  text = true
}

setting "filter" {
  type    = "string"
  default = ""
  meaning = "Expression over the document; documents for which it is not true are not indexed. Empty: all are."
  nutch   = "index.jexl.filter"
}

setting "on_error" {
  type    = "string"
  default = "drop"
  one_of  = ["drop", "keep", "fail"]
  meaning = "What becomes of a document on which the expression fails, as when it compares a missing number: not indexed, indexed, or counted as failed."
}
