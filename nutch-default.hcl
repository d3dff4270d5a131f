# Every setting of the crawler's core: meaning, type, the Nutch property it
# stands for, and the default. This file is built into the program, which takes
# its knowledge of the settings from here; changing a copy of it does nothing.
# Write what you want to change into a file of your own and name it with
# --config (repeatable; later files win), for instance:
#
#   http {
#     agent_name = "mycrawler"
#     agent_url  = "https://example.org/crawler.html"
#   }
#
# Stronger than files are environment variables, CRAWLER_HTTP__AGENT_NAME, and
# stronger still is the command line, -D http.agent_name=mycrawler. There
# Nutch's spelling with Nutch's units is taken too: -D http.timeout=10000.
#
# Durations and sizes are texts with a unit: "500ms", "5s", "10m", "2h", "30d";
# "64KiB", "10MiB", "1GB". env("NAME") and file("path") read secrets, which are
# never shown. A "Type" line stands where the default doesn't show the type;
# "or -1" means that -1 ("-1" for durations and sizes) switches the limit off.
# Settings of plugins are in the plugins' own manifests and are changed in
# plugin "<id>" { ... }. "crawler config show" lists all.

crawl {
  # The crawl directory: everything the crawler stores for one crawl.
  dir = "crawl"
}

plugin {
  # Regular expression; plugins whose whole id matches take part.
  # Nutch: plugin.includes
  includes = "protocol-(http|file)|parse-(html|text|sitemap)|feed|urlfilter-(regex|validator)|urlnormalizer-(basic|regex|pass)|scoring-opic|index-(basic|anchor|more)|indexer-bleve"

  # Regular expression; plugins whose whole id matches don't take part.
  # Nutch: plugin.excludes
  excludes = ""

  # Ids of plugins that take part besides those in includes.
  add = []

  # Ids of plugins that don't take part although includes or add names them.
  remove = []

  # Folders searched for third-party plugins, one folder below for each. A
  # folder that isn't there is skipped, unless it was set by you.
  # Nutch: plugin.folders
  folders = ["plugins.d"]

  # How long a plugin may take from its start to its first answer.
  # Type: duration, min 100ms
  start_timeout = "30s"

  # How long one call of a plugin may take before it counts as hung. Fetching
  # and parsing have limits of their own: http.time_limit and parser.timeout.
  # Type: duration, min 10ms
  call_timeout = "60s"

  # How long a plugin gets to end by itself before it is killed.
  # Type: duration, min 0s
  stop_timeout = "5s"

  # Time between two health checks of a plugin.
  # Type: duration, min 100ms, or -1
  health_interval = "10s"

  # How long a plugin may leave health checks unanswered before it is replaced.
  # Type: duration, min 100ms
  health_timeout = "15s"

  # Memory of a plugin's whole process group; one that uses more is replaced.
  # A plugin's manifest may ask for another limit.
  # Type: size, min 32MiB, or -1
  memory_limit = "1GiB"

  # Time between two looks at the memory of plugins.
  # Type: duration, min 10ms
  watch_interval = "1s"

  # Threads a Go plugin may run at once (GOMAXPROCS); 0 is half of the machine's, at
  # least one: the core and the other plugins work at the same time.
  # Type: int, min 0, max 1024
  gomaxprocs = 0

  # Calls a plugin gets at once when its manifest doesn't say.
  # Type: int, min 1, max 1024
  concurrency = 8

  # Records in one call at most, for URLs.
  # Type: int, min 1, max 100000
  batch_urls = 500

  # Records in one call at most, for pages and documents.
  # Type: int, min 1, max 1000
  batch_pages = 16

  # Bytes in one call at most, a single greater record excepted.
  # Type: size, min 4KiB, max 64MiB
  batch_bytes = "1MiB"

  # How long a call waits for more records before it goes out.
  # Type: duration, min 0s, max 1s
  batch_wait = "10ms"

  # Greatest answer taken from a plugin in one message.
  # Type: size, min 1MiB, max 1GiB
  max_message = "64MiB"

  # Wait before a plugin that died is started again; doubled each time.
  # Type: duration, min 1ms
  restart_delay = "100ms"

  # The longest such wait.
  # Type: duration, min 1ms
  restart_delay_max = "10s"

  # Deaths in a row, without one record completed, after which the command stops.
  # Type: int, min 1
  restart_max = 10

  # Times that a record alone must kill or hang a fresh process before it is
  # given up as poisonous.
  # Type: int, min 1, max 100
  quarantine_attempts = 3

  # Fresh processes of one plugin that try suspect records at the same time.
  # Type: int, min 1, max 64
  quarantine_processes = 2

  # Attempts at a call that failed for a passing reason.
  # Type: int, min 1, max 100
  retries = 3

  # Wait before the first of them; doubled each time.
  # Type: duration, min 0s
  retry_delay = "50ms"

  # Memory for answers of URL normalizers and filters that are remembered.
  # Type: size, min 0, or -1
  cache_size = "64MiB"

  # Speak TLS with plugins, although they listen on a socket in a private folder.
  auto_tls = false

  # Plugin id = address of a process that already runs, for debuggers.
  reattach = {}

  # Plugin id = SHA-256 of its program in hex; another program isn't started.
  checksums = {}

  # Environment variables of the crawler that plugins get too.
  environment = []
}

