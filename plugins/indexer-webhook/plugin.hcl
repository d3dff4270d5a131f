id      = "indexer-webhook"
name    = "Documents by HTTP POST"
version = "1.0.0"
api     = 1

provide "indexwriter" {
  extension = "WebhookIndexWriter"
}

parameter "url" {
  type    = "list"
  default = []
  meaning = "Addresses that take the batches: the first that answers; it must be there."
}

parameter "format" {
  type    = "string"
  default = "json"
  one_of  = ["json", "ndjson"]
  meaning = "Body of a request: one JSON object with all operations, or one operation a line."
}

parameter "method" {
  type    = "string"
  default = "POST"
  one_of  = ["POST", "PUT"]
  meaning = "HTTP method."
}

parameter "max_docs" {
  type    = "int"
  default = 100
  min     = "1"
  meaning = "Operations of one request."
}

parameter "max_size" {
  type    = "size"
  default = "4MiB"
  min     = "1KiB"
  meaning = "Bytes of one request; one document may be larger and then goes alone."
}

parameter "gzip" {
  type    = "bool"
  default = false
  meaning = "Compress requests (Content-Encoding: gzip)."
}

parameter "secret" {
  type    = "string"
  default = ""
  secret  = true
  meaning = "Key of the signature of each request. Empty: none."
}

parameter "username" {
  type    = "string"
  default = ""
  meaning = "User of HTTP basic authentication."
}

parameter "password" {
  type    = "string"
  default = ""
  secret  = true
  meaning = "Password of username."
}

parameter "token" {
  type    = "string"
  default = ""
  secret  = true
  meaning = "Goes into the header \"Authorization: Bearer\"."
}

parameter "headers" {
  type    = "map"
  default = {}
  secret  = true
  meaning = "Further request headers."
}

parameter "timeout" {
  type    = "duration"
  default = "60s"
  min     = "1ms"
  meaning = "Time for one request."
}

parameter "retries" {
  type    = "int"
  default = 5
  min     = "0"
  meaning = "How often what the server could not take now (429, 5xx) is sent again before it stays pending."
}

parameter "backoff" {
  type    = "duration"
  default = "100ms"
  min     = "1ms"
  meaning = "Pause before the first repetition; doubled each time, or what Retry-After asks for."
}

parameter "ca_file" {
  type    = "string"
  default = ""
  meaning = "PEM file of authorities to trust besides those of the system."
}

parameter "cert_file" {
  type    = "string"
  default = ""
  meaning = "PEM file of the client's certificate."
}

parameter "key_file" {
  type    = "string"
  default = ""
  meaning = "PEM file of its key."
}

parameter "tls_insecure" {
  type    = "bool"
  default = false
  meaning = "Accept any certificate."
}
