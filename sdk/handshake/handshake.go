// Package handshake is how a host and a plugin find each other: the names in
// the environment, the protocol version, and the host's side of the services
// that every plugin has. It must not know processes, manifests or what an
// extension point means.
package handshake

import (
	"os"
	"strconv"
)

// The terms of the handshake. See "The wire" in extension-points.md.
const (
	// ProtocolVersion is the version of the wire contract (go-plugin's
	// application protocol version).
	ProtocolVersion = 1
	// APIVersion is the version of the plugin contract; the same as
	// manifest.APIVersion, without what reading manifests needs.
	APIVersion = 1
	// CookieKey and CookieValue tell a plugin that a crawler started it. They are
	// no secret.
	CookieKey   = "CRAWLER_PLUGIN_COOKIE"
	CookieValue = "8f0f2c1f9a0e4b55a3d3c6b7e6f0d9d2"
	// PluginName is the one name in go-plugin's set.
	PluginName = "crawler"
	// HealthService is the name the standard health service answers to.
	HealthService = "plugin"
)

// The environment a host gives a plugin.
const (
	// EnvLifelineFD is the number of an inherited pipe's read end. Nothing is
	// ever written to it; its end means that the host is gone, and the plugin
	// kills its own process group.
	EnvLifelineFD = "CRAWLER_LIFELINE_FD"
	// EnvMaxMessage is the greatest message in bytes, both ways.
	EnvMaxMessage = "CRAWLER_MAX_MESSAGE"
	// EnvLogLevel is the log level until Configure brings another.
	EnvLogLevel = "CRAWLER_LOG_LEVEL"
	// EnvSocketDir is go-plugin's name for the folder of the plugin's socket.
	EnvSocketDir = "PLUGIN_UNIX_SOCKET_DIR"
)

// DefaultMaxMessage is the limit of one message in bytes when EnvMaxMessage is
// not set.
const DefaultMaxMessage = 64 << 20

// MaxMessage returns the limit the environment asks for.
func MaxMessage() int {
	if n, err := strconv.Atoi(os.Getenv(EnvMaxMessage)); err == nil && n > 0 {
		return n
	}
	return DefaultMaxMessage
}

// Started reports whether a crawler started this process as a plugin.
func Started() bool { return os.Getenv(CookieKey) == CookieValue }
