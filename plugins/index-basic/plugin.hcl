id      = "index-basic"
name    = "Basic index fields"
version = "1.0.0"
api     = 1

provide "indexingfilter" {
  extension = "BasicIndexingFilter"
}

sections = ["indexer"]
