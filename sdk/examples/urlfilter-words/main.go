// Command urlfilter-words is an example of a plugin written in Go outside the
// crawler: a manifest, a main of one line, an implementation, its tests. It
// rejects URLs by whole words.
package main

import "github.com/gonutch/crawler/sdk"

func main() { sdk.Main(Plugin()) }
