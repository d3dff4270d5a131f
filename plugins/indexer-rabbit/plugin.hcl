id      = "indexer-rabbit"
name    = "Documents to RabbitMQ"
version = "1.0.0"
api     = 1

provide "indexwriter" {
  extension = "RabbitIndexWriter"
}

parameter "server_uri" {
  type    = "string"
  default = "amqp://guest:guest@localhost:5672/"
  secret  = true
  meaning = "Address of the broker, with user, password and virtual host; amqps:// for TLS."
}

parameter "exchange_name" {
  type    = "string"
  default = ""
  meaning = "Exchange to publish to; it is declared. Empty: the default one, which leads to queue_name."
}

parameter "exchange_options" {
  type    = "map"
  default = { type = "direct", durable = "true" }
  meaning = "How the exchange is declared: type, durable, auto-delete."
}

parameter "queue_name" {
  type    = "string"
  default = "nutch.queue"
  meaning = "Queue to declare; empty: none."
}

parameter "queue_options" {
  type    = "map"
  default = { durable = "true" }
  meaning = "How the queue is declared: durable, exclusive, auto-delete."
}

parameter "binding" {
  type    = "bool"
  default = false
  meaning = "Bind the queue to the exchange."
}

parameter "binding_arguments" {
  type    = "map"
  default = {}
  meaning = "Arguments of the binding, for headers exchanges."
}

parameter "routingkey" {
  type    = "string"
  default = ""
  meaning = "Routing key of the messages and the binding."
}

parameter "headers_static" {
  type    = "map"
  default = {}
  meaning = "Headers of each message."
}

parameter "timeout" {
  type    = "duration"
  default = "30s"
  min     = "1ms"
  meaning = "Time for a batch to be confirmed."
}

parameter "headers_dynamic" {
  type    = "list"
  default = []
  meaning = "Fields of the document that become headers of its message, by their first value."
}

parameter "commit_mode" {
  type    = "string"
  default = "single"
  one_of  = ["single", "multiple"]
  meaning = "single: a message is one operation; multiple: a list of up to commit_size operations."
}

parameter "commit_size" {
  type    = "int"
  default = 250
  min     = "1"
  meaning = "Operations of a message with commit_mode = \"multiple\"."
}
