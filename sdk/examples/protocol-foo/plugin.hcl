id          = "protocol-foo"
name        = "Example of a new scheme"
version     = "1.0.0"
api         = 1
command     = ["./protocol-foo"]
concurrency = 16

provide "protocol" {
  schemes = ["foo"]
}

setting "pages" {
  type    = "int"
  default = 3
  min     = "1"
  max     = "1000000"
  meaning = "Pages of each host."
}
