// Package crawldb is the CrawlDB: what is known of every URL, and everything
// derived from it that must change in the same instant.
//
// It owns the records, the ready and wait indexes that generate reads, leases,
// the accumulators of scoring effects and their fold, the signature index and
// deduplication, the marks for the index step, and the counters. It must not
// know how a status follows from a fetch (package transition), plugins, or
// how pages are fetched.
//
// All changes go through DB.Update. Invariants, checked by DB.Check:
//
//	C1  A record that is not leased has exactly one entry, in the ready index or
//	    in the wait index; a leased one has none.
//	C2  The entry is in the ready index exactly when (due minute, key) is not
//	    after the watermark, so that where it is follows from the record alone.
//	C3  An entry's value is the record's FetchHint as of the last Put.
//	C4  A record is in the signature index exactly when it has a signature and
//	    its status is db_fetched, db_notmodified or db_duplicate, or db_unfetched
//	    while it still has its content (a retry).
//	C5  Counters equal a recount.
//	C6  Folding depends on the set of effects only, not on their order, their
//	    grouping into commits or the moment of a compaction.
//
// TestModel is the place to see it all work together.
package crawldb
