id      = "index-static"
name    = "Constant fields"
version = "1.0.0"
api     = 1

provide "indexingfilter" {
  extension = "StaticField"
}

setting "fields" {
  type    = "map"
  default = {}
  meaning = "Fields that every document gets, one value each."
}

setting "static" {
  type    = "string"
  default = ""
  meaning = "The same as Nutch writes it: fields separated by fieldsep, a name and its values by keysep, values by valuesep, as in \"source:web,tag:a b\"."
  nutch   = "index.static"
}

setting "fieldsep" {
  type    = "string"
  default = ","
  meaning = "Separates the fields of static."
  nutch   = "index.static.fieldsep"
}

setting "keysep" {
  type    = "string"
  default = ":"
  meaning = "Separates a name of static from its values."
  nutch   = "index.static.keysep"
}

setting "valuesep" {
  type    = "string"
  default = " "
  meaning = "Separates the values of static; empty: there is one."
  nutch   = "index.static.valuesep"
}
