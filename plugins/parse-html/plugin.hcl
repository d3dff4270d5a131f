id      = "parse-html"
name    = "HTML parser"
version = "1.0.0"
api     = 1

provide "parser" {
  extension  = "HtmlParser"
  mime_types = ["text/html", "application/xhtml+xml"]
}

sections = ["parser", "http"]

setting "line_separators" {
  type = "list"
  default = [
    "address", "article", "aside", "blockquote", "br", "canvas", "caption", "center", "dd", "details", "dialog", "dir",
    "div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6",
    "header", "hgroup", "hr", "li", "main", "menu", "nav", "noscript", "ol", "output", "p", "pre", "search", "section",
    "summary", "table", "tbody", "tfoot", "thead", "tr", "ul", "video",
  ]
  meaning = "Elements that start a new line of the text. Cells and options are separated by a space at least."
  nutch   = "parser.html.line.separators"
}

setting "title_in_text" {
  type    = "bool"
  default = true
  meaning = "The text starts with the title."
}

setting "outlinks_tags" {
  type    = "list"
  default = ["a", "area", "frame", "iframe", "link"]
  meaning = "Elements whose URLs are links. Also possible: img, source, video, audio, embed, object, script, form. parser.html_outlinks_ignore_tags takes away from these, parser.html_form_use_action adds form."
}

setting "outlinks_link_rels" {
  type = "list"
  default = [
    "alternate", "appendix", "bookmark", "canonical", "chapter", "contents", "copyright", "first", "glossary", "help",
    "index", "last", "next", "prev", "previous", "section", "start", "subsection", "up",
  ]
  meaning = "Values of rel that make a link element a link. Also possible: amphtml for AMP pages; preload, modulepreload and prefetch; stylesheet; icon."
}

setting "outlinks_srcset" {
  type    = "bool"
  default = true
  meaning = "The images in srcset and imagesrcset are links too, of elements in outlinks_tags (img, source, link)."
}

setting "outlinks_data_attributes" {
  type    = "list"
  default = []
  meaning = "Attributes whose URLs are links too, of elements in outlinks_tags: data-src, data-href, data-url, data-srcset, data-original, data-lazy-src."
}

setting "outlinks_hreflang" {
  type    = "bool"
  default = true
  meaning = "The page in other languages (link elements with hreflang) is a link."
}

setting "outlinks_ignore_rels" {
  type    = "list"
  default = ["nofollow"]
  meaning = "Values of rel that make a link none, such as nofollow, ugc, sponsored."
}

setting "outlinks_max" {
  type    = "int"
  default = 10000
  meaning = "Links taken from one page at most; 0 means no limit."
}

setting "outlinks_max_length" {
  type    = "size"
  default = "8KiB"
  meaning = "Length of a link as written at most; longer ones are dropped. 0 means no limit."
}

setting "outlinks_htmlnode_metadata_name" {
  type    = "string"
  default = ""
  meaning = "Key under which each outlink's metadata gets the name of the element it came from; empty: none."
  nutch   = "parser.html.outlinks.htmlnode_metadata_name"
}

setting "max_nodes" {
  type    = "int"
  default = 200000
  meaning = "Pages with more '<' than this are never made into a tree; text and links come from the stream, selectors find nothing. 0 means no limit."
}
