id      = "tld"
name    = "Top-level domain"
version = "1.0.0"
api     = 1

provide "indexingfilter" {
  extension = "TLDIndexingFilter"
}

setting "private_suffixes" {
  type    = "bool"
  default = false
  meaning = "Suffixes that companies hand out below count too, such as github.io, not only those of registries."
}
