id          = "urlfilter-words"
name        = "URL filter by whole words"
version     = "1.0.0"
api         = 1
command     = ["./urlfilter-words"]
concurrency = 4

provide "urlfilter" {}

setting "reject" {
  type    = "list"
  default = ["login", "logout", "signup"]
  meaning = "A URL whose path or query has one of these words is rejected, whatever its case. Words end at everything that is neither letter nor digit."
}

setting "file" {
  type    = "file"
  default = ""
  meaning = "File with more words to reject, one a line; lines that begin with # are comments."
}

setting "hosts_too" {
  type    = "bool"
  default = false
  meaning = "Look for the words in the host name as well."
}
