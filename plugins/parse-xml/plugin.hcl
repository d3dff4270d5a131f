id        = "parse-xml"
name      = "XML parser"
version   = "1.0.0"
api       = 1
on_demand = true

provide "parser" {
  extension = "XMLParser"
  mime_types = [
    "application/xml", "text/xml", "application/docbook+xml", "application/x-docbook+xml", "application/tei+xml",
    "application/mathml+xml", "application/xslt+xml", "application/rdf+xml", "application/x-dtbncx+xml", "image/svg+xml", "text/xsl",
  ]
}

sections = ["parser"]

setting "title" {
  type    = "list"
  default = ["title", "name"]
  meaning = "Where the title is, as paths; the first path that finds any text wins. \"head/title\" is a title in a head anywhere, \"/book/info/title\" starts at the root, \"book/@name\" is an attribute. Prefixes of names and letter case don't count."
}

setting "links" {
  type    = "list"
  default = ["@href", "@src", "@url", "link", "loc"]
  meaning = "Where links are, as paths like those of title. Attributes may be relative, texts of elements must be whole URLs. @href is xlink:href, too."
}

setting "fields" {
  type    = "map"
  default = {}
  meaning = "Parse metadata from paths like those of title: key = path. A path that finds several gives the key several values. index-metadata makes fields of them."
}

setting "ignore" {
  type    = "list"
  default = ["script", "style"]
  meaning = "Elements, as paths, whose text is left out with all that is in them."
}

setting "outlinks_max" {
  type    = "int"
  default = 10000
  min     = "0"
  meaning = "Links taken from one document at most; 0 means no limit."
}

setting "max_depth" {
  type    = "int"
  default = 256
  min     = "1"
  max     = "10000"
  meaning = "Documents with elements nested deeper are refused."
}
