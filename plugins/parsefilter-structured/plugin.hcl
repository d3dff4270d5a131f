id      = "parsefilter-structured"
name    = "Fields from structured data"
version = "1.0.0"
api     = 1

provide "parsefilter" {
  extension = "StructuredDataParseFilter"
}

provide "indexingfilter" {
  extension = "StructuredDataIndexingFilter"
}

needs {
  fact "jsonld" {}
  fact "meta" {
    arg = "*"
  }
  fact "selector" {
    setting = "microdata"
    max     = 50
  }
}

setting "fields" {
  type = "map"
  default = {
    schema_type  = "ld:@type, md:@type, og:type, dc.type, dcterms.type"
    headline     = "ld:headline, ld:name, md:headline, md:name, og:title, twitter:title, dc.title, dcterms.title"
    summary      = "ld:description, md:description, og:description, twitter:description, dc.description, dcterms.description, dcterms.abstract"
    author       = "ld:author, md:author, article:author, dc.creator, dcterms.creator, author"
    publisher    = "ld:publisher, md:publisher, og:site_name, dc.publisher, dcterms.publisher"
    published    = "ld:datePublished, md:datePublished, article:published_time, dc.date, dcterms.issued, dcterms.date, dcterms.created"
    modified     = "ld:dateModified, md:dateModified, article:modified_time, og:updated_time, dcterms.modified"
    image        = "ld:image.url, md:image.url, og:image, og:image:url, twitter:image"
    section      = "ld:articleSection, md:articleSection, article:section"
    tags         = "ld:keywords, md:keywords, article:tag, dc.subject, dcterms.subject"
    price        = "ld:offers.price, ld:offers.lowPrice, md:offers.price, product:price:amount, og:price:amount"
    currency     = "ld:offers.priceCurrency, md:offers.priceCurrency, product:price:currency, og:price:currency"
    availability = "ld:offers.availability, md:offers.availability, product:availability"
    rating       = "ld:aggregateRating.ratingValue, md:aggregateRating.ratingValue"
  }
  meaning = "Field names and where their values come from, separated by commas; the first that has a value counts. ld:path is JSON-LD, md:path microdata, ld:Type/path looks in things of that type only, and any other word is the name of a meta tag such as og:title or dc.creator."
}

setting "add_fields" {
  type    = "map"
  default = {}
  meaning = "Further fields, or others in place of those in fields; \"\" takes a field away."
}

setting "multivalued" {
  type    = "list"
  default = ["author", "schema_type", "tags"]
  meaning = "Fields that keep every value, each once; \"*\" stands for all. The others keep the first."
}

setting "split" {
  type    = "list"
  default = ["tags"]
  meaning = "Fields whose values are lists with commas."
}

setting "numbers" {
  type    = "list"
  default = ["price", "rating"]
  meaning = "Fields whose values are numbers; values without one are left out."
}

setting "dates" {
  type    = "list"
  default = ["modified", "published"]
  meaning = "Fields whose values are dates; they become RFC 3339 in UTC, values that are none are left out."
}

setting "urls" {
  type    = "list"
  default = ["image"]
  meaning = "Fields whose values are links; they become absolute."
}

setting "microdata" {
  type    = "list"
  default = ["[itemscope]:not([itemprop])::html"]
  meaning = "Selectors of the elements that are read as microdata. Empty: no microdata, and parse-html needs no tree for it."
}

setting "max_values" {
  type    = "int"
  default = 50
  min     = "1"
  meaning = "Values one field of a page may have; the rest is left out."
}

setting "index" {
  type    = "bool"
  default = true
  meaning = "The fields become fields of the document, too. With false they are only parse metadata, for index-metadata."
}
