// Command protocol-foo is an example of a plugin that brings a new URL scheme:
// foo://HOST/N is a made-up page with links to its neighbours.
package main

import "github.com/gonutch/crawler/sdk"

func main() { sdk.Main(Plugin()) }
