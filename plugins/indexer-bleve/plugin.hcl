id      = "indexer-bleve"
name    = "Embedded search index"
version = "1.0.0"
api     = 1

provide "indexwriter" {
  extension = "BleveIndexWriter"
}

provide "searcher" {
  extension = "BleveSearcher"
}

sections     = ["indexer"]
memory_limit = "1GiB"

setting "path" {
  type    = "string"
  default = ""
  meaning = "Folder of the index. Empty: a folder of the writer's name in the crawl directory."
}

setting "analyzer" {
  type    = "string"
  default = "auto"
  meaning = "How text is cut into words: \"auto\" by the language of each document (its field lang), \"standard\", or a language code such as \"en\", \"de\", \"fr\" for its stemming and stop words. Counts when the index is made."
}

setting "store_content" {
  type    = "bool"
  default = true
  meaning = "Keep the text in the index, for snippets with the words found. Without, the index is about a fifth of the size and quicker to write."
}

setting "text_fields" {
  type    = "list"
  default = []
  meaning = "Further fields to be searched as text; fields that are not listed here or known to the plugin are kept whole, for exact search and facets."
}
