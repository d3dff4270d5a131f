// Package protocols3 is the protocol-s3 plugin: objects of S3 storage as documents and
// prefixes as folders. It owns requests to the configured service, the meaning of its
// errors, and listings as pages. It must not know robots rules, politeness or the CrawlDB.
//
// Invariants:
//  1. Requests go to the configured endpoint and to public addresses only (buckets can
//     have host names of their own); redirects to other hosts are not followed.
//  2. Nothing is ever written to a bucket.
package protocols3

import (
	_ "embed"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/gonutch/crawler/plugins/internal/libaddr"
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
	HTTP HTTPConfig
	Own  OwnConfig
	// Lookup resolves host names; nil is the system's resolver. For tests.
	Lookup libaddr.LookupFunc
}

// HTTPConfig is the part of the core's section http that concerns every protocol of the
// network.
type HTTPConfig struct {
	ConnectTimeout       setting.Duration `json:"connect_timeout"`
	TimeLimit            setting.Duration `json:"time_limit"`
	TLSCertificatesCheck bool             `json:"tls_certificates_check"`
	AllowPrivate         []string         `json:"allow_private"`
	DNSCacheTTL          setting.Duration `json:"dns_cache_ttl"`
}

// OwnConfig is the plugin's own block.
type OwnConfig struct {
	Endpoint        string           `json:"endpoint"`
	Region          string           `json:"region"`
	PathStyle       bool             `json:"path_style"`
	AccessKey       string           `json:"access_key"`
	SecretKey       string           `json:"secret_key"`
	SessionToken    string           `json:"session_token"`
	CredentialsFile string           `json:"credentials_file"`
	Profile         string           `json:"profile"`
	ContentLimit    setting.Size     `json:"content_limit"` // negative: none
	Timeout         setting.Duration `json:"timeout"`
	MaxEntries      int              `json:"max_entries"`
	CrawlParent     bool             `json:"crawl_parent"`
}

// DefaultConfig returns the defaults of nutch-default.hcl and plugin.hcl.
func DefaultConfig() Config {
	return Config{
		HTTP: HTTPConfig{
			ConnectTimeout: setting.Duration(10 * time.Second), TimeLimit: setting.Duration(60 * time.Second),
			TLSCertificatesCheck: true, DNSCacheTTL: setting.Duration(5 * time.Minute),
		},
		Own: OwnConfig{
			Endpoint: "https://s3.amazonaws.com", Profile: "default", ContentLimit: 10 << 20,
			Timeout: setting.Duration(60 * time.Second), MaxEntries: 100_000,
		},
	}
}

// New builds the plugin's extension from the core's section http and its own settings.
// Errors are fault.Invalid and say what to set where.
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
	return &sdk.Extensions{Protocol: f, Close: f.Close}, nil
}

func invalid(format string, args ...any) error {
	return fault.Errorf(fault.Invalid, "plugin \"protocol-s3\": "+format, args...)
}

// check validates c and returns the endpoint.
func (c *Config) check() (*url.URL, error) {
	o := &c.Own
	u, err := url.Parse(strings.TrimRight(o.Endpoint, "/"))
	switch {
	case err != nil, u.Scheme != "http" && u.Scheme != "https", u.Host == "", u.Path != "", u.User != nil, u.RawQuery != "":
		return nil, invalid("endpoint = %q: want http: or https: and a host, such as \"https://s3.amazonaws.com\"", o.Endpoint)
	case (o.AccessKey == "") != (o.SecretKey == ""):
		return nil, invalid("access_key and secret_key belong together: set both or none")
	case o.Timeout <= 0:
		return nil, invalid("timeout = %q: must be more than nothing, such as \"60s\"", o.Timeout)
	case o.MaxEntries < 1:
		return nil, invalid("max_entries = %d: must be at least 1", o.MaxEntries)
	}
	if o.CredentialsFile != "" {
		if _, err := os.Stat(o.CredentialsFile); err != nil {
			return nil, invalid("credentials_file: %w", err)
		}
	}
	return u, nil
}

// credentials are the first of those configured, of a file and of the environment; none
// sign nothing.
func (o *OwnConfig) credentials() *credentials.Credentials {
	switch {
	case o.AccessKey != "":
		return credentials.NewStaticV4(o.AccessKey, o.SecretKey, o.SessionToken)
	case o.CredentialsFile != "":
		return credentials.NewFileAWSCredentials(o.CredentialsFile, o.Profile)
	}
	return credentials.NewChainCredentials([]credentials.Provider{&credentials.EnvAWS{}})
}
