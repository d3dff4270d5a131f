// Package protocolhttp is the protocol-http plugin: one HTTP/1.1 or HTTP/2 exchange per
// call, over checked addresses. It owns connections, content encodings, the
// mapping of answers to protocol statuses, and the tolerance for servers that
// break the rules. It must not know robots rules, politeness, redirect
// following or the CrawlDB.
//
// What a browser needs as well, the mapping of statuses and the reading of URLs and
// Retry-After, is exported for protocol-browser, which also sends requests that need no
// browser through a Fetcher.
//
// Invariants:
//  1. Every connection goes to an address that libaddr checked for this very
//     request's permission; a pooled connection is only reused by requests with
//     the same permission.
//  2. A body that could not be read whole is a success with a reason in
//     Truncated, never an error.
//  3. Memory follows the bytes that came, not what a header promises.
package protocolhttp

import (
	_ "embed"

	"github.com/gonutch/crawler/sdk"
)

//go:embed plugin.hcl
var manifestHCL []byte

// Plugin describes the plugin to the SDK.
func Plugin() sdk.Plugin { return sdk.Plugin{Manifest: manifestHCL, New: New} }

// New builds the plugin's extensions from the core's section http and its own
// settings. Errors are fault.Invalid and say what to set where.
func New(env sdk.Env) (*sdk.Extensions, error) {
	cfg := DefaultConfig()
	if err := env.Settings.Section("http", &cfg.HTTP); err != nil {
		return nil, err
	}
	if err := env.Settings.Decode(&cfg.Own); err != nil {
		return nil, err
	}
	f, err := NewFetcher(cfg)
	if err != nil {
		return nil, err
	}
	if name := cfg.HTTP.AgentName; env.Logger != nil && !isProductToken(name) {
		env.Logger.Warn("http.agent_name has characters that robots.txt product tokens can't have (RFC 9309: letters, - and _); rules for it may not be found", "agent", name)
	}
	return &sdk.Extensions{Protocol: f, Close: f.Close}, nil
}
