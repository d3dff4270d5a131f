id      = "indexer-dummy"
name    = "Names of documents in a text file"
version = "1.0.0"
api     = 1

provide "indexwriter" {
  extension = "DummyIndexWriter"
}

setting "path" {
  type    = "string"
  default = ""
  meaning = "The file. Empty: dummy-index.txt in a folder of the writer's name in the crawl directory."
}

setting "delete" {
  type    = "bool"
  default = true
  meaning = "Write a line for each delete, too."
}
