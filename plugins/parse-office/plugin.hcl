id      = "parse-office"
name    = "Office document parser"
version = "1.0.0"
api     = 1

provide "parser" {
  extension = "OfficeParser"
  mime_types = [
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.template",
    "application/vnd.ms-word.document.macroenabled.12",
    "application/vnd.ms-word.template.macroenabled.12",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.template",
    "application/vnd.ms-excel.sheet.macroenabled.12",
    "application/vnd.ms-excel.template.macroenabled.12",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    "application/vnd.openxmlformats-officedocument.presentationml.slideshow",
    "application/vnd.openxmlformats-officedocument.presentationml.template",
    "application/vnd.ms-powerpoint.presentation.macroenabled.12",
    "application/vnd.ms-powerpoint.slideshow.macroenabled.12",
    "application/vnd.oasis.opendocument.text",
    "application/vnd.oasis.opendocument.text-template",
    "application/vnd.oasis.opendocument.text-master",
    "application/vnd.oasis.opendocument.text-flat-xml",
    "application/vnd.oasis.opendocument.spreadsheet",
    "application/vnd.oasis.opendocument.spreadsheet-template",
    "application/vnd.oasis.opendocument.spreadsheet-flat-xml",
    "application/vnd.oasis.opendocument.presentation",
    "application/vnd.oasis.opendocument.presentation-template",
    "application/vnd.oasis.opendocument.presentation-flat-xml",
    "application/vnd.oasis.opendocument.graphics",
    "application/rtf", "text/rtf", "application/x-rtf",
    "application/epub+zip",
  ]
}

sections = ["parser"]

setting "time_limit" {
  type    = "duration"
  default = "20s"
  min     = "100ms"
  meaning = "How long one document may take; what was read by then counts. Should be below parser.timeout."
}

setting "max_unpacked" {
  type    = "size"
  default = "256MiB"
  min     = "1MiB"
  meaning = "Bytes that are unpacked of one document at most; what was read by then counts."
}

setting "max_parts" {
  type    = "int"
  default = 100000
  min     = "10"
  meaning = "Parts of one document that are read at most, such as the sheets of a workbook."
}

setting "max_strings" {
  type    = "size"
  default = "64MiB"
  min     = "1MiB"
  meaning = "Bytes that a workbook's table of texts may take in memory; cells whose text is beyond are left out."
}

setting "title_from_text" {
  type    = "bool"
  default = true
  meaning = "A document without a title is named by the first line of its text."
}

setting "text_outlinks" {
  type    = "bool"
  default = false
  meaning = "URLs written in the text are links, besides those marked as links."
}

setting "outlinks_max" {
  type    = "int"
  default = 10000
  min     = "0"
  meaning = "Links taken from one document at most; 0 means no limit."
}

setting "outlinks_max_length" {
  type    = "size"
  default = "8KiB"
  min     = "0"
  meaning = "Length of a link as written at most; longer ones are dropped. 0 means no limit."
}
