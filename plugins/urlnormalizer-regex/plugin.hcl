id      = "urlnormalizer-regex"
name    = "Regular expression URL normalizer"
version = "1.0.0"
api     = 1

provide "urlnormalizer" {
  extension = "RegexURLNormalizer"
}

setting "file" {
  type    = "file"
  default = ""
  meaning = "Rule file in Nutch's regex-normalize.xml format. Empty: the rules built into the plugin."
  nutch   = "urlnormalizer.regex.file"
}

setting "rules" {
  type    = "list"
  default = []
  meaning = "Rules given here instead of in a file, each as s<d>pattern<d>substitution<d> with any delimiter <d>, such as \"s|&{2,}|&|\"; they win over file."
  nutch   = "urlnormalizer.regex.rules"
}

setting "scope_files" {
  type    = "map"
  default = {}
  meaning = "Rule files for single scopes, such as { inject = \"seeds.xml\" }; a scope without one uses the rules above. Relative names are looked up beside file."
  nutch   = "urlnormalizer.regex.file.<scope>"
}

setting "time_limit" {
  type    = "duration"
  default = "100ms"
  meaning = "Time one rule may take on a URL on the back-tracking engine. A URL on which a rule runs into it is dropped."
}
