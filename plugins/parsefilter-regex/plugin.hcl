id      = "parsefilter-regex"
name    = "Marks by regular expressions"
version = "1.0.0"
api     = 1

provide "parsefilter" {
  extension = "RegexParseFilter"
}

needs {
  content = true
  text    = true
}

setting "file" {
  type    = "file"
  default = ""
  meaning = "Rule file in Nutch's format: on each line a name, a tab, html or text, a tab and a regular expression."
  nutch   = "parsefilter.regex.file"
}

setting "rules" {
  type    = "list"
  default = []
  meaning = "Rules given here instead of in a file, one line of the file format each; they win over file. Spaces may stand for the tabs."
  nutch   = "parsefilter.regex.rules"
}

setting "time_limit" {
  type    = "duration"
  default = "100ms"
  meaning = "Time one match of a back-tracking rule may take. On a page where a rule runs into it, the rule's name is not set."
}
