id      = "scoring-orphan"
name    = "Orphaned pages"
version = "1.0.0"
api     = 1

provide "scoring" {
  extension = "OrphanScoringFilter"
}

needs {
  orphans = true
}

field "orphan_since" {
  reducer = "min"
  meaning = "When the page was first found without inlinks, in seconds since 1970; 0 while pages link to it. A page that no page ever linked to has no such field."
}

setting "mark_gone_after" {
  type    = "duration"
  default = "30d"
  meaning = "How long a page must be without inlinks to become db_gone. More than mark_orphan_after: never."
  nutch   = "scoring.orphan.mark.gone.after (s)"
}

setting "mark_orphan_after" {
  type    = "duration"
  default = "40d"
  meaning = "How long a page must be without inlinks to become db_orphan."
  nutch   = "scoring.orphan.mark.orphan.after (s)"
}
