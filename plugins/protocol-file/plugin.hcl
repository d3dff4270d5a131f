id      = "protocol-file"
name    = "Local files"
version = "1.0.0"
api     = 1

provide "protocol" {
  extension = "File"
  schemes   = ["file"]
}

sections = ["file"]
