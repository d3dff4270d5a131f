id      = "parsefilter-debug"
name    = "Tree dump"
version = "1.0.0"
api     = 1

provide "parsefilter" {
  extension = "DebugParseFilter"
}

needs {
  content = true
}

setting "max_length" {
  type    = "size"
  default = "256KiB"
  min     = "1B"
  meaning = "Length of the dump at most; the rest is left out."
}