http {
  # The crawler's name: the first word of the User-Agent and the name that
  # robots.txt files are searched for. Fetching demands it. Letters, "-" and "_".
  # Nutch: http.agent.name
  agent_name = ""

  # A few words in the User-Agent's parentheses on what the crawler is for.
  # Nutch: http.agent.description
  agent_description = ""

  # A page about the crawler, in the User-Agent. Fetching demands this or agent_email.
  # Nutch: http.agent.url
  agent_url = ""

  # A mail address, in the User-Agent and the From header.
  # Nutch: http.agent.email
  agent_email = ""

  # The version in the User-Agent.
  # Nutch: http.agent.version
  agent_version = "1.0"

  # Further names that robots.txt files are searched for; rules of all names
  # that are found are merged.
  # Nutch: http.robots.agents
  robots_agents = []

  # Hosts and addresses whose robots.txt is neither fetched nor obeyed. Yours only.
  # Nutch: http.robot.rules.allowlist
  robots_rules_allowlist = []

  # Whether 401 and 403 for robots.txt allow everything (RFC 9309) or forbid it.
  # Nutch: http.robots.403.allow
  robots_403_allow = true

  # Whether 429, 5xx and an unreachable robots.txt hold the host back; else they allow everything.
  # Nutch: http.robots.503.defer.visits
  robots_503_defer_visits = true

  # How long such a host is held back before robots.txt is tried again; doubled each time.
  # Type: duration, min 1s
  # Nutch: http.robots.503.defer.visits.delay (ms)
  robots_503_defer_visits_delay = "5m"

  # Redirects followed for robots.txt.
  # Type: int, min 0, max 20
  # Nutch: http.robots.redirect.max
  robots_redirect_max = 5

  # How long a robots.txt is used before it is fetched again.
  # Type: duration, min 1m, max 7d
  robots_expiry = "24h"

  # Bytes of a robots.txt that are read.
  # Type: size, min 500KiB, max 16MiB
  robots_content_limit = "500KiB"

  # How long opening a connection may take, TLS included.
  # Type: duration, min 10ms
  # Nutch: http.timeout (ms)
  connect_timeout = "10s"

  # How long a server may send nothing.
  # Type: duration, min 10ms
  # Nutch: http.timeout (ms)
  read_timeout = "10s"

  # How long one document may take in all; what came until then is kept and the
  # page marked as truncated.
  # Type: duration, min 100ms
  # Nutch: http.time.limit (s)
  time_limit = "60s"

  # Bytes of a document that are kept, after decoding; the rest is cut off and
  # the page marked as truncated.
  # Type: size, min 0, or -1
  # Nutch: http.content.limit (bytes)
  content_limit = "10MiB"

  # Bytes of a response's headers.
  # Type: size, min 4KiB, max 16MiB
  max_header_size = "64KiB"

  # Redirects, meta refreshes among them, followed at once; 0 records the target for a later round.
  # Type: int, min 0, max 20
  # Nutch: http.redirect.max
  redirect_max = 0

  # Drop the target (true) or record it for a later round (false) when a chain is longer.
  # Nutch: http.redirect.max.exceeded.skip
  redirect_max_exceeded_skip = false

  # The Accept header; "" sends none.
  # Nutch: http.accept
  accept = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"

  # The Accept-Language header; "" sends none.
  # Nutch: http.accept.language
  accept_language = "en-us,en-gb,en;q=0.7,*;q=0.3"

  # Ask for a page only if it changed since the time the server gave (If-Modified-Since).
  # Nutch: http.enable.if.modified.since.header
  enable_if_modified_since = true

  # Ask for a page only if its ETag changed (If-None-Match).
  enable_etag = true

  # Send the Cookie in a record's metadata, such as a seed's, and those of cookie_file.
  # Nutch: http.enable.cookie.header
  cookies = true

  # Cookies to send, one host a line: the host, a tab, the cookie ("name=value; other=value").
  # Type: file
  # Nutch: http.agent.host.cookie.file
  cookie_file = ""

  # Keep the cookies that servers set and send them back, as long as the process
  # lives. For sites with a form login they always are.
  cookie_jar = false

  # User names and passwords in Nutch's format (httpclient-auth.xml); see the
  # site blocks of plugin "protocol-http" for another way.
  # Type: file
  # Nutch: http.auth.file
  auth_file = ""

  # The name of this machine as NTLM servers are told.
  # Nutch: http.agent.host
  agent_host = ""

  # Take the User-Agent of each page request from agent_rotate_file, one after the
  # other. robots.txt is still asked for and obeyed under agent_name.
  # Nutch: http.agent.rotate
  agent_rotate = false

  # User-Agents, one a line.
  # Type: file
  # Nutch: http.agent.rotate.file
  agent_rotate_file = ""

  # Connect to these addresses only: addresses, networks (CIDR), and the words
  # localhost, loopback and sitelocal. Empty: any that is allowed otherwise.
  # Nutch: http.filter.ipaddress.include
  filter_ipaddress_include = []

  # Never connect to these addresses; stronger than include and allow_private.
  # Nutch: http.filter.ipaddress.exclude
  filter_ipaddress_exclude = []

  # Host name or address of a proxy; "" for none.
  # Nutch: http.proxy.host
  proxy_host = ""

  # The proxy's port.
  # Type: int, min 1, max 65535
  # Nutch: http.proxy.port
  proxy_port = 8080

  # User name at the proxy.
  # Nutch: http.proxy.username
  proxy_username = ""

  # Password at the proxy; write env("NAME") or file("path").
  # Type: string, secret
  # Nutch: http.proxy.password
  proxy_password = ""

  # Kind of proxy.
  # Type: one of http, https, socks5
  # Nutch: http.proxy.type (HTTP=http, SOCKS=socks5)
  proxy_type = "http"

  # Hosts reached without the proxy; "*" at the start or end stands for anything.
  # Nutch: http.proxy.exception.list
  proxy_exception_list = []

  # Refuse servers whose certificate isn't valid.
  # Nutch: http.tls.certificates.check
  tls_certificates_check = true

  # The lowest TLS version spoken.
  # Type: one of 1.0, 1.1, 1.2, 1.3
  tls_min_version = "1.2"

  # Speak HTTP/2 with servers that offer it.
  # Nutch: http.useHttp2
  http2 = true

  # Networks (CIDR), host names and host:port pairs outside the public internet
  # that may be fetched: loopback, private and link-local addresses are refused
  # otherwise. A seed that is localhost or an address allows itself.
  allow_private = []

  # How long the addresses of a host are remembered; 0s asks the resolver each time.
  # Type: duration, min 0s
  dns_cache_ttl = "5m"

  # Wait after 429 when the server doesn't say how long (Retry-After).
  # Type: duration, min 0s
  retry_after_default = "1m"

  # The longest wait that a server's Retry-After is granted.
  # Type: duration, min 1s
  retry_after_max = "24h"

  # Store how long the server took in the CrawlDatum, as _rs_ (milliseconds).
  # Nutch: http.store.responsetime
  store_responsetime = true

  # Store the server's address in the page's metadata, as _ip_.
  # Nutch: store.ip.address
  store_ip_address = false

  # Store the request in the page's metadata, as _request_, and as a request
  # record in the segment's WARC files.
  # Nutch: store.http.request
  store_request = false

  # Store the response's headers as received in the page's metadata, as _response.headers_.
  # Nutch: store.http.headers
  store_headers = false

  # Store the protocol's version, such as HTTP/1.1 or h2, in the page's metadata, as _protocol.versions_.
  # Nutch: store.protocol.versions
  store_protocol_versions = false
}

