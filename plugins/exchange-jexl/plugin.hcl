id      = "exchange-jexl"
name    = "Route documents by an expression"
version = "1.0.0"
api     = 1

provide "exchange" {
  extension = "JexlExchange"
}

parameter "expr" {
  type    = "string"
  default = ""
  meaning = "Expression over the document; those for which it is true take this exchange."
}

parameter "on_error" {
  type    = "string"
  default = "fail"
  one_of  = ["fail", "match", "pass"]
  meaning = "What becomes of a document on which the expression fails: it is counted as failed and left as it is, takes the exchange, or passes it by."
}
