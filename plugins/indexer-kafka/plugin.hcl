id      = "indexer-kafka"
name    = "Documents to Kafka"
version = "1.0.0"
api     = 1

provide "indexwriter" {
  extension = "KafkaIndexWriter"
}

parameter "brokers" {
  type    = "list"
  default = ["localhost:9092"]
  meaning = "Addresses of brokers to begin with, host:port."
}

parameter "topic" {
  type    = "string"
  default = ""
  meaning = "The topic; it must be there and be named."
}

parameter "delete" {
  type    = "string"
  default = "tombstone"
  one_of  = ["tombstone", "message", "ignore"]
  meaning = "What a delete is: a record without value, as compacted topics want it; a record {\"op\":\"delete\"}; or nothing."
}

parameter "compression" {
  type    = "string"
  default = "zstd"
  one_of  = ["none", "gzip", "snappy", "lz4", "zstd"]
  meaning = "Compression of batches."
}

parameter "max_message" {
  type    = "size"
  default = "1000000B"
  min     = "1000B"
  meaning = "Bytes of one batch at most, as the topic's max.message.bytes; a document that is larger is refused."
}

parameter "timeout" {
  type    = "duration"
  default = "30s"
  min     = "1s"
  meaning = "Time for a batch to be acknowledged by all replicas."
}

parameter "sasl" {
  type    = "string"
  default = "none"
  one_of  = ["none", "plain", "scram-sha-256", "scram-sha-512"]
  meaning = "How username and password are told."
}

parameter "username" {
  type    = "string"
  default = ""
  meaning = "User."
}

parameter "password" {
  type    = "string"
  default = ""
  secret  = true
  meaning = "Password of username."
}

parameter "tls" {
  type    = "bool"
  default = false
  meaning = "Connect with TLS."
}

parameter "ca_file" {
  type    = "string"
  default = ""
  meaning = "PEM file of authorities to trust besides those of the system."
}
