id      = "parsefilter-naivebayes"
name    = "Naive Bayes filter of outlinks"
version = "1.0.0"
api     = 1

provide "parsefilter" {
  extension = "NaiveBayesParseFilter"
}

needs {
  outlinks = true
  text     = true
}

setting "train_file" {
  type    = "file"
  default = ""
  meaning = "Texts that the filter learns from, in Nutch's format: on each line 1 (relevant) or 0 (irrelevant), a tab and a text."
  nutch   = "parsefilter.naivebayes.trainfile"
}

setting "training" {
  type    = "list"
  default = []
  meaning = "The same lines here instead of in a file; they win over train_file."
}

setting "wordlist" {
  type    = "file"
  default = ""
  meaning = "Words that save links of irrelevant pages when their URL has one in it; one on each line."
  nutch   = "parsefilter.naivebayes.wordlist"
}

setting "words" {
  type    = "list"
  default = []
  meaning = "The same words here instead of in a file; they win over wordlist."
}
