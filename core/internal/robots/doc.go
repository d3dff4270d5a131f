// Package robots owns the Robots Exclusion Protocol (RFC 9309): what a
// robots.txt says about a URL, and what a host's answer to the request for it
// means for the host. It makes no request and knows no queue, store or clock.
//
// The parser and matcher are our own. github.com/temoto/robotstxt v1.1.2
// fails RFC 9309 in ways that no wrapper can mend (TestLibraryFallsShort
// shows each): a rule before the first user-agent line or a bad crawl-delay
// voids the whole file; "*" patterns match anywhere in the path; of two rules of the
// same length the first wins, not allow; "bot" applies to an agent "bother";
// percent-encoding is not compared by octets; and it does not say which line decided.
//
// Beyond the RFC, for the sake of the sites: crawl-delay and sitemap lines are
// read, a path without leading slash is taken as if it had one, and several
// agent names can be ours, whose groups are then merged (Nutch's http.robots.agents).
package robots
