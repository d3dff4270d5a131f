id      = "urlnormalizer-pass"
name    = "Pass-through URL normalizer"
version = "1.0.0"
api     = 1

provide "urlnormalizer" {
  extension = "PassURLNormalizer"
}
