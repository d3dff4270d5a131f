id      = "scoring-depth"
name    = "Depth limit"
version = "1.0.0"
api     = 1

provide "scoring" {
  extension = "DepthScoringFilter"
}

field "depth" {
  reducer = "min"
  meaning = "Steps from the nearest seed; a seed has depth 1."
}

field "depth_left" {
  reducer = "max"
  meaning = "Steps that links may still lead on from the page, by the best path to it."
}

setting "max" {
  type    = "int"
  default = 1000
  min     = "1"
  max     = "1000000000"
  meaning = "Greatest depth of pages. A seed may have its own in its metadata, as _maxdepth_=N."
  nutch   = "scoring.depth.max"
}

setting "override_pattern" {
  type    = "string"
  default = ""
  meaning = "Regular expression; for links of pages whose URL it is found in, max_override holds. Empty: for none."
  nutch   = "scoring.depth.override.pattern"
}

setting "max_override" {
  type    = "int"
  default = 10
  min     = "1"
  max     = "1000000000"
  meaning = "Greatest depth for links of pages that override_pattern names."
  nutch   = "scoring.depth.max.override"
}

setting "unknown" {
  type    = "string"
  default = "seed"
  one_of  = ["seed", "drop"]
  meaning = "What to do with links of pages whose depth is not known, such as those crawled before the plugin was chosen: treat the pages as seeds, or drop their links, as Nutch does."
}
