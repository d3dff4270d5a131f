id      = "protocol-s3"
name    = "S3 object storage"
version = "1.0.0"
api     = 1

provide "protocol" {
  extension = "S3"
  schemes   = ["s3"]
}

sections = ["http"]

setting "endpoint" {
  type    = "string"
  default = "https://s3.amazonaws.com"
  meaning = "The service, with http: or https:. It may have a private address: naming it here allows it."
}

setting "region" {
  type    = "string"
  default = ""
  meaning = "Region of the buckets. Empty: each bucket's is asked for."
}

setting "path_style" {
  type    = "bool"
  default = false
  meaning = "Name buckets in the path in any case. Otherwise it goes by the endpoint: AWS wants them in the host name."
}

setting "access_key" {
  type    = "string"
  default = ""
  meaning = "Key id. Empty: credentials_file, else AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY of the environment (see plugin.environment), else requests are not signed, which public buckets allow."
}

setting "secret_key" {
  type    = "string"
  default = ""
  meaning = "The key's secret: env(\"…\") or file(\"…\") keep it out of the configuration."
}

setting "session_token" {
  type    = "string"
  default = ""
  meaning = "Token of temporary keys."
}

setting "credentials_file" {
  type    = "string"
  default = ""
  meaning = "A credentials file in AWS' form."
}

setting "profile" {
  type    = "string"
  default = "default"
  meaning = "The section of credentials_file."
}

setting "content_limit" {
  type    = "size"
  default = "10MiB"
  meaning = "Objects and listings are cut there. Negative: no limit."
}

setting "timeout" {
  type    = "duration"
  default = "60s"
  meaning = "How long one document may take in all, at most http.time_limit."
}

setting "max_entries" {
  type    = "int"
  default = 100000
  meaning = "Entries of one listing; the rest is cut off."
}

setting "crawl_parent" {
  type    = "bool"
  default = false
  meaning = "Listings have a link to the prefix above."
}
