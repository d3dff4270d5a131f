id      = "protocol-http"
name    = "HTTP and HTTPS"
version = "1.0.0"
api     = 1

provide "protocol" {
  extension = "Http"
  schemes   = ["http", "https"]
}

sections = ["http"]

setting "idle_connections" {
  type    = "int"
  default = 1024
  meaning = "Connections kept open for a next request, over all hosts."
}

setting "idle_connections_per_host" {
  type    = "int"
  default = 4
  meaning = "Connections kept open for a next request to one host and port."
}

setting "idle_timeout" {
  type    = "duration"
  default = "90s"
  meaning = "How long a connection is kept open without a request."
}

setting "compression_ratio" {
  type    = "int"
  default = 250
  meaning = "A body whose decoded bytes are more than so many times its encoded bytes, after the first MiB, is cut there (reason length). 0 means no limit."
}

setting "ca_file" {
  type    = "file"
  default = ""
  meaning = "Certificates (PEM) of authorities trusted besides the system's, such as an intranet's own."
}
