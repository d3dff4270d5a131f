id      = "scoring-link"
name    = "Link analysis scoring"
version = "1.0.0"
api     = 1

provide "scoring" {
  extension = "LinkAnalysisScoringFilter"
}

setting "normalize_score" {
  type    = "float"
  default = 1.0
  min     = "0"
  meaning = "Index boost = this × the page's score, whatever filters before made of the boost."
  nutch   = "link.analyze.normalize.score"
}
