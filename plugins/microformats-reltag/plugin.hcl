id      = "microformats-reltag"
name    = "Tags by rel=tag"
version = "1.0.0"
api     = 1

provide "parsefilter" {
  extension = "RelTagParser"
}

provide "indexingfilter" {
  extension = "RelTagIndexingFilter"
}

needs {
  fact "rel" {
    arg = "tag"
  }
}
