id      = "language-identifier"
name    = "Language identifier"
version = "1.0.0"
api     = 1

provide "parsefilter" {
  extension = "LanguageParser"
}

provide "indexingfilter" {
  extension = "LanguageIdentifier"
}

needs {
  text = true
  fact "meta" {
    arg = "dc.language"
  }
}

setting "extraction_policy" {
  type    = "list"
  default = ["detect", "identify"]
  one_of  = ["detect", "identify"]
  meaning = "How the language is found, in this order: detect reads what page and server say, identify looks at the text."
  nutch   = "lang.extraction.policy"
}

setting "max_length" {
  type    = "int"
  default = 2048
  min     = "0"
  off     = true
  meaning = "Characters of title and text that identify looks at; 0 or -1 means 65536, the most."
  nutch   = "lang.analyze.max.length"
}

setting "min_length" {
  type    = "int"
  default = 20
  min     = "0"
  meaning = "Texts with fewer letters are not identified."
}

setting "only_certain" {
  type    = "bool"
  default = false
  meaning = "Identify tells a language only when it is certain."
  nutch   = "lang.identification.only.certain"
}

setting "candidates" {
  type    = "list"
  default = []
  meaning = "Languages that identify chooses from, such as [\"de\", \"nl\"]; fewer are told apart better. Empty: all that it knows."
}

setting "index_languages" {
  type    = "list"
  default = []
  meaning = "Only documents in these languages are indexed; \"unknown\" stands for those without one. Empty: all."
  nutch   = "lang.index.languages"
}
