id      = "publish-jsonl"
name    = "Fetch events as lines of JSON"
version = "1.0.0"
api     = 1

provide "publisher" {
  extension = "JSONLPublisher"
}

setting "path" {
  type    = "string"
  default = ""
  meaning = "The file. Empty: events.jsonl in the plugin's folder of the crawl directory."
}

setting "max_size" {
  type    = "size"
  default = "256MiB"
  min     = "1KiB"
  meaning = "A file that has reached this size is renamed to <path>.1, <path>.2 and so on, and a new one begun."
}
