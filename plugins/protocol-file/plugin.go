// Package protocolfile is the protocol-file plugin: local files and folders
// below configured roots as documents. It owns the way from a file: URL to a
// file that is provably below a root, folder listings, and the outcomes of
// file-system errors. It must not know parsers, MIME types or the CrawlDB.
//
// Invariants:
//  1. Nothing is opened that is not, all symbolic links resolved, below a root
//     of file.roots, also when links change while a request runs.
//  2. Only regular files and folders are opened; opening never blocks.
package protocolfile

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/setting"
)

//go:embed plugin.hcl
var manifestHCL []byte

// Plugin describes the plugin to the SDK.
func Plugin() sdk.Plugin { return sdk.Plugin{Manifest: manifestHCL, New: New} }

// Config is the core's section file.
type Config struct {
	Roots                    []string     `json:"roots"`         // folders that may be read; none allows nothing
	ContentLimit             setting.Size `json:"content_limit"` // negative: none
	CrawlParent              bool         `json:"crawl_parent"`
	CrawlRedirectNoncanonial bool         `json:"crawl_redirect_noncanonical"`
	CrawlHidden              bool         `json:"crawl_hidden"`
	MaxEntries               int          `json:"max_entries"`
}

// DefaultConfig returns the defaults of nutch-default.hcl.
func DefaultConfig() Config {
	return Config{ContentLimit: 10 << 20, CrawlRedirectNoncanonial: true, MaxEntries: 100_000}
}

// New builds the plugin's extension from the core's section file. Errors are
// fault.Invalid and say what to set where.
func New(env sdk.Env) (*sdk.Extensions, error) {
	cfg := DefaultConfig()
	if err := env.Settings.Section("file", &cfg); err != nil {
		return nil, err
	}
	f, err := NewFetcher(cfg)
	if err != nil {
		return nil, err
	}
	return &sdk.Extensions{Protocol: f}, nil
}

// root is a folder of file.roots.
type root struct {
	given    string // absolute and clean, as configured
	resolved string // with symbolic links resolved
}

// parseRoots resolves the roots, which may also be written as file: URLs.
func parseRoots(list []string) ([]root, error) {
	var roots []root
	for _, r := range list {
		dir := strings.TrimSpace(r)
		if strings.HasPrefix(dir, "file:") {
			u, err := parseURL(dir)
			if err != nil {
				return nil, fault.Errorf(fault.Invalid, "file.roots: %q: %w", r, err)
			}
			dir = u.Path
		}
		if dir == "" {
			return nil, fault.Errorf(fault.Invalid, "file.roots: an entry is empty; want a folder")
		}
		abs, err := filepath.Abs(dir)
		if err != nil {
			return nil, fault.Errorf(fault.Invalid, "file.roots: %q: %w", r, err)
		}
		resolved, err := filepath.EvalSymlinks(abs)
		if err != nil {
			return nil, fault.Errorf(fault.Invalid, "file.roots: %q: %w", r, err)
		}
		if info, err := os.Stat(resolved); err != nil {
			return nil, fault.Errorf(fault.Invalid, "file.roots: %q: %w", r, err)
		} else if !info.IsDir() {
			return nil, fault.Errorf(fault.Invalid, "file.roots: %q: not a folder", r)
		}
		roots = append(roots, root{given: abs, resolved: resolved})
	}
	return roots, nil
}

// below reports whether the clean absolute path is dir or below it, and the
// path from there.
func below(dir, path string) (string, bool) {
	if path == dir {
		return ".", true
	}
	if dir != "/" {
		dir += "/"
	}
	rel, ok := strings.CutPrefix(path, dir)
	return rel, ok && rel != ""
}

func (c *Config) validate() error {
	if c.MaxEntries <= 0 {
		return fault.New(fault.Invalid, fmt.Errorf("file.max_entries = %d: must be at least 1", c.MaxEntries))
	}
	return nil
}
