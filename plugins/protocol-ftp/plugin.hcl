id      = "protocol-ftp"
name    = "FTP and FTPS"
version = "1.0.0"
api     = 1

provide "protocol" {
  extension = "Ftp"
  schemes   = ["ftp", "ftps"]
}

sections = ["http"]

setting "username" {
  type    = "string"
  default = "anonymous"
  meaning = "Who to log in as, unless the URL says."
  nutch   = "ftp.username"
}

setting "password" {
  type    = "string"
  default = ""
  meaning = "The user's password. Empty: http.agent_email, as anonymous users introduce themselves, or anonymous@example.com without one."
  nutch   = "ftp.password"
}

setting "login_hosts" {
  type    = "list"
  default = []
  meaning = "Hosts that are told username and password: names, addresses, or *.domain for a domain and all below it. All others are logged in to as anonymous. Must be set when username is."
}

setting "content_limit" {
  type    = "size"
  default = "10MiB"
  meaning = "Files and listings are cut there. Negative: no limit."
  nutch   = "ftp.content.limit (bytes)"
}

setting "timeout" {
  type    = "duration"
  default = "60s"
  meaning = "How long one document may take in all, at most http.time_limit."
  nutch   = "ftp.timeout (ms)"
}

setting "keep_connection" {
  type    = "bool"
  default = true
  meaning = "Use the control connection to a host for its next documents too."
  nutch   = "ftp.keep.connection"
}

setting "server_timeout" {
  type    = "duration"
  default = "100s"
  meaning = "How long a kept connection may lie idle; servers close them at some time of their own, so that a kept one that fails is replaced once."
  nutch   = "ftp.server.timeout (ms)"
}

setting "follow_talk" {
  type    = "bool"
  default = false
  meaning = "Log what servers say, at level debug."
  nutch   = "ftp.follow.talk"
}

setting "tls" {
  type    = "string"
  default = "never"
  meaning = "Encrypt ftp: URLs by AUTH TLS (RFC 4217): \"never\" or \"always\". URLs with ftps: are encrypted from the start (port 990)."
}

setting "epsv" {
  type    = "bool"
  default = true
  meaning = "Ask for passive connections by EPSV (RFC 2428) first, then by PASV."
}

setting "max_entries" {
  type    = "int"
  default = 100000
  meaning = "Entries of one listing; the rest is cut off."
}

setting "crawl_parent" {
  type    = "bool"
  default = false
  meaning = "Listings have a link to the folder above."
}
