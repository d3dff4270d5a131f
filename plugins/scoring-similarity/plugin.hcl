id      = "scoring-similarity"
name    = "Similarity scoring"
version = "1.0.0"
api     = 1

provide "scoring" {
  extension = "scoring-similarity"
}

needs {
  text = true
}

field "similarity" {
  reducer = "add"
  meaning = "Similarity of the page's text to the gold standard, in micro-units; its changes are added."
}

field "similarity_linked" {
  reducer = "max"
  meaning = "Similarity of the most similar page that links to the page, in micro-units."
}

setting "model" {
  type    = "string"
  default = "cosine"
  one_of  = ["cosine"]
  meaning = "How texts are compared: by the cosine of their term vectors."
  nutch   = "scoring.similarity.model"
}

setting "goldstandard_file" {
  type    = "file"
  default = ""
  meaning = "Text that pages are compared with."
  nutch   = "cosine.goldstandard.file"
}

setting "goldstandard" {
  type    = "string"
  default = ""
  meaning = "The text itself, instead of a file; it wins over goldstandard_file. Without either, scores stay as they are."
}

setting "stopword_file" {
  type    = "file"
  default = ""
  meaning = "File with one word per line that is not compared."
  nutch   = "scoring.similarity.stopword.file"
}

setting "stopwords" {
  type    = "list"
  default = []
  meaning = "Words that are not compared, instead of a file; they win over stopword_file."
}

setting "ngrams" {
  type    = "string"
  default = "1,1"
  meaning = "Shortest and longest runs of words that are compared, such as \"1,2\"; at most 5."
  nutch   = "scoring.similarity.ngrams"
}
