id          = "index-readingtime"
name        = "Reading time, a plugin in Python"
version     = "1.0.0"
api         = 1
command     = ["python3", "main.py"]
concurrency = 4

provide "indexingfilter" {}

setting "words_per_minute" {
  type    = "int"
  default = 200
  min     = "1"
  meaning = "How fast people read."
}

setting "drop_below" {
  type    = "int"
  default = 0
  min     = "0"
  meaning = "Documents with fewer words are not indexed; 0 indexes all of them."
}
