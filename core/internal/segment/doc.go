// Package segment owns what one round of a crawl left behind: a segment's meta
// data and counts, its parts by URL key (crawl_fetch, parse_data, parse_text,
// outlinks, markers), and the WARC files with the fetched bytes.
//
// Records live in the store, bytes in <crawl>/segments/<id>/*.warc.gz. It must
// not know the CrawlDB's rules, plugins or how pages are fetched. Invariants:
//
//	G1  A crawl_fetch record that names a place in a WARC file is committed only
//	    after the file holds that record durably.
//	G2  Open cuts WARC files back to what was committed, so every file is valid
//	    and whatever a record names is there.
//	G3  A file is written by one process only and never appended to after a restart.
//
// # What is in a WARC file
//
// WARC 1.1, one gzip member per record: a warcinfo record, then for each answer a
// response record and, when it was captured, its request record. HTTP answers
// are application/http with the head as received, written as HTTP/1.1 text also
// for HTTP/2 (WARC-Protocol says which it was). The payload is stored decoded:
// Content-Encoding and Transfer-Encoding are renamed with the prefix
// X-Crawler-, and Content-Length states the stored length, so that every reader
// gets the document without knowing brotli or zstd. WARC-Payload-Digest is of
// the stored payload. Other protocols get resource records. What a protocol attaches to a
// document, such as a picture of it, are resource records behind it with the target URI
// urn:NAME:URL; the crawl_fetch record's metadata has their places.
package segment
