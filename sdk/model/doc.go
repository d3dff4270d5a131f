// Package model is the vocabulary shared by the core and every plugin: the
// records of a crawl and the statuses they carry. It owns names, codes and
// their text forms, all of them Nutch's. It must not know how a record is
// stored, sent over the wire or configured, and imports the standard library
// only.
//
// Values are plain data. Unless a comment says otherwise, the receiver of a
// value owns it and may keep and change it.
package model
