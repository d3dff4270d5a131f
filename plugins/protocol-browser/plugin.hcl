id      = "protocol-browser"
name    = "JavaScript pages through Chromium"
version = "1.0.0"
api     = 1

provide "protocol" {
  extension = "Browser"
  schemes   = ["http", "https"]
}

memory_limit = "4GiB"
sections     = ["http"]

setting "path" {
  type    = "string"
  default = ""
  meaning = "The browser: a file, or a program of the search path. Empty: the first of chromium, chromium-browser, google-chrome-stable, google-chrome, chrome and headless-shell that is there."
  nutch   = "selenium.grid.binary"
}

setting "sandbox" {
  type    = "bool"
  default = true
  meaning = "Run pages in Chromium's sandbox. Root can't: run the crawler as another user or, where pages are trusted, set this to false."
}

setting "pages" {
  type    = "int"
  default = 4
  meaning = "Pages open at the same time; further requests wait."
}

setting "restart_after" {
  type    = "int"
  default = 500
  meaning = "Pages after which a fresh browser takes over, for the memory that browsers lose."
}

setting "page_timeout" {
  type    = "duration"
  default = "40s"
  meaning = "How long one page may take in all; then what is there is taken, marked as cut. At most http.time_limit."
  nutch   = "page.load.delay (s)"
}

setting "wait" {
  type    = "list"
  default = ["load", "idle"]
  meaning = "What is waited for, one after the other, before a page counts as done: \"load\" (its load event), \"dom\" (its HTML), \"idle\" (no request under way for idle_time), \"selector CSS\" (an element appears), \"gone CSS\" (none is left), or a time such as \"500ms\"."
}

setting "wait_timeout" {
  type    = "duration"
  default = "10s"
  meaning = "How long each wait and each step may take; then the page goes on."
}

setting "idle_time" {
  type    = "duration"
  default = "500ms"
  meaning = "Time without a request under way that counts as idle."
}

setting "steps" {
  type    = "list"
  default = []
  meaning = "What is done on a loaded page, one after the other; see the README. Such as \"scroll\", \"click button.more\", \"click_while .load-more\", \"on ^https://shop\\\\.example/\"."
  nutch   = "interactiveselenium.handlers"
}

setting "javascript" {
  type    = "bool"
  default = true
  meaning = "Run the scripts of pages."
  nutch   = "htmlunit.enable.javascript"
}

setting "block" {
  type    = "list"
  default = ["image", "media", "font"]
  meaning = "Types of sub-requests that are not made: image, media, font, stylesheet, script, xhr, fetch, eventsource, websocket, manifest, ping, document (frames), other. Pages of which screenshots are taken want an empty list."
}

setting "block_urls" {
  type    = "list"
  default = []
  meaning = "Regular expressions of URLs that pages don't load, such as those of trackers."
}

setting "subrequests" {
  type    = "string"
  default = "all"
  meaning = "Hosts that a page may load from: \"all\", \"domain\" (the registered domain of the page), \"host\" (the page's own)."
}

setting "max_requests" {
  type    = "int"
  default = 500
  meaning = "Sub-requests of one page at most."
}

setting "max_page_bytes" {
  type    = "size"
  default = "64MiB"
  meaning = "Bytes that one page may send and receive in all."
}

setting "max_reloads" {
  type    = "int"
  default = 2
  meaning = "How often a page may load itself again, as those do that set a cookie first."
}

setting "conditional" {
  type    = "bool"
  default = false
  meaning = "Ask with If-Modified-Since and If-None-Match. What a page shows often changes while its own HTML does not."
}

setting "window" {
  type    = "string"
  default = "1280x1024"
  meaning = "Width and height of the window, in pixels."
}

setting "screenshot" {
  type    = "string"
  default = "none"
  meaning = "Picture of each page kept with its content: \"none\", \"window\" (what is in sight), \"page\" (all of it)."
  nutch   = "take.screenshot"
}

setting "screenshot_limit" {
  type    = "size"
  default = "8MiB"
  meaning = "A picture with more bytes is dropped, which is reported."
}