file {
  # Folders that file: URLs may reach. Without one no file: URL is fetched.
  roots = []

  # Bytes of a file that are kept; the rest is cut off and the page marked as truncated.
  # Type: size, min 0, or -1
  # Nutch: file.content.limit (bytes)
  content_limit = "10MiB"

  # Whether a folder's listing links to the folder above, inside roots.
  # Nutch: file.crawl.parent
  crawl_parent = false

  # Report a symbolic link as a redirect to what it leads to.
  # Nutch: file.crawl.redirect_noncanonical
  crawl_redirect_noncanonical = true

  # Whether a folder's listing holds files whose name starts with a dot.
  crawl_hidden = false

  # Entries of a folder's listing at most.
  # Type: int, min 1
  max_entries = 100000
}

db {
  # Time until a page is fetched again.
  # Type: duration, min 1s
  # Nutch: db.fetch.interval.default (s)
  fetch_interval_default = "30d"

  # The longest such time; every page is tried again after it, whatever its status.
  # Type: duration, min 1s
  # Nutch: db.fetch.interval.max (s)
  fetch_interval_max = "90d"

  # How the time of the next fetch is chosen: always after the interval; after
  # an interval that follows how often the page changes, with rates that may depend
  # on its type (mime-adaptive); or as seldom as a wanted age of the stored copies allows (freshness).
  # Type: one of default, adaptive, mime-adaptive, freshness
  # Nutch: db.fetch.schedule.class (DefaultFetchSchedule=default, AdaptiveFetchSchedule=adaptive, MimeAdaptiveFetchSchedule=mime-adaptive)
  fetch_schedule = "default"

  # Freshness: the mean age that stored copies of pages may have, counted from the
  # first change since the page was fetched. Blocks freshness "name" { ... } want another of some pages.
  # Type: duration, min 1s
  fetch_schedule_freshness_age = "7d"

  # Freshness: visits a day at most; when the wanted age takes more, all intervals are lengthened
  # by the same factor. -1 is no limit.
  # Type: float, min 0, or -1
  fetch_schedule_freshness_budget = -1.0

  # Freshness: the shortest interval.
  # Type: duration, min 1s
  fetch_schedule_freshness_min_interval = "1h"

  # Freshness: the longest interval, but for a budget; at most fetch_interval_max.
  # Type: duration, min 1s
  fetch_schedule_freshness_max_interval = "90d"

  # Adaptive: by what part the interval grows when the page didn't change.
  # Type: float, min 0, max 10
  # Nutch: db.fetch.schedule.adaptive.inc_rate
  fetch_schedule_adaptive_inc_rate = 0.4

  # Adaptive: by what part the interval shrinks when the page changed.
  # Type: float, min 0, max 1
  # Nutch: db.fetch.schedule.adaptive.dec_rate
  fetch_schedule_adaptive_dec_rate = 0.2

  # Adaptive: the shortest interval.
  # Type: duration, min 1s
  # Nutch: db.fetch.schedule.adaptive.min_interval (s)
  fetch_schedule_adaptive_min_interval = "1m"

  # Adaptive: the longest interval.
  # Type: duration, min 1s
  # Nutch: db.fetch.schedule.adaptive.max_interval (s)
  fetch_schedule_adaptive_max_interval = "365d"

  # Adaptive: move the next fetch towards the time the page was seen to change.
  # Nutch: db.fetch.schedule.adaptive.sync_delta
  fetch_schedule_adaptive_sync_delta = true

  # Adaptive: by what part of the time since that change.
  # Type: float, min 0, max 1
  # Nutch: db.fetch.schedule.adaptive.sync_delta_rate
  fetch_schedule_adaptive_sync_delta_rate = 0.3

  # mime-adaptive: file with the rates of types, one "type inc_rate dec_rate" on a line; other
  # types have the rates above. Empty: text/html and application/xhtml+xml 0.2 0.2,
  # application/pdf 0.1 0.4.
  # Nutch: db.fetch.schedule.mime.file
  fetch_schedule_mime_file = ""

  # Failures in a row that are tried again before a page counts as gone.
  # Type: int, min 0, max 127
  # Nutch: db.fetch.retry.max
  fetch_retry_max = 3

  # Time until a page that failed is tried again.
  # Type: duration, min 0s
  fetch_retry_delay = "1d"

  # Whether updatedb adds URLs that were found on pages.
  # Nutch: db.update.additions.allowed
  update_additions_allowed = true

  # Whether updatedb removes pages that are gone.
  # Nutch: db.update.purge.404
  update_purge_404 = false

  # Whether pages that become db_orphan leave the CrawlDB; needs scoring-orphan.
  # Nutch: db.update.purge.orphans
  update_purge_orphans = false

  # Drop links to the same host or domain.
  # Nutch: db.ignore.internal.links
  ignore_internal_links = false

  # Drop links to other hosts or domains: the crawl stays on its seeds' sites.
  # Nutch: db.ignore.external.links
  ignore_external_links = false

  # Apply both to redirects too.
  # Nutch: db.ignore.also.redirects
  ignore_also_redirects = true

  # What internal and external go by.
  # Type: one of byHost, byDomain
  # Nutch: db.ignore.external.links.mode
  ignore_external_links_mode = "byHost"

  # A seed that is known already replaces the record (Nutch's -overwrite).
  # Nutch: db.injector.overwrite
  injector_overwrite = false

  # A seed that is known already changes score, interval and metadata (Nutch's -update).
  # Nutch: db.injector.update
  injector_update = false

  # The score of seeds that don't bring one.
  # Type: float, min 0, max 1000000
  # Nutch: db.score.injected
  score_injected = 1.0

  # Part of the score that a link to another host hands on.
  # Type: float, min 0, max 1000
  # Nutch: db.score.link.external
  score_link_external = 1.0

  # Part of the score that a link on the same host hands on.
  # Type: float, min 0, max 1000
  # Nutch: db.score.link.internal
  score_link_internal = 1.0

  # Share the score among all links of a page (true) or those accepted (false).
  # Nutch: db.score.count.filtered
  score_count_filtered = false

  # Links taken from a page.
  # Type: int, min 0, or -1
  # Nutch: db.max.outlinks.per.page
  max_outlinks_per_page = 100

  # Bytes of a URL; longer ones are dropped and counted.
  # Type: int, min 16, max 65536
  # Nutch: db.max.outlink.length
  max_outlink_length = 4096

  # Names of parse metadata that are copied to the CrawlDB.
  # Nutch: db.parsemeta.to.crawldb
  parsemeta_to_crawldb = []

  # How it is decided that two pages are the same: by their bytes, by their
  # text, or by the profile of their text, which finds near duplicates.
  # Type: one of md5, text_md5, text_profile
  # Nutch: db.signature.class (MD5Signature=md5, TextMD5Signature=text_md5, TextProfileSignature=text_profile)
  signature = "md5"

  # text_profile: words not longer than this don't count.
  # Type: int, min 0
  # Nutch: db.signature.text_profile.min_token_len
  signature_text_profile_min_token_len = 2

  # text_profile: how coarse counts of words are, relative to the most frequent one.
  # Type: float, min 0, max 1
  # Nutch: db.signature.text_profile.quant_rate
  signature_text_profile_quant_rate = 0.01

  # text_profile: words of equal count are ordered by the alphabet.
  # Nutch: db.signature.text_profile.sec_sort_lex
  signature_text_profile_sec_sort_lex = true

  # The quantiles of the score that readdb --stats prints.
  # Nutch: db.stats.score.quantiles
  stats_score_quantiles = [".01", ".05", ".1", ".2", ".25", ".3", ".4", ".5", ".6", ".7", ".75", ".8", ".9", ".95", ".99"]
}

