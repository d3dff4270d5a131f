id      = "parse-metatags"
name    = "Meta tags"
version = "1.0.0"
api     = 1

provide "parsefilter" {
  extension = "MetaTagsParser"
}

needs {
  fact "meta" {
    setting = "names"
  }
}

setting "names" {
  type    = "list"
  default = ["description", "keywords"]
  meaning = "Meta tags, by name, property or http-equiv, that become parse metadata as metatag.<name>; \"*\" stands for all."
  nutch   = "metatags.names"
}
