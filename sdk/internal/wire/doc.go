// Package wire translates between the records of sdk/model and their protobuf
// messages, and between errors and what stands for them in an answer. It owns
// the translation only: no decisions, no calls.
//
// Texts are bytes on the wire, so that what is not valid UTF-8 survives. Times
// are microseconds since 1970 UTC, 0 for the zero time; durations nanoseconds.
// An empty list and a missing one are the same thing.
package wire
