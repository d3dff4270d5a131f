id      = "index-arbitrary"
name    = "Fields from a program"
version = "1.0.0"
api     = 1

provide "indexingfilter" {
  extension = "ArbitraryIndexingFilter"
}

needs {
  text = true
}

setting "command" {
  type    = "list"
  default = []
  meaning = "Program and its arguments. It reads one JSON object a line on standard input, for each document, and answers with one a line on standard output. Empty: nothing is added."
}

setting "processes" {
  type    = "int"
  default = 1
  min     = "1"
  max     = "64"
  meaning = "How many of the program run at a time; each gets one document after another."
}

setting "time_limit" {
  type    = "duration"
  default = "10s"
  min     = "1ms"
  meaning = "Time one answer may take. A program that takes longer is ended and started again; the document counts as failed."
}

setting "max_answer" {
  type    = "size"
  default = "1MiB"
  min     = "2B"
  meaning = "Length of one answer at most."
}

setting "fields" {
  type    = "list"
  default = []
  meaning = "Fields of the document that the program gets; empty: all."
}

setting "send_text" {
  type    = "bool"
  default = true
  meaning = "The program gets the text."
}
