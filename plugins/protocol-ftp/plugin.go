// Package protocolftp is the protocol-ftp plugin: files and folders of FTP servers (RFC
// 959, RFC 3659), also over TLS (RFC 4217), as documents. It owns control connections and
// their reuse, the meaning of FTP's replies, and listings as pages. It must not know
// robots rules, politeness or the CrawlDB.
//
// Invariants:
//  1. A control connection goes to an address that libaddr checked for this very request's
//     permission, and is only used again by requests with the same one.
//  2. A data connection goes to the address of its control connection, whatever the server
//     names, and to no port below 1024.
//  3. Whatever a server sends, memory is bounded: replies, listings and files have limits.
package protocolftp

import (
	_ "embed"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/gonutch/crawler/plugins/internal/libaddr"
	"github.com/gonutch/crawler/plugins/internal/liburl"
	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/setting"
)

//go:embed plugin.hcl
var manifestHCL []byte

// Plugin describes the plugin to the SDK.
func Plugin() sdk.Plugin { return sdk.Plugin{Manifest: manifestHCL, New: New} }

// Config is everything the plugin can be told.
type Config struct {
	HTTP   HTTPConfig
	Own    OwnConfig
	Logger hclog.Logger // not nil
	// Lookup resolves host names; nil is the system's resolver. For tests.
	Lookup libaddr.LookupFunc
}

// HTTPConfig is the part of the core's section http that concerns every protocol of the
// network.
type HTTPConfig struct {
	AgentEmail           string           `json:"agent_email"`
	ConnectTimeout       setting.Duration `json:"connect_timeout"`
	TimeLimit            setting.Duration `json:"time_limit"`
	TLSCertificatesCheck bool             `json:"tls_certificates_check"`
	AllowPrivate         []string         `json:"allow_private"`
	DNSCacheTTL          setting.Duration `json:"dns_cache_ttl"`
}

// OwnConfig is the plugin's own block.
type OwnConfig struct {
	Username       string           `json:"username"`
	Password       string           `json:"password"`
	LoginHosts     []string         `json:"login_hosts"`
	ContentLimit   setting.Size     `json:"content_limit"` // negative: none
	Timeout        setting.Duration `json:"timeout"`
	KeepConnection bool             `json:"keep_connection"`
	ServerTimeout  setting.Duration `json:"server_timeout"`
	FollowTalk     bool             `json:"follow_talk"`
	TLS            string           `json:"tls"`
	EPSV           bool             `json:"epsv"`
	MaxEntries     int              `json:"max_entries"`
	CrawlParent    bool             `json:"crawl_parent"`
}

// DefaultConfig returns the defaults of nutch-default.hcl and plugin.hcl.
func DefaultConfig() Config {
	return Config{
		HTTP: HTTPConfig{
			ConnectTimeout: setting.Duration(10 * time.Second), TimeLimit: setting.Duration(60 * time.Second),
			TLSCertificatesCheck: true, DNSCacheTTL: setting.Duration(5 * time.Minute),
		},
		Own: OwnConfig{
			Username: anonymous, LoginHosts: []string{}, ContentLimit: 10 << 20, Timeout: setting.Duration(60 * time.Second), KeepConnection: true,
			ServerTimeout: setting.Duration(100 * time.Second), TLS: "never", EPSV: true, MaxEntries: 100_000,
		},
		Logger: hclog.NewNullLogger(),
	}
}

// New builds the plugin's extension from the core's section http and its own settings.
// Errors are fault.Invalid and say what to set where.
func New(env sdk.Env) (*sdk.Extensions, error) {
	cfg := DefaultConfig()
	if env.Logger != nil {
		cfg.Logger = env.Logger
	}
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
	return &sdk.Extensions{Protocol: f, Close: f.Close}, nil
}

func invalid(format string, args ...any) error {
	return fault.Errorf(fault.Invalid, "plugin \"protocol-ftp\": "+format, args...)
}

func (c *Config) validate() error {
	o := &c.Own
	for name, d := range map[string]setting.Duration{"timeout": o.Timeout, "server_timeout": o.ServerTimeout} {
		if d <= 0 {
			return invalid("%s = %q: must be more than nothing, such as \"60s\"", name, d)
		}
	}
	switch {
	case o.TLS != "never" && o.TLS != "always":
		return invalid("tls = %q: want \"never\" or \"always\"", o.TLS)
	case o.MaxEntries < 1:
		return invalid("max_entries = %d: must be at least 1", o.MaxEntries)
	case o.Username == "":
		return invalid("username is empty: want a name, such as \"anonymous\"")
	case o.Username != anonymous && len(o.LoginHosts) == 0:
		return invalid("username = %q: say in login_hosts which hosts may have it and the password", o.Username)
	case strings.ContainsAny(o.Username+o.Password+c.HTTP.AgentEmail, "\r\n"):
		return invalid("username, password and http.agent_email must not have line ends")
	}
	return nil
}

// anonymous is who the plugin is where no login is meant for the host (RFC 1635).
const anonymous = "anonymous"

// login is what host is told; hosts are those of login_hosts.
func (c *Config) login(hosts *liburl.Hosts[struct{}], host string) (user, password string) {
	_, named := hosts.Get(liburl.HostKey(host))
	if c.Own.Password != "" && (named || c.Own.Username == anonymous && hosts.Len() == 0) {
		return c.Own.Username, c.Own.Password
	}
	user = anonymous
	if named {
		user = c.Own.Username
	}
	if c.HTTP.AgentEmail != "" {
		return user, c.HTTP.AgentEmail
	}
	return user, "anonymous@example.com"
}