sitemap {
  # Whether "crawler run" reads the sitemaps of the hosts it knows before it makes a fetch
  # list: never, those of each host once, or always, again after interval. "crawler sitemap"
  # reads them whatever this says.
  # Type: one of never, once, always
  from_hostdb = "never"

  # Time until the sitemaps of a host are read again under always.
  # Type: duration, min 1m
  interval = "1d"

  # A sitemap may name only what is on its host below its own folder, and what is on
  # hosts whose robots.txt names the sitemap. Without this it may name everything.
  # Nutch: sitemap.strict.parsing
  strict_parsing = true

  # Whether the URL filters judge URLs of sitemaps.
  # Nutch: sitemap.url.filter
  url_filter = true

  # Whether the normalizers change URLs of sitemaps.
  # Nutch: sitemap.url.normalize
  url_normalize = true

  # Ask for /sitemap.xml of hosts whose robots.txt names no sitemap or is not known.
  # Nutch: sitemap.url.default.sitemap.xml
  url_default_sitemap_xml = true

  # Whether records that exist take score, interval and modification time from the
  # sitemap, and pages that changed since their last fetch become due.
  # Nutch: sitemap.url.overwrite.existing
  url_overwrite_existing = false

  # Redirects of a sitemap that are followed.
  # Type: int, min 0
  # Nutch: sitemap.redir.max
  redir_max = 3

  # Bytes of a sitemap that are read.
  # Type: size, min 1KiB, max 60MiB
  # Nutch: sitemap.size.max (bytes)
  size_max = "50MiB"

  # URLs of a sitemap, or sitemaps of an index, that are taken; the protocol allows 50,000.
  # Type: int, min 1, or -1
  max_urls = 50000

  # Indexes within indexes that are followed; the protocol allows one.
  # Type: int, min 1, or -1
  max_depth = 3

  # Sitemaps that are read for one host.
  # Type: int, min 1, or -1
  max_per_host = 1000

  # URLs that are taken from the sitemaps of one host.
  # Type: int, min 1, or -1
  max_urls_per_host = 1000000
}

linkdb {
  # Inlinks kept for a page.
  # Type: int, min 0, or -1
  # Nutch: linkdb.max.inlinks
  max_inlinks = 10000

  # Leave out links from the same host.
  # Nutch: linkdb.ignore.internal.links
  ignore_internal_links = true

  # Leave out links from other hosts.
  # Nutch: linkdb.ignore.external.links
  ignore_external_links = false

  # Characters of an anchor's text that are kept.
  # Type: int, min 0, or -1
  # Nutch: linkdb.max.anchor.length
  max_anchor_length = 100
}

