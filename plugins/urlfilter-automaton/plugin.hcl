id      = "urlfilter-automaton"
name    = "Automaton URL filter"
version = "1.0.0"
api     = 1

provide "urlfilter" {
  extension = "AutomatonURLFilter"
}

setting "file" {
  type    = "file"
  default = ""
  meaning = "Rule file in Nutch's format: +expression accepts, -expression rejects, the first rule that matches the whole URL decides, no rule rejects. Empty: the rules built into the plugin."
  nutch   = "urlfilter.automaton.file"
}

setting "rules" {
  type    = "list"
  default = []
  meaning = "Rules given here instead of in a file, one line of the file format each; they win over file."
  nutch   = "urlfilter.automaton.rules"
}
