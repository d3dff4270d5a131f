// Package testweb is a simulated web for tests, benchmarks and the first run:
// many hosts, many pages and most of what goes wrong on the real web, every
// answer a pure function of (seed, URL, n-th request of that URL).
//
// It owns the hosts host0.test, host1.test, …, their pages, the log of who asked
// for what and when, the politeness check over that log, and the ground truth: which
// URLs a correct crawl reaches and how each may end. It must not know the crawler's
// store, configuration or plugins; it shares only the status names of sdk/model.
//
// # Shape
//
// http://host0.test/ leads to every host. Pages of a host lie in sections of 32: the
// first page of a section is its index ("/" for section 0, "/s3/" for section 3), is
// always a plain HTML page and links to the rest of its section and to up to 8 further
// sections, so nothing that may go wrong with a leaf page hides others. Home pages
// link to the homes of further hosts. All other links are drawn from power laws, in
// the host and across hosts. Nothing about a page is stored: it is computed from
// hashes whenever it is asked for, so two million pages cost request counters only.
//
// Every HTML and text page holds the word [Word] of its page number ("zq<number>x", number as
// in [Web.PageURL]) and the word [HostWord] of its host ("hq<number>x"), so a search for them
// finds one page, or those of one host. Duplicates hold the words of their original instead, near
// duplicates the word of their own number and of their original's host. Pages in a charset
// other than UTF-8 also hold [Web.CharsetWord] of that charset, in its script. A page whose
// [Entry] says Why "page" is fetched and holds its own words.
//
// # What the ground truth presumes
//
// The rules are those of Nutch as the design keeps them:
//   - seed http://host0.test/, fetched over HTTP, http URLs of port 80 (or Config.Port);
//   - at most 100 outlinks per page kept (no page has more), URL length limit at least 200;
//   - URLs normalized as urlnormalizer-basic does (case of scheme and host, default
//     port, fragment, dot segments), queries kept, filter rules as shipped
//     except that queries are allowed (no path here repeats a segment or ends in a rejected suffix);
//   - rel=nofollow links, meta robots and X-Robots-Tag nofollow honoured; internal and
//     external links followed; no link depth limit;
//   - redirects recorded for a later round or followed at once, but never dropped
//     (http.redirect.max_exceeded skip off);
//   - 301 and 308 permanent, 302, 303 and 307 temporary; meta refresh below 5 s
//     temporary, else permanent;
//   - 401, 404 and 410 gone at once; 403, 429, 5xx and broken connections are retried and
//     gone after the third failure;
//   - robots.txt by RFC 9309: 4xx, garbage and endless redirects allow all, 5xx and
//     unreachable hold the host, and its URLs stay db_unfetched with no request made;
//     a Crawl-delay of up to Config.CrawlDelay is accepted, not taken as a refusal;
//   - the crawl runs until nothing is due any more, all waits for retries and holds of
//     hosts elapsed, each page fetched successfully once; see [Options] for other ends.
//
// A page whose treatment is a matter of taste (truncated body, wrong content
// type) holds no links, so that taste never changes which URLs are reached.
//
// Invariants:
//  1. An answer never depends on time, on other URLs or on the order of requests.
//     A slow host only delays it.
//  2. Renderer and ground truth draw links from the same function; that real HTML leads
//     to the same set is shown by a test crawler that parses it (TestTruthEqualsCrawl).
//  3. The end of a request is taken before its last bytes are written and its start when
//     its header was read, so a measured gap is never shorter than the client's:
//     a reported violation is real. The exception is a client that gives up on a request on
//     its own: the gap after one that is seen to be abandoned is not checked, but a request
//     abandoned while it was on its way may be counted against the next.
package testweb
