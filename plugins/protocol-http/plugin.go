// Package protocolhttp is the protocol-http plugin: HTTP and HTTPS as libhttp fetches
// them. It owns the plugin's manifest and settings. It must not know how an exchange
// is made, robots rules, politeness, redirect following or the CrawlDB.
package protocolhttp

import (
	_ "embed"
	"strings"

	"github.com/gonutch/crawler/plugins/internal/libhttp"
	"github.com/gonutch/crawler/sdk"
)

//go:embed plugin.hcl
var manifestHCL []byte

// Plugin describes the plugin to the SDK.
func Plugin() sdk.Plugin { return sdk.Plugin{Manifest: manifestHCL, New: New} }

// New builds the plugin's extensions from the core's section http and its own
// settings. Errors are fault.Invalid and say what to set where.
func New(env sdk.Env) (*sdk.Extensions, error) {
	cfg := libhttp.DefaultConfig()
	cfg.Block, cfg.Logger = `plugin "protocol-http"`, env.Logger
	if err := env.Settings.Section("http", &cfg.HTTP); err != nil {
		return nil, err
	}
	if err := env.Settings.Decode(&cfg.Own); err != nil {
		return nil, err
	}
	f, err := libhttp.NewFetcher(cfg)
	if err != nil {
		return nil, err
	}
	if name := cfg.HTTP.AgentName; env.Logger != nil && !isProductToken(name) {
		env.Logger.Warn("http.agent_name has characters that robots.txt product tokens can't have (RFC 9309: letters, - and _); rules for it may not be found", "agent", name)
	}
	return &sdk.Extensions{Protocol: f, Close: f.Close}, nil
}

// isProductToken reports whether s is a product token of RFC 9309.
func isProductToken(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool {
		return (r|0x20 < 'a' || r|0x20 > 'z') && r != '-' && r != '_'
	})
}
