id      = "index-links"
name    = "Links of the document"
version = "1.0.0"
api     = 1

provide "indexingfilter" {
  extension = "LinksIndexingFilter"
}

needs {
  inlinks  = true
  outlinks = true
}

setting "outlinks_host_ignore" {
  type    = "bool"
  default = false
  meaning = "Leave out links to the document's own host."
  nutch   = "index.links.outlinks.host.ignore"
}

setting "inlinks_host_ignore" {
  type    = "bool"
  default = false
  meaning = "Leave out links from the document's own host."
  nutch   = "index.links.inlinks.host.ignore"
}

setting "hosts_only" {
  type    = "bool"
  default = false
  meaning = "Keep the hosts of the links instead of the links."
  nutch   = "index.links.hosts.only"
}

setting "max_links" {
  type    = "int"
  default = 10000
  min     = "1"
  meaning = "Links of one field at most; the rest is left out."
}
