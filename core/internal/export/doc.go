// Package export writes what segments hold in the forms of others: WARC files with WAT and WET
// files and a CDXJ index beside them, or documents as files by MIME type.
//
// It owns the forms, the names of the files, and that each appears only when it is whole. Records
// come one by one (query.Captures), their bytes straight from the segments' files, which are only ever
// appended to, so that a crawl may go on meanwhile. It holds one document at a time and what is
// to be sorted in portions. It must not know how the store is opened, nor print.
package export