link {
  # Link graph: leave out links within a host.
  # Nutch: link.ignore.internal.host
  ignore_internal_host = true

  # Link graph: leave out links within a registered domain.
  # Nutch: link.ignore.internal.domain
  ignore_internal_domain = true

  # Link graph: of a page's links to one page (a URL without its query) take the first; LinkRank counts one inlink of
  # a page from each page.
  # Nutch: link.ignore.limit.page
  ignore_limit_page = true

  # The same for domains.
  # Nutch: link.ignore.limit.domain
  ignore_limit_domain = true

  # Leave out links to pages that are gone or redirect elsewhere. Such pages' own links never count.
  # Nutch: link.delete.gone
  delete_gone = false

  # LinkRank and PageRank: iterations at most. Nutch makes 10, which ends before the scores are settled.
  # Type: int, min 1, max 100000
  # Nutch: link.analyze.num.iterations
  analyze_num_iterations = 100

  # They end earlier when the scores of all pages together change by less than this, relative to their sum; 0 never ends early.
  # Type: float, min 0, max 1
  analyze_tolerance = 0.000001

  # LinkRank: the score that pages begin with.
  # Type: float, min 0, max 1000000
  # Nutch: link.analyze.initial.score
  analyze_initial_score = 1.0

  # LinkRank and PageRank: the share of a score that links hand on.
  # Type: float, min 0, max 0.999
  # Nutch: link.analyze.damping.factor
  analyze_damping_factor = 0.85

  # LinkRank: what pages without links would hand on is shared by all pages (true), or lost as in Nutch (false).
  analyze_dangling = true

  # Memory for the counters of harmonic centrality, and for sorting.
  # Type: size, min 16MiB, max 1TiB
  analyze_memory = "512MiB"

  # scoreupdater: the score of URLs that are not in the link graph.
  # Type: float, min 0, max 1000000
  # Nutch: link.score.updater.clear.score
  score_updater_clear_score = 0.0
}

hostdb {
  # updatehostdb: look up the addresses of hosts that were not looked up before.
  # Nutch: hostdb.check.new
  check_new = true

  # The same for hosts that had one the last time.
  # Nutch: hostdb.check.known
  check_known = true

  # The same for hosts that had none the last time.
  # Nutch: hostdb.check.failed
  check_failed = true

  # Look them up whenever updatehostdb runs, not after recheck_interval.
  # Nutch: hostdb.force.check
  force_check = false

  # How long a look-up of a host holds; of one that has no address so many times as long as it failed in a row.
  # Type: duration, min 1s
  # Nutch: hostdb.recheck.interval (ms)
  recheck_interval = "1d"

  # Look-ups in a row that find no address after which a host is given up: what is known of it is forgotten and its
  # URLs are held until the next look-up.
  # Type: int, min 1, or -1
  # Nutch: hostdb.purge.failed.hosts.threshold
  purge_failed_hosts_threshold = 3

  # Look-ups at once.
  # Type: int, min 1, max 1000
  # Nutch: hostdb.num.resolvers.threads
  num_resolvers_threads = 25

  # Metadata of records that are numbers: updatehostdb keeps their least, greatest and mean value and percentiles by host.
  # Nutch: hostdb.numeric.fields
  numeric_fields = ["_rs_"]

  # Metadata of records that are texts: updatehostdb keeps how often each value is there by host.
  # Nutch: hostdb.string.fields
  string_fields = ["Content-Type"]

  # The percentiles, from 0 to 100.
  # Nutch: hostdb.percentiles
  percentiles = ["50", "75", "95", "99"]

  # updatehostdb counts only URLs that pass the URL filters. Its counts then stand for those of all URLs, for
  # readhostdb and expressions, until it runs without this and url_normalize.
  # Nutch: hostdb.url.filter
  url_filter = false

  # updatehostdb counts URLs under the host of their normal form, as with url_filter.
  # Nutch: hostdb.url.normalize
  url_normalize = false

  # updatehostdb leaves hosts with fewer URLs than this as they are; -1 for none.
  # Type: int, min 1, or -1
  # Nutch: hostdb.url.limit
  url_limit = -1
}

generate {
  # URLs of a round at most, the best first.
  # Type: int, min 1, or -1
  # Nutch: generate.topN
  top_n = 50000

  # URLs of one host or domain in a round at most.
  # Type: int, min 1, or -1
  # Nutch: generate.max.count
  max_count = -1

  # What max_count counts by.
  # Type: one of host, domain
  # Nutch: generate.count.mode
  count_mode = "host"

  # URLs with a lower score are left out.
  # Type: float
  # Nutch: generate.min.score
  min_score = 0.0

  # Only URLs whose fetch interval is at most this.
  # Type: duration, min 1s, or -1
  # Nutch: generate.min.interval (s)
  min_interval = "-1"

  # Only URLs of this status, such as "db_unfetched"; "" for all.
  # Nutch: generate.restrict.status
  restrict_status = ""

  # Expression: only URLs for which it is true, as 'score > 0.5 && metadata.lang == "de"'. It may name what
  # "readdb --dump --expr" may; when it fails for a URL, the URL is left out. URLs it refuses are read
  # anew each round.
  # Nutch: generate.expr
  expr = ""

  # Expression: only hosts for which it is true, as "dnsFailures == 0 && gone < 100". It may name what
  # "readhostdb --expr" may; when it fails for a host, the host is left out.
  hostdb_expr = ""

  # Expression: the max_count of each host, as "fetched > 1000 ? 100 : 10"; 0 or less is no limit. When it
  # fails for a host, max_count holds. A sheet comes before it.
  # Nutch: generate.max.count.expr
  max_count_expr = ""

  # Expression: milliseconds between two requests to each host, instead of fetcher.server_delay; it is evaluated
  # when the host's URLs are queued. Below 0, and when it fails, server_delay holds. A sheet comes before it,
  # and a robots.txt that asks for more is obeyed.
  # Nutch: generate.fetch.delay.expr
  fetch_delay_expr = ""
}

