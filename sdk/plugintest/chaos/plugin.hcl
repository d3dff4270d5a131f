id          = "chaos"
name        = "Chaos: a plugin that misbehaves on demand, for tests"
version     = "1.0.0"
api         = 1
concurrency = 8
cache       = false

provide "protocol" {
  schemes = ["chaos"]
}

provide "parser" {
  mime_types = ["*"]
}

provide "parsefilter" {}

provide "urlnormalizer" {}

provide "urlfilter" {}

provide "scoring" {}

provide "indexingfilter" {}

field "chaos" {
  reducer = "add"
  meaning = "Nothing; it exists so that the plugin may touch it."
}

setting "points" {
  type    = "list"
  default = []
  meaning = "Extension points at which the plugin misbehaves; empty for all of them."
}

setting "configure" {
  type    = "string"
  default = "ok"
  one_of  = ["ok", "error", "exit", "hang", "slow"]
  meaning = "What happens when the plugin is configured."
}

setting "shutdown" {
  type    = "string"
  default = "ok"
  one_of  = ["ok", "error", "exit", "hang"]
  meaning = "What happens when the plugin is shut down."
}

setting "children" {
  type    = "int"
  default = 0
  min     = "0"
  max     = "100"
  meaning = "Processes that the plugin starts when it is configured and never ends."
}

setting "slow" {
  type    = "duration"
  default = "200ms"
  meaning = "How long a slow answer and a slow start take."
}

setting "hog" {
  type    = "size"
  default = "1GiB"
  meaning = "Memory that the hog takes before it hangs."
}

setting "leak" {
  type    = "size"
  default = "8MiB"
  meaning = "Memory that each leak keeps."
}

setting "huge" {
  type    = "size"
  default = "80MiB"
  meaning = "Size of a huge answer."
}
