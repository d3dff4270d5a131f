id      = "publish-rabbitmq"
name    = "Fetch events to RabbitMQ"
version = "1.0.0"
api     = 1

provide "publisher" {
  extension = "RabbitMQPublisherImpl"
}

setting "server_uri" {
  type    = "string"
  default = "amqp://guest:guest@localhost:5672/"
  secret  = true
  meaning = "Address of the broker, with user, password and virtual host; amqps:// for TLS."
  nutch   = "rabbitmq.publisher.server.uri"
}

setting "exchange_name" {
  type    = "string"
  default = ""
  meaning = "Exchange to publish to; it is declared. Empty: the default one, which leads to queue_name."
  nutch   = "rabbitmq.publisher.exchange.name"
}

setting "exchange_options" {
  type    = "map"
  default = { type = "direct", durable = "true" }
  meaning = "How the exchange is declared: type, durable, auto-delete."
  nutch   = "rabbitmq.publisher.exchange.options"
}

setting "queue_name" {
  type    = "string"
  default = "nutch.events.queue"
  meaning = "Queue to declare; empty: none."
  nutch   = "rabbitmq.publisher.queue.name"
}

setting "queue_options" {
  type    = "map"
  default = { durable = "true" }
  meaning = "How the queue is declared: durable, exclusive, auto-delete."
  nutch   = "rabbitmq.publisher.queue.options"
}

setting "binding" {
  type    = "bool"
  default = false
  meaning = "Bind the queue to the exchange."
  nutch   = "rabbitmq.publisher.binding"
}

setting "binding_arguments" {
  type    = "map"
  default = {}
  meaning = "Arguments of the binding, for headers exchanges."
  nutch   = "rabbitmq.publisher.binding.arguments"
}

setting "routingkey" {
  type    = "string"
  default = ""
  meaning = "Routing key of the messages and the binding."
  nutch   = "rabbitmq.publisher.routingkey"
}

setting "headers_static" {
  type    = "map"
  default = {}
  meaning = "Headers of each message."
  nutch   = "rabbitmq.publisher.headers.static"
}

setting "timeout" {
  type    = "duration"
  default = "2s"
  min     = "1ms"
  meaning = "Time for a batch to be confirmed."
}
