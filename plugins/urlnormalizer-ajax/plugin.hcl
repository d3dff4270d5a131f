id      = "urlnormalizer-ajax"
name    = "AJAX URL normalizer"
version = "1.0.0"
api     = 1

provide "urlnormalizer" {
  extension = "AjaxURLNormalizer"
}
