id      = "urlfilter-ignoreexempt"
name    = "Exemptions from ignoring external links"
version = "1.0.0"
api     = 1

provide "urlexemption" {
  extension = "ExemptionUrlFilter"
}

setting "file" {
  type    = "file"
  default = ""
  meaning = "Rule file in the format of regex-urlfilter.txt: +regex exempts a link, -regex does not, the first rule found in the link's target decides, no rule does not exempt. Empty: nothing is exempt."
  nutch   = "db.ignore.external.exemptions.file"
}

setting "rules" {
  type    = "list"
  default = []
  meaning = "Rules given here instead of in a file, one line of the file format each; they win over file."
}

setting "time_limit" {
  type    = "duration"
  default = "100ms"
  meaning = "Time one match of a back-tracking rule may take. A link on which a rule runs into it is not exempt."
}
