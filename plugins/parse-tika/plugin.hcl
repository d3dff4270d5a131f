id      = "parse-tika"
name    = "Tika parser"
version = "1.0.0"
api     = 1

memory_limit = "2GiB" # the Tika server it starts belongs to it

provide "parser" {
  extension  = "TikaParser"
  mime_types = ["*"]
}

sections = ["parser"]

setting "url" {
  type    = "string"
  default = ""
  meaning = "Address of a running Tika server, such as \"http://127.0.0.1:9998\". Empty: one is started from jar."
}

setting "jar" {
  type    = "string"
  default = ""
  meaning = "Path of tika-server-standard's jar, from which a server is started when the first document comes. Absolute, or below the working directory."
}

setting "java" {
  type    = "string"
  default = "java"
  meaning = "The Java program (17 or newer) that runs jar; a name that is looked up in PATH, or a path."
}

setting "java_options" {
  type    = "list"
  default = ["-Xmx512m", "-XX:+UseSerialGC", "-XX:+ExitOnOutOfMemoryError", "-Djava.awt.headless=true"]
  meaning = "Options of the Java program. Its memory must stay below the manifest's memory_limit."
}

setting "start_limit" {
  type    = "duration"
  default = "25s"
  min     = "1s"
  meaning = "How long the server may take until it answers. Should be below parser.timeout."
}

setting "time_limit" {
  type    = "duration"
  default = "20s"
  min     = "100ms"
  meaning = "How long one document may take. A server that the plugin started is ended when a document takes longer, and started anew."
}

setting "concurrency" {
  type    = "int"
  default = 2
  min     = "1"
  max     = "64"
  meaning = "Documents sent to the server at the same time."
}

setting "parse_embedded" {
  type    = "bool"
  default = true
  meaning = "Documents inside the document are parsed too, and their texts belong to it."
  nutch   = "tika.parse.embedded"
}

setting "metadata" {
  type    = "bool"
  default = true
  meaning = "All metadata that Tika finds become parse metadata, under Tika's names."
}

setting "max_answer" {
  type    = "size"
  default = "64MiB"
  min     = "64KiB"
  meaning = "Length of the server's answer at most."
}

setting "text_outlinks" {
  type    = "bool"
  default = true
  meaning = "URLs written in the text are links when the document has no others."
}

setting "outlinks_max" {
  type    = "int"
  default = 10000
  min     = "0"
  meaning = "Links taken from one document at most; 0 means no limit."
}

setting "outlinks_max_length" {
  type    = "size"
  default = "8KiB"
  min     = "0"
  meaning = "Length of a link as written at most; longer ones are dropped. 0 means no limit."
}
