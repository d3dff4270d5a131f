// Package crawler holds the default configuration. It must not know anything
// else.
package crawler

import _ "embed"

//go:embed nutch-default.hcl
var defaults string

// Defaults returns the bytes of nutch-default.hcl: every setting of the core
// with its default and meaning. The caller owns them.
func Defaults() []byte { return []byte(defaults) }
