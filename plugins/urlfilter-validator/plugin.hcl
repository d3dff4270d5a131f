id      = "urlfilter-validator"
name    = "URL validator"
version = "1.0.0"
api     = 1

provide "urlfilter" {
  extension = "URLValidator"
}

setting "max_length" {
  type    = "size"
  default = "4096B"
  meaning = "Longest URL accepted, in bytes; \"-1\" for no limit."
}

setting "local_names" {
  type    = "bool"
  default = true
  meaning = "Accept localhost and names of one label, as intranets have them."
}

setting "ip_hosts" {
  type    = "bool"
  default = true
  meaning = "Accept IPv4 and IPv6 addresses as hosts."
}

setting "max_loops" {
  type    = "int"
  default = 3
  meaning = "Reject a path in which a run of two or more segments stands this many times in a row (or one segment one time more): the mark of endlessly nested relative links. 0 switches the check off. Stands for the loop rule of Nutch's regex-urlfilter.txt."
}
