id      = "index-dedup-near"
name    = "Marks of near duplicates"
version = "1.0.0"
api     = 1

provide "indexingfilter" {
  extension = "NearDuplicateIndexingFilter"
}

needs {
  text = true
}

setting "source_field" {
  type    = "string"
  default = ""
  meaning = "Field of the document whose text is compared, such as main_content of index-content; empty, or not there: the parse's text."
}

setting "simhash_field" {
  type    = "string"
  default = "simhash"
  meaning = "Field for the 64-bit SimHash, 16 hexadecimal digits; empty: none."
}

setting "bands_field" {
  type    = "string"
  default = ""
  meaning = "Field for the four 16-bit parts of the SimHash; documents that differ in at most 3 bits share one of them. Empty: none."
}

setting "cluster_field" {
  type    = "string"
  default = "near_cluster"
  meaning = "Field for the id of the cluster, which near duplicates most likely share; empty: none."
}

setting "cluster_hashes" {
  type    = "int"
  default = 3
  min     = "1"
  max     = "16"
  meaning = "Hashes that must agree in a cluster: two documents that share the part s of their word groups get the same id with chance s to this power."
}

setting "shingle_words" {
  type    = "int"
  default = 3
  min     = "1"
  max     = "20"
  meaning = "Words of one word group."
}

setting "min_words" {
  type    = "int"
  default = 20
  min     = "1"
  meaning = "Documents with fewer words are not marked."
}

setting "max_words" {
  type    = "int"
  default = 20000
  min     = "1"
  meaning = "Words that are looked at; the rest of a document does not count."
}