fetcher {
  # Wait between the end of a request to a host and the start of the next, when
  # its robots.txt doesn't ask for another.
  # Type: duration, min 0s
  # Nutch: fetcher.server.delay (s)
  server_delay = "1s"

  # The same when threads_per_queue is greater than 1.
  # Type: duration, min 0s
  # Nutch: fetcher.server.min.delay (s)
  server_min_delay = "0s"

  # Pages of hosts whose robots.txt asks for a longer Crawl-delay are skipped.
  # Type: duration, min 0s, or -1
  # Nutch: fetcher.max.crawl.delay (s)
  max_crawl_delay = "30s"

  # A robots.txt can't lower the wait below this; -1 takes server_delay.
  # Type: duration, min 0s, or -1
  # Nutch: fetcher.min.crawl.delay (s)
  min_crawl_delay = "-1"

  # Requests at once.
  # Type: int, min 1, max 10000
  # Nutch: fetcher.threads.fetch
  threads_fetch = 50

  # Requests at once to one host; above 1 a robots.txt's Crawl-delay is ignored.
  # Type: int, min 1, max 1000
  # Nutch: fetcher.threads.per.queue
  threads_per_queue = 1

  # What makes up a queue: a host, a registered domain, or an address.
  # Type: one of byHost, byDomain, byIP
  # Nutch: fetcher.queue.mode; partition.url.mode
  queue_mode = "byHost"

  # How long the fetch of a round may take; what is left is released unchanged.
  # Type: duration, min 1s, or -1
  # Nutch: fetcher.timelimit.mins (min)
  timelimit = "-1"

  # How long the fetch of a round waits for hosts that are held back or slow when
  # nothing else is left; then their URLs are released unchanged.
  # Type: duration, min 0s, or -1
  release_after = "1m"

  # Pages a second below which the fetch of a round ends.
  # Type: float, min 0, or -1
  # Nutch: fetcher.throughput.threshold.pages
  throughput_threshold_pages = -1.0

  # Checks in a row that may fall below before it ends.
  # Type: int, min 0
  # Nutch: fetcher.throughput.threshold.retries
  throughput_threshold_retries = 5

  # How long after the start the checks begin.
  # Type: duration, min 0s
  # Nutch: fetcher.throughput.threshold.check.after (min)
  throughput_threshold_check_after = "5m"

  # Failures of a host in a row after which its other URLs are released.
  # Type: int, min 1, or -1
  # Nutch: fetcher.max.exceptions.per.queue
  max_exceptions_per_queue = 5

  # Wait after a host's failure, doubled with each; -1 takes server_delay, 0s adds none.
  # Type: duration, min 0s, or -1
  # Nutch: fetcher.exceptions.per.queue.delay (s)
  exceptions_per_queue_delay = "-1"

  # How long the failures of a host are remembered.
  # Type: duration, min 1s
  # Nutch: fetcher.exceptions.per.queue.clear.after (s)
  exceptions_per_queue_clear_after = "30m"

  # Bytes a second that pages may bring on average: after more, no request is
  # started until the average is kept again.
  # Type: size, min 1KiB, or -1
  # Nutch: fetcher.bandwidth.target (kbit/s)
  bandwidth_target = "-1"

  # Bytes of page bodies in memory at once; fetches wait for room.
  # Type: size, min 1MiB
  max_bytes_in_flight = "256MiB"

  # URLs held in memory in all.
  # Type: int, min 100
  queue_urls = 100000

  # Keep the pages as received, in the segment's WARC files.
  # Nutch: fetcher.store.content
  store_content = true

  # Keep robots.txt files there too.
  # Nutch: fetcher.store.robotstxt
  store_robotstxt = false

  # Tell publisher plugins what is fetched; there is none unless plugin { add } names it.
  # Nutch: fetcher.publisher
  publisher = true
}

parser {
  # Plugin ids or extension ids in the order they are tried for a MIME type.
  order = []

  # MIME type = plugin or extension ids separated by commas: these are tried for the
  # type, in that order, until one succeeds, instead of those whose manifests name
  # the type. "text/*" and "*" stand for types that nothing else names.
  mime_types = {}

  # How long parsing one document may take.
  # Type: duration, min 100ms, or -1
  # Nutch: parser.timeout (s)
  timeout = "30s"

  # The charset of documents that show none.
  # Nutch: parser.character.encoding.default
  character_encoding_default = "windows-1252"

  # Certainty (0 to 100) from which a guessed charset is taken; -1 never guesses.
  # Type: int, min 0, max 100, or -1
  # Nutch: encodingdetector.charset.min.confidence
  charset_min_confidence = 30

  # What a page that forbids caching (robots noarchive) is indexed without:
  # nothing, its content, or everything.
  # Type: one of none, content, all
  # Nutch: parser.caching.forbidden.policy
  caching_forbidden_policy = "content"

  # HTML tags whose links aren't taken, such as "img".
  # Nutch: parser.html.outlinks.ignore_tags
  html_outlinks_ignore_tags = []

  # Take the targets of forms as links.
  # Nutch: parser.html.form.use_action
  html_form_use_action = false

  # Don't parse pages that were cut off.
  # Nutch: parser.skip.truncated
  skip_truncated = false

  # Treat pages that can't be parsed as gone from the index (parse_failed).
  # Nutch: parser.delete.failed.parse
  delete_failed_parse = false

  # Keep the text of pages.
  # Nutch: parser.store.text
  store_text = true

  # Characters of a page's text at most.
  # Type: int, min 0, or -1
  max_text_length = 1000000

  # What becomes of the files in an archive: their texts are the archive's, or each
  # is a document of its own under the archive's URL, "#" and its name.
  # Type: one of text, documents
  members = "text"

  # Documents taken from inside one page, such as entries of a feed and files of an
  # archive, at most.
  # Type: int, min 0
  parts_max = 1000

  # How deep archives within archives are opened.
  # Type: int, min 0, max 16
  members_depth = 3

  # Bytes of all files in one archive, those of archives within it included, at most.
  # Type: size, min 0
  members_size_max = "64MiB"
}

