id      = "indexer-elastic"
name    = "Elasticsearch and OpenSearch"
version = "1.0.0"
api     = 1

provide "indexwriter" {
  extension = "ElasticIndexWriter"
}

provide "searcher" {
  extension = "ElasticSearcher"
}

setting "url" {
  type    = "list"
  default = ["http://localhost:9200"]
  meaning = "Addresses of the cluster's nodes. The one that answered last is used; when it can't be reached, the next."
}

setting "index" {
  type    = "string"
  default = "nutch"
  meaning = "Index, alias or data stream to write into. Made with the ready mapping when it is missing and create is on."
}

setting "alias" {
  type    = "string"
  default = ""
  meaning = "Further name that an index made by the plugin gets, for those who search it."
}

setting "data_stream" {
  type    = "bool"
  default = false
  meaning = "Write into a data stream: every version of a page is kept as an entry of its own with @timestamp; a delete removes all of them."
}

setting "create" {
  type    = "bool"
  default = true
  meaning = "Make the index (and its template) when it is missing. Off: a missing index is an error."
}

setting "mapping_file" {
  type    = "file"
  default = ""
  meaning = "JSON with settings and mappings for the index, instead of the ready ones."
}

setting "analyzer" {
  type    = "string"
  default = "standard"
  meaning = "Analyzer of the text fields in the ready mapping, such as \"standard\" or \"english\"."
}

setting "shards" {
  type    = "int"
  default = 1
  min     = "1"
  meaning = "Primary shards of an index made by the plugin."
}

setting "replicas" {
  type    = "int"
  default = 1
  min     = "0"
  meaning = "Copies of each shard of an index made by the plugin."
}

setting "pipeline" {
  type    = "string"
  default = ""
  meaning = "Ingest pipeline that documents go through."
}

setting "refresh" {
  type    = "bool"
  default = true
  meaning = "Make documents visible at each commit. Off: they become visible when the server's refresh interval says so."
}

setting "max_bulk_docs" {
  type    = "int"
  default = 250
  min     = "1"
  meaning = "Documents of one bulk request."
}

setting "max_bulk_size" {
  type    = "size"
  default = "2500KB"
  min     = "1KB"
  meaning = "Bytes of one bulk request; one document may be larger and then goes alone."
}

setting "text_fields" {
  type    = "list"
  default = []
  meaning = "Further fields that are text in the ready mapping and are searched by words without a field name."
}

setting "username" {
  type    = "string"
  default = ""
  meaning = "User of HTTP basic authentication."
}

setting "password" {
  type    = "string"
  default = ""
  secret  = true
  meaning = "Password of username."
}

setting "token" {
  type    = "string"
  default = ""
  secret  = true
  meaning = "API key, as the server gave it (encoded); goes into the header \"Authorization: ApiKey\"."
}

setting "headers" {
  type    = "map"
  default = {}
  meaning = "Further request headers."
}

setting "timeout" {
  type    = "duration"
  default = "60s"
  min     = "1ms"
  meaning = "Time for one request."
}

setting "retries" {
  type    = "int"
  default = 5
  min     = "0"
  meaning = "How often documents that the server could not take now (429, 5xx) are sent again before the writer counts as down and its documents stay pending."
}

setting "backoff" {
  type    = "duration"
  default = "100ms"
  min     = "0s"
  meaning = "Pause before the first repetition; doubles each time, up to 30s. A longer Retry-After of the server is respected."
}

setting "ca_file" {
  type    = "file"
  default = ""
  meaning = "Certificates (PEM) of authorities trusted besides the system's."
}

setting "cert_file" {
  type    = "file"
  default = ""
  meaning = "Client certificate (PEM)."
}

setting "key_file" {
  type    = "file"
  default = ""
  meaning = "Key of cert_file (PEM)."
}

setting "tls_insecure" {
  type    = "bool"
  default = false
  meaning = "Accept any certificate of the server. For tests."
}
