id      = "parse-image"
name    = "Image parser"
version = "1.0.0"
api     = 1

provide "parser" {
  extension = "ImageParser"
  mime_types = [
    "image/jpeg", "image/pjpeg", "image/png", "image/apng", "image/gif", "image/webp", "image/tiff", "image/avif", "image/heic", "image/heif",
    "image/bmp", "image/x-ms-bmp", "image/x-icon", "image/vnd.microsoft.icon", "image/svg+xml",
  ]
}

sections = ["parser"]

setting "tags" {
  type = "list"
  default = [
    "Make", "Model", "LensModel", "Software", "DateTimeOriginal", "Orientation", "ExposureTime", "FNumber", "ISO", "FocalLength",
  ]
  meaning = "EXIF tags that become parse metadata, with the prefix exif. before their names; \"*\" for all."
}

setting "gps" {
  type    = "bool"
  default = true
  meaning = "Where a picture was taken becomes parse metadata (geo.latitude, geo.longitude)."
}

setting "max_tags" {
  type    = "int"
  default = 2000
  min     = "1"
  meaning = "Tags read of one image at most."
}

setting "outlinks_max" {
  type    = "int"
  default = 1000
  min     = "0"
  meaning = "Links taken from one SVG image at most; 0 means no limit."
}

setting "outlinks_max_length" {
  type    = "size"
  default = "8KiB"
  min     = "0"
  meaning = "Length of a link as written at most; longer ones are dropped. 0 means no limit."
}
