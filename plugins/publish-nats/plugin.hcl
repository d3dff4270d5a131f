id      = "publish-nats"
name    = "Fetch events to NATS"
version = "1.0.0"
api     = 1

provide "publisher" {
  extension = "NATSPublisher"
}

setting "url" {
  type    = "list"
  default = ["nats://localhost:4222"]
  meaning = "Addresses of the servers."
}

setting "subject" {
  type    = "string"
  default = "crawler.events"
  meaning = "Subject; the type of the event comes behind it, in lower case: crawler.events.start."
}

setting "jetstream" {
  type    = "bool"
  default = false
  meaning = "Publish into a JetStream stream, which must exist, and wait until it has stored the events."
}

setting "username" {
  type    = "string"
  default = ""
  meaning = "User."
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
  meaning = "Token, instead of a user."
}

setting "credentials_file" {
  type    = "string"
  default = ""
  meaning = "File with an account's JWT and key."
}

setting "ca_file" {
  type    = "string"
  default = ""
  meaning = "PEM file of authorities to trust; with tls:// addresses."
}

setting "timeout" {
  type    = "duration"
  default = "2s"
  min     = "1ms"
  meaning = "Time for a batch of events; then they are lost and counted."
}
