// Package rpc is the one adapter between the extension points and go-plugin:
// how a plugin process serves, how a batch is worked off item by item, and how
// a failed call becomes an error with a kind. It must not know what any
// extension point means.
package rpc
