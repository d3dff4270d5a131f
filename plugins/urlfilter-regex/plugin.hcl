id      = "urlfilter-regex"
name    = "Regular expression URL filter"
version = "1.0.0"
api     = 1

provide "urlfilter" {
  extension = "RegexURLFilter"
}

setting "file" {
  type    = "file"
  default = ""
  meaning = "Rule file in Nutch's format: +regex accepts, -regex rejects, the first rule found in the URL decides, no rule rejects. Empty: the rules built into the plugin."
  nutch   = "urlfilter.regex.file"
}

setting "rules" {
  type    = "list"
  default = []
  meaning = "Rules given here instead of in a file, one line of the file format each; they win over file."
  nutch   = "urlfilter.regex.rules"
}

setting "time_limit" {
  type    = "duration"
  default = "100ms"
  meaning = "Time one match of a back-tracking rule may take. A URL on which a rule runs into it is rejected and counted under that rule."
}
