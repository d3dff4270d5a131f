// Package store owns one crawl directory's bytes: the Pebble database that
// holds every record of a crawl, the directory's format version, the lock that
// keeps a second process out, and the file system that database and WARC files
// share. It is the only package that imports Pebble.
//
// It knows key spaces (keys.go), how operands merge (merge.go) and how values
// are coded (codec.go), but not what a record means; it must not know plugins,
// steps or configuration.
//
// All changes go through Update: one writer at a time, one atomic batch, its
// keys sorted. Reads run beside it. Invariants:
//
//	S1  A batch is applied whole or not at all, also across a power cut.
//	S2  After Update returned nil, its batch survives a power cut. UpdateNoSync
//	    promises S1 only, and that it is lost only together with all later ones.
//	S3  After the first failed write nothing is written any more: the files stay
//	    as they would be after a crash at that instant, and every Update returns
//	    that first error.
package store
