id      = "index-replace"
name    = "Replacements in fields"
version = "1.0.0"
api     = 1

provide "indexingfilter" {
  extension = "ReplaceIndexer"
}

setting "regexp" {
  type    = "string"
  default = ""
  meaning = "Rules in Nutch's form, one a line: field=/regex/replacement/flags, field:target=..., and hostmatch= or urlmatch= lines that say for which hosts or URLs the rules below count. They win over file."
  nutch   = "index.replace.regexp"
}

setting "file" {
  type    = "file"
  default = ""
  meaning = "File with such rules."
}

setting "time_limit" {
  type    = "duration"
  default = "100ms"
  meaning = "Time one match of a back-tracking rule may take. A value on which a rule runs into it stays as it is."
}
