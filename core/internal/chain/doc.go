// Package chain holds the ordered plugins of every extension point and the
// rule that composes them.
//
// It owns: which plugins run in which order, cutting and collecting batches,
// the result cache of normalise and filter, retries and what becomes of a
// record that a plugin can't handle, opened index writers, and the counters of
// all this. It must not know how a plugin process is started, watched or
// replaced (pluginhost), what a step does with an answer, or how anything is
// stored.
//
// Errors. A rejection is data. A plugin that fails on one item gives that item
// an error and leaves the others alone. Only a plugin that can't go on at all
// (pluginhost.ErrStopped), a closed Chains or a cancelled context end a call
// with an error.
//
// All methods of Chains are safe for concurrent use.
package chain
