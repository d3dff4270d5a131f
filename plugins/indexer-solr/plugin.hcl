id      = "indexer-solr"
name    = "Apache Solr"
version = "1.0.0"
api     = 1

provide "indexwriter" {
  extension = "SolrIndexWriter"
}

provide "searcher" {
  extension = "SolrSearcher"
}

setting "type" {
  type    = "string"
  default = "http"
  one_of  = ["http", "cloud"]
  meaning = "http: each url is a Solr of its own and gets all documents. cloud: the urls are nodes of one SolrCloud and the one that answers gets them."
}

setting "url" {
  type    = "list"
  default = ["http://localhost:8983/solr"]
  meaning = "Addresses of Solr, up to and with /solr."
}

setting "collection" {
  type    = "string"
  default = "nutch"
  meaning = "Core or collection. Empty: each url names one itself, as http://localhost:8983/solr/nutch."
}

setting "create" {
  type    = "bool"
  default = false
  meaning = "Make the collection when it is missing: in a cloud with the ready configset, which is uploaded; on a single Solr with the configset named by configset, which must be in its configsets folder."
}

setting "configset" {
  type    = "string"
  default = "crawler"
  meaning = "Name of the configset for create."
}

setting "shards" {
  type    = "int"
  default = 1
  min     = "1"
  meaning = "Shards of a collection made by the plugin."
}

setting "replicas" {
  type    = "int"
  default = 1
  min     = "1"
  meaning = "Copies of each shard of a collection made by the plugin."
}

setting "commit" {
  type    = "string"
  default = "hard"
  one_of  = ["hard", "soft", "none"]
  meaning = "What a commit of the crawler is in Solr: hard (durable and visible), soft (visible), none (Solr's own autoCommit decides)."
}

setting "commit_within" {
  type    = "duration"
  default = "0s"
  min     = "0s"
  meaning = "Ask Solr with each batch to make it visible within this time; 0: do not."
}

setting "max_docs" {
  type    = "int"
  default = 500
  min     = "1"
  meaning = "Operations of one update request."
}

setting "max_size" {
  type    = "size"
  default = "5MB"
  min     = "1KB"
  meaning = "Bytes of one update request; one document may be larger and then goes alone."
}

setting "weight_field" {
  type    = "string"
  default = "boost"
  meaning = "Field that gets the document's weight; empty: none."
}

setting "text_fields" {
  type    = "list"
  default = []
  meaning = "Further fields that are searched by words without a field name."
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
  meaning = "Token of a JWT set-up; goes into the header \"Authorization: Bearer\"."
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
