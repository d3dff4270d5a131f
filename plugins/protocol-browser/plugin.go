// Package protocolbrowser is the protocol-browser plugin: pages as a browser shows them,
// with their scripts run, through a headless Chromium that it starts and watches. It owns
// the browser process, the pool of pages, what is waited for and done on a page, and
// the gate that all of the browser's connections go through. It must not know robots
// rules, politeness between pages, redirect following or the CrawlDB.
//
// Invariants:
//  1. The browser connects to nothing but gates of this plugin: it has no other proxy,
//     resolves no names, and gates connect only to addresses that protocol-http would.
//  2. Each page lives in a browser context of its own: no cookie, cache or storage is
//     shared with another page.
//  3. A redirect, be it by status or by the page itself, is reported and never followed.
//  4. Browser processes end with the plugin, however it ends: they stay in its process
//     group, and Chromium ends when the pipe that it is driven by closes.
package protocolbrowser

import (
	_ "embed"

	"github.com/hashicorp/go-hclog"

	"github.com/gonutch/crawler/sdk"
)

//go:embed plugin.hcl
var manifestHCL []byte

// Plugin describes the plugin to the SDK.
func Plugin() sdk.Plugin { return sdk.Plugin{Manifest: manifestHCL, New: New} }

// New builds the plugin's extensions from the core's section http and its own settings.
// No browser is started before the first page. Errors are fault.Invalid and say what to
// set where.
func New(env sdk.Env) (*sdk.Extensions, error) {
	cfg := DefaultConfig()
	cfg.DataDir, cfg.Logger = env.DataDir, env.Logger
	if err := env.Settings.Section("http", &cfg.HTTP); err != nil {
		return nil, err
	}
	if err := env.Settings.Decode(&cfg.Own); err != nil {
		return nil, err
	}
	if cfg.Logger == nil {
		cfg.Logger = hclog.NewNullLogger()
	}
	f, err := NewFetcher(cfg)
	if err != nil {
		return nil, err
	}
	return &sdk.Extensions{Protocol: f, Close: f.Close}, nil
}
