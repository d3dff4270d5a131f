id        = "parse-js"
name      = "Links out of scripts"
version   = "1.0.0"
api       = 1

provide "parser" {
  extension = "JSParser"
  mime_types = [
    "application/javascript", "application/x-javascript", "text/javascript", "application/ecmascript", "text/ecmascript",
    "application/json", "text/json", "application/manifest+json", "application/ld+json",
  ]
}

provide "parsefilter" {
  extension = "JSParseFilter"
}

needs {
  outlinks = true
  fact "script" {
    max = 100
  }
  fact "selector" {
    setting = "events"
    max     = 100
  }
}

sections = ["parser"]

setting "events" {
  type = "list"
  default = [
    "[onclick]::attr(onclick)", "[ondblclick]::attr(ondblclick)", "[onmousedown]::attr(onmousedown)", "[onmouseup]::attr(onmouseup)",
    "[onmouseover]::attr(onmouseover)", "[onchange]::attr(onchange)", "[onsubmit]::attr(onsubmit)", "[onload]::attr(onload)",
    "[href^='javascript:' i]::attr(href)",
  ]
  meaning = "Attributes of HTML pages that hold scripts, as selectors. Each costs the page a tree; an empty list looks at script elements only, which is much faster."
}

setting "max_links" {
  type    = "int"
  default = 200
  min     = "1"
  meaning = "Links taken from the scripts of one document at most."
}

setting "relative" {
  type    = "bool"
  default = true
  meaning = "Texts such as \"dir/page.html\" and \"../list.php?id=1\" are links, too; else only those with a host and those that start with \"/\"."
}

setting "index" {
  type    = "bool"
  default = false
  meaning = "Script files are indexed with their source as text; else they are marked noindex. JSON documents are always indexed."
}