parsefilter {
  # Plugin ids or extension ids that run first, in this order.
  # Nutch: htmlparsefilter.order
  order = []
}

protocol {
  # Plugin ids in the order of preference when two serve one scheme; the rest follows by
  # id. One that is not active is passed over.
  order = ["protocol-http"]

  # Scheme or host name = id of the plugin that fetches it; a host's comes before a scheme's.
  plugins = {}

  # Rules by URL, tried in order before all others: the id of a plugin and a regular
  # expression, such as "protocol-browser ^https://example\\.org/app/".
  rules = []

  # The same in the form of Nutch's host-protocol-mapping.txt: a host, a registered
  # domain or protocol:scheme, a tab, the plugin's id or extension id. What plugins
  # says comes before it.
  # Type: file
  mapping_file = ""
}

urlfilter {
  # Plugin ids or extension ids that run first, in this order; the rest follows by id.
  # Nutch: urlfilter.order
  order = []
}

urlnormalizer {
  # Plugin ids or extension ids that run first, in this order; the rest follows by id.
  # Nutch: urlnormalizer.order
  order = ["urlnormalizer-basic", "urlnormalizer-regex"]

  # Where a URL appeared = plugin ids separated by commas that run first there,
  # instead of order. The places are inject, outlink, fetcher, crawldb, linkdb,
  # generate_host_count, partition and indexer.
  order_by_scope = {}

  # Passes over the normalizers at most; one that changes nothing is the last.
  # Type: int, min 1, max 100
  # Nutch: urlnormalizer.loop.count
  loop_count = 1
}

urlexemption {
  # Plugin ids or extension ids that run first, in this order; the rest follows by id.
  order = []
}

scoring {
  # Plugin ids or extension ids that run first, in this order; the rest follows by id.
  # Nutch: scoring.filter.order
  order = []
}

indexingfilter {
  # Plugin ids or extension ids that run first, in this order; the rest follows by id. What works on the fields
  # of others comes behind them: name plugins of your own before index-replace when it, index-dedup-near,
  # index-arbitrary or index-jexl-filter is to see their fields.
  # Nutch: indexingfilter.order
  order = [
    "mimetype-filter", "index-basic", "index-anchor", "index-more", "index-metadata", "index-links", "index-content",
    "index-geoip", "creativecommons", "feed", "language-identifier", "microformats-reltag", "parsefilter-css",
    "parsefilter-structured", "subcollection", "tld", "urlmeta", "index-static", "index-replace", "index-dedup-near",
    "index-arbitrary", "index-jexl-filter",
  ]
}

publisher {
  # Plugin ids or extension ids that run first, in this order; the rest follows by id.
  # Nutch: publisher.order
  order = []
}

segmentmerge {
  # Plugin ids or extension ids that run first, in this order; the rest follows by id.
  order = []
}

dedup {
  # Whether dedup runs in each round of "crawler run".
  enabled = true

  # Look for duplicates everywhere, or only on the same host or domain.
  # Type: one of none, host, domain
  # Nutch: deduplication.group.mode
  group = "none"

  # What decides which of several equal pages stays: score, fetchTime,
  # urlLength, httpsOverHttp, in order; in the end the URL's key. Nutch has
  # fetchTime after score: then it depends on when a crawl was interrupted.
  # Nutch: deduplication.compare.order
  compare_order = ["score", "urlLength"]
}

indexer {
  # Whether each round of "crawler run" sends pages to the index writers.
  enabled = true

  # The page's score to this power weighs its documents.
  # Type: float, min 0, max 10
  # Nutch: indexer.score.power
  score_power = 0.5

  # Characters of a title that are indexed.
  # Type: int, min 0, or -1
  # Nutch: indexer.max.title.length
  max_title_length = 100

  # Characters of a page's text that are indexed.
  # Type: int, min 0, or -1
  # Nutch: indexer.max.content.length
  max_content_length = -1

  # Add the field "domain".
  # Nutch: indexer.add.domain
  add_domain = false

  # Delete from the index what is gone, redirected or a duplicate.
  # Nutch: indexer.delete
  delete = true

  # Leave pages that forbid indexing (robots noindex) out of the index, and delete those
  # that are there; false indexes them all the same.
  # Nutch: indexer.delete.robots.noindex
  delete_robots_noindex = true

  # Let the normalizers (scope indexer) make the ids of documents from URLs. A change of this setting or
  # of their rules takes "crawler reindex", and leaves documents under their old ids.
  # Nutch: indexer.url.normalizers
  url_normalizers = false

  # Leave pages whose URL the filters reject out of the index, and delete those that are there.
  # Nutch: indexer.url.filters
  url_filters = false

  # Delete from the index, not only skip, what an indexing filter drops.
  # Nutch: indexer.delete.skipped.by.indexingfilter
  delete_skipped_by_indexingfilter = true

  # What becomes of a document that no exchange takes while there is no default one: it is
  # left out and counted, or the step ends with an error.
  # Type: one of skip, error
  unrouted = "skip"

  # Don't send pages that didn't change.
  # Nutch: indexer.skip.notmodified
  skip_notmodified = true

  # Documents sent to a writer at once.
  # Type: int, min 1, max 10000
  batch_size = 250

  # Bytes sent to a writer at once, a single greater document excepted.
  # Type: size, min 64KiB, max 64MiB
  batch_bytes = "4MiB"

  # Documents after which a writer is asked to commit.
  # Type: int, min 1
  commit_size = 10000

  # How often a batch is sent again when the index can't be reached.
  # Type: int, min 0
  retries = 8

  # Wait before the first of these; doubled each time.
  # Type: duration, min 1ms
  retry_delay = "500ms"

  # How long "crawler run" leaves an index writer alone that took nothing; doubled each time.
  # Then it is asked whether it is back, at the next round or while nothing else is to be done,
  # and gets what it lacks.
  # Type: duration, min 100ms
  down_delay = "30s"

  # The longest such pause.
  # Type: duration, min 100ms
  down_delay_max = "10m"

  # How long it may take to answer then.
  # Type: duration, min 10ms
  probe_timeout = "5s"
}

