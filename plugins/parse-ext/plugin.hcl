id        = "parse-ext"
name      = "Parsing by programs"
version   = "1.0.0"
api       = 1
on_demand = true

provide "parser" {
  extension  = "ExtParser"
  mime_types = ["*"]
}

sections = ["parser"]

block "program" {
  meaning = "A program that turns documents of some types into text: it reads the document from standard input and writes what it found to standard output."

  setting "types" {
    type    = "list"
    meaning = "MIME types the program is for; \"image/*\" for all of a kind."
  }

  setting "command" {
    type    = "list"
    meaning = "The program and its arguments; no shell reads them. {type} and {url} in an argument stand for the document's type and URL, which the environment has as CRAWLER_TYPE and CRAWLER_URL, too."
  }

  setting "time_limit" {
    type    = "duration"
    default = "10s"
    min     = "100ms"
    meaning = "How long one document may take; then the program and all it has started are killed. Should be below parser.timeout."
  }

  setting "format" {
    type    = "string"
    default = "text"
    one_of  = ["text", "html", "json"]
    meaning = "What the program writes: text, whose first line is the title; an HTML page, of which text, title and links are taken; or a JSON object with title, text, links and metadata."
  }

  setting "encoding" {
    type    = "string"
    default = "utf-8"
    meaning = "Charset of what the program writes."
  }
}

setting "max_output" {
  type    = "size"
  default = "8MiB"
  min     = "1KiB"
  max     = "48MiB"
  meaning = "Bytes read of what a program writes; then it is killed, and what was read counts."
}

setting "processes" {
  type    = "int"
  default = 4
  min     = "1"
  max     = "256"
  meaning = "Programs that run at the same time."
}
