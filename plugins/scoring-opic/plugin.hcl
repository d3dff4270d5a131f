id      = "scoring-opic"
name    = "OPIC scoring"
version = "1.0.0"
api     = 1

provide "scoring" {
  extension = "OPICScoringFilter"
}

field "opic_cash" {
  reducer = "add"
  meaning = "Score received and not yet handed on, in micro-units."
}

field "opic_history" {
  reducer = "add"
  meaning = "Score handed on so far, in micro-units."
}

sections = ["db", "indexer"]

setting "mode" {
  type    = "string"
  default = "opic"
  meaning = "\"opic\": a page hands its cash on once and keeps account of it, as in the OPIC paper. \"nutch\": a page hands its whole score on at every fetch and keeps it, so that scores grow with every refetch."
}