store {
  # Memory for blocks of the store.
  # Type: size, min 1MiB
  cache_size = "160MiB"

  # Memory for what is written before it goes to a file.
  # Type: size, min 1MiB, max 1GiB
  memtable_size = "32MiB"

  # Bytes of changes committed at once at most.
  # Type: size, min 64KiB, max 256MiB
  commit_bytes = "4MiB"

  # The longest that a finished page waits for its commit.
  # Type: duration, min 0s, max 10s
  commit_wait = "100ms"

  # Free disk space below which the run stops before it commits.
  # Type: size, min 0
  low_water = "512MiB"
}

cycle {
  # Rounds of "crawler run"; it ends earlier when nothing is left to do.
  # Type: int, min 1, or -1
  rounds = -1

  # Start the next round while slow hosts of this one are still being fetched.
  overlap = true

  # With overlap: how long a round waits for its slow hosts after the next one
  # has begun; what is left then is released unchanged. -1 waits for ever.
  # Type: duration, min 0s, or -1
  tail = "5m"

  # How long "crawler run" waits for a URL that becomes due before it ends.
  # Type: duration, min 0s, or -1
  wait = "0s"

  # Time between two lines of progress when the output is no terminal.
  # Type: duration, min 100ms
  progress_interval = "10s"
}

segment {
  # Bytes of a WARC file after which the next one is begun.
  # Type: size, min 1MiB
  # Nutch: warc.file.size.max (bytes)
  warc_file_size_max = "1GiB"

  # Compression of WARC records, 1 (fast) to 9 (small).
  # Type: int, min 1, max 9
  gzip_level = 1

  # Bytes that all segments together may take. After a round that exceeds it the oldest segments that nothing
  # needs are removed; what a reindex or an unfinished round needs stays. 0 keeps all.
  # Type: size, min 0
  disk_budget = "0B"
}

mime {
  # Look at a document's bytes to find its type, too: a signature such as that of PDF, and
  # what a container such as zip or XML holds, count more than what the server says. The
  # rules are in extension-points.md, parser.
  # Nutch: mime.type.magic
  type_magic = true
}

log {
  # The least severe lines that are written.
  # Type: one of trace, debug, info, warn, error, off
  level = "info"

  # How lines are written.
  # Type: one of text, json
  format = "text"

  # Write crawl.log in the crawl directory: one line for each fetch.
  crawl_log = true
}

# What the freshness schedule (db.fetch_schedule) is to reach for some pages:
# freshness "name" { ... }. "*" stands for any name; this block says what such a block takes
# and sets nothing. A URL belongs to the first block with a pattern that matches it, else to the one for its
# host, a "*" in hosts, or its domain, in this order. "readdb --stats" shows what is reached.
#
#   freshness "news" {
#     patterns = ["^https?://[^/]+/news/"]
#     age      = "6h"
#     budget   = 20000
#   }
freshness "*" {
  # Hosts, as in URLs but without the port; "*" stands for any letters.
  hosts = []

  # Registered or other domains: they and all hosts below them.
  domains = []

  # Regular expressions over whole URLs; they come before hosts and domains.
  patterns = []

  # Instead of db.fetch_schedule_freshness_age.
  # Type: duration, min 1s
  age = "7d"

  # Visits of all its pages a day at most; -1 is no limit.
  # Type: float, min 0, or -1
  budget = -1.0

  # Instead of db.fetch_schedule_freshness_min_interval.
  # Type: duration, min 1s
  min_interval = "1h"

  # Instead of db.fetch_schedule_freshness_max_interval.
  # Type: duration, min 1s
  max_interval = "90d"
}

# What holds for some hosts only: sheet "name" { ... }, as many as there are names.
# "*" stands for any name; this block says what a sheet takes and sets nothing.
# A sheet that names the host decides before one with a "*", and that before one for a
# domain, each setting for itself; the longer pattern comes first. "crawler explain"
# shows what holds for a URL and by which sheet.
#
#   sheet "shops" {
#     domains     = ["shop.example", "store.example"]
#     crawl_delay = "5s"
#     max_count   = 200
#     headers     = { "X-Partner" = "mycrawler" }
#   }
sheet "*" {
  # Hosts, as in URLs but without the port: "www.example.org"; "*" stands for any letters: "*.cdn.example.org".
  hosts = []

  # Registered or other domains: they and all hosts below them.
  domains = []

  # Instead of fetcher.server_delay. A robots.txt that asks for more is obeyed.
  # Type: duration, min 0s, or -1
  crawl_delay = "-1"

  # Instead of fetcher.threads_per_queue: requests at once. Above 1 a robots.txt's Crawl-delay
  # is ignored, and crawl_delay lies between the starts of requests.
  # Type: int, min 1, max 1000, or -1
  threads = -1

  # Instead of generate.max_count: URLs in a round at most; 0 takes none.
  # Type: int, min 0, or -1
  max_count = -1

  # Instead of db.fetch_interval_default; with the schedules that follow changes, the interval of new pages.
  # Type: duration, min 1s, or -1
  interval = "-1"

  # Instead of the content_limit of the protocol: bytes of a document that are kept.
  # Type: size, min 1, or -1
  content_limit = "-1"

  # Headers that go with every request, over those of section http; never shown.
  # Type: map, secret
  headers = {}
}

# Where documents go. Further blocks add writers; a block of the same name with
# another plugin replaces this one, and enabled = false switches it off.
index_writer "main" {
  plugin = "indexer-bleve"
}
