id      = "urlnormalizer-querystring"
name    = "Query string URL normalizer"
version = "1.0.0"
api     = 1

provide "urlnormalizer" {
  extension = "QuerystringURLNormalizer"
}
