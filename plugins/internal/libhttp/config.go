package libhttp

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/gonutch/crawler/plugins/internal/libaddr"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/setting"
)

// Config is everything a Fetcher can be told.
type Config struct {
	HTTP HTTPConfig
	Own  OwnConfig
	// Block is what messages call the block that Own is from.
	Block string
	// Logger is told of logins that were refused; nil logs nothing.
	Logger hclog.Logger
	// Lookup resolves host names; nil is the system's resolver. For tests.
	Lookup libaddr.LookupFunc
}

// HTTPConfig is the part of the core's section http that concerns fetching.
type HTTPConfig struct {
	AgentName        string `json:"agent_name"`
	AgentVersion     string `json:"agent_version"`
	AgentDescription string `json:"agent_description"`
	AgentURL         string `json:"agent_url"`
	AgentEmail       string `json:"agent_email"`

	ConnectTimeout setting.Duration `json:"connect_timeout"` // lookup, TCP and TLS together
	ReadTimeout    setting.Duration `json:"read_timeout"`    // wait for the header, and between two pieces of the body
	TimeLimit      setting.Duration `json:"time_limit"`      // whole exchange

	ContentLimit  setting.Size `json:"content_limit"` // negative: none
	MaxHeaderSize setting.Size `json:"max_header_size"`

	Accept                string `json:"accept"` // blank: not sent
	AcceptLanguage        string `json:"accept_language"`
	Cookies               bool   `json:"cookies"` // those of records and of CookieFile
	CookieFile            string `json:"cookie_file"`
	CookieJar             bool   `json:"cookie_jar"`
	AuthFile              string `json:"auth_file"`
	AgentHost             string `json:"agent_host"`
	AgentRotate           bool   `json:"agent_rotate"`
	AgentRotateFile       string `json:"agent_rotate_file"`
	EnableIfModifiedSince bool   `json:"enable_if_modified_since"`
	EnableETag            bool   `json:"enable_etag"`
	HTTP2                 bool   `json:"http2"`

	ProxyHost          string   `json:"proxy_host"`
	ProxyPort          int      `json:"proxy_port"`
	ProxyUsername      string   `json:"proxy_username"`
	ProxyPassword      string   `json:"proxy_password"`
	ProxyType          string   `json:"proxy_type"` // http, https, socks5
	ProxyExceptionList []string `json:"proxy_exception_list"`

	TLSCertificatesCheck bool   `json:"tls_certificates_check"`
	TLSMinVersion        string `json:"tls_min_version"`

	AllowPrivate []string         `json:"allow_private"`
	IPInclude    []string         `json:"filter_ipaddress_include"`
	IPExclude    []string         `json:"filter_ipaddress_exclude"`
	DNSCacheTTL  setting.Duration `json:"dns_cache_ttl"`
}

// OwnConfig is what the core's section http does not have.
type OwnConfig struct {
	IdleConnections        int                   `json:"idle_connections"`
	IdleConnectionsPerHost int                   `json:"idle_connections_per_host"`
	IdleTimeout            setting.Duration      `json:"idle_timeout"`
	CompressionRatio       int                   `json:"compression_ratio"`
	CAFile                 string                `json:"ca_file"`
	Sites                  map[string]SiteConfig `json:"site"`
}

// DefaultConfig returns the defaults, which are those of nutch-default.hcl and
// protocol-http's plugin.hcl; it has no agent and so does not validate.
func DefaultConfig() Config {
	return Config{
		HTTP: HTTPConfig{
			ConnectTimeout: setting.Duration(10 * time.Second), ReadTimeout: setting.Duration(10 * time.Second),
			TimeLimit: setting.Duration(60 * time.Second), ContentLimit: 10 << 20, MaxHeaderSize: 64 << 10,
			Accept:         "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
			AcceptLanguage: "en-us,en-gb,en;q=0.7,*;q=0.3",
			Cookies:        true, EnableIfModifiedSince: true, EnableETag: true, HTTP2: true,
			AgentVersion: "1.0", ProxyPort: 8080, ProxyType: "http", TLSCertificatesCheck: true, TLSMinVersion: "1.2",
			DNSCacheTTL: setting.Duration(5 * time.Minute),
		},
		Own: OwnConfig{
			IdleConnections: 1024, IdleConnectionsPerHost: 4,
			IdleTimeout: setting.Duration(90 * time.Second), CompressionRatio: 250,
		},
	}
}

func invalid(format string, args ...any) error {
	return fault.Errorf(fault.Invalid, format, args...)
}

// validate checks what has no other place to be checked.
func (c *Config) validate() error {
	h := &c.HTTP
	if strings.TrimSpace(h.AgentName) == "" {
		return invalid(`http.agent_name is not set: a crawler has to say who it is; set http { agent_name = "…" } in the configuration file`)
	}
	if strings.TrimSpace(h.AgentURL) == "" && strings.TrimSpace(h.AgentEmail) == "" {
		return invalid(`neither http.agent_url nor http.agent_email is set: site owners need a way to reach you; set http { agent_url = "https://…" } or agent_email in the configuration file`)
	}
	for name, v := range map[string]string{
		"agent_name": h.AgentName, "agent_version": h.AgentVersion, "agent_description": h.AgentDescription,
		"agent_url": h.AgentURL, "agent_email": h.AgentEmail, "accept": h.Accept, "accept_language": h.AcceptLanguage,
	} {
		if strings.ContainsFunc(v, func(r rune) bool { return r < ' ' || r > '~' }) {
			return invalid("http.%s = %q: has characters that an HTTP header can't carry; use printable ASCII", name, v)
		}
	}
	for name, d := range map[string]setting.Duration{
		"connect_timeout": h.ConnectTimeout, "read_timeout": h.ReadTimeout, "time_limit": h.TimeLimit,
	} {
		if d <= 0 {
			return invalid("http.%s = %q: must be more than nothing, such as \"10s\"", name, d)
		}
	}
	if h.MaxHeaderSize <= 0 {
		return invalid("http.max_header_size = %q: must be more than nothing, such as \"64KiB\"", h.MaxHeaderSize)
	}
	return nil
}

// UserAgent returns the User-Agent in Nutch's form, name/version
// (description; url; email), empty parts left out.
func (h *HTTPConfig) UserAgent() string {
	s := strings.TrimSpace(h.AgentName)
	if v := strings.TrimSpace(h.AgentVersion); v != "" {
		s += "/" + v
	}
	var about []string
	for _, p := range []string{h.AgentDescription, h.AgentURL, h.AgentEmail} {
		if p = strings.TrimSpace(p); p != "" {
			about = append(about, p)
		}
	}
	if len(about) > 0 {
		s += " (" + strings.Join(about, "; ") + ")"
	}
	return s
}

func (c *Config) tlsConfig() (*tls.Config, error) {
	versions := map[string]uint16{"": tls.VersionTLS12, "1.0": tls.VersionTLS10, "1.1": tls.VersionTLS11, "1.2": tls.VersionTLS12, "1.3": tls.VersionTLS13}
	v, ok := versions[c.HTTP.TLSMinVersion]
	if !ok {
		return nil, invalid(`http.tls_min_version = %q: want "1.0", "1.1", "1.2" or "1.3"`, c.HTTP.TLSMinVersion)
	}
	t := &tls.Config{
		MinVersion: v, InsecureSkipVerify: !c.HTTP.TLSCertificatesCheck, //nolint:gosec // the user's choice
		ClientSessionCache: tls.NewLRUClientSessionCache(1024),
	}
	if c.Own.CAFile == "" {
		return t, nil
	}
	pem, err := os.ReadFile(c.Own.CAFile)
	if err != nil {
		return nil, invalid("%s { ca_file }: %w", c.Block, err)
	}
	if t.RootCAs, err = x509.SystemCertPool(); err != nil {
		t.RootCAs = x509.NewCertPool()
	}
	if !t.RootCAs.AppendCertsFromPEM(pem) {
		return nil, invalid("%s { ca_file }: %s holds no PEM certificate", c.Block, c.Own.CAFile)
	}
	return t, nil
}

// proxy is the configured proxy and the hosts that bypass it.
type proxy struct {
	url    *url.URL
	host   string
	port   uint16
	except []string // lower case; "*" at the start or the end matches anything
}

// proxy returns nil when none is configured.
func (h *HTTPConfig) proxy() (*proxy, error) {
	if h.ProxyHost == "" {
		return nil, nil
	}
	port := h.ProxyPort
	if port == 0 {
		port = 8080 // as Nutch
	}
	if port < 1 || port > 65535 {
		return nil, invalid("http.proxy_port = %d: not a port", h.ProxyPort)
	}
	scheme := strings.ToLower(h.ProxyType)
	switch scheme {
	case "":
		scheme = "http"
	case "http", "https", "socks5":
	case "socks":
		scheme = "socks5"
	default:
		return nil, invalid(`http.proxy_type = %q: want "http", "https" or "socks5"`, h.ProxyType)
	}
	if _, _, err := libaddr.CanonicalHost(h.ProxyHost); err != nil {
		return nil, invalid("http.proxy_host = %q: a host name or address without scheme and port is wanted: %w", h.ProxyHost, err)
	}
	p := &proxy{
		url:  &url.URL{Scheme: scheme, Host: net.JoinHostPort(strings.Trim(h.ProxyHost, "[]"), strconv.Itoa(port))},
		host: h.ProxyHost, port: uint16(port),
	}
	if h.ProxyUsername != "" {
		p.url.User = url.UserPassword(h.ProxyUsername, h.ProxyPassword)
	}
	for _, e := range h.ProxyExceptionList {
		e = strings.ToLower(strings.TrimSpace(e))
		if strings.Trim(e, "*") == "" || strings.Contains(strings.Trim(e, "*"), "*") {
			return nil, invalid("http.proxy_exception_list: %q: want a host name, with * at its start or end at most", e)
		}
		p.except = append(p.except, e)
	}
	return p, nil
}

// applies reports whether requests to the canonical host go through p.
func (p *proxy) applies(host string) bool {
	if p == nil {
		return false
	}
	for _, e := range p.except {
		rest, front := strings.CutPrefix(e, "*")
		rest, back := strings.CutSuffix(rest, "*")
		switch {
		case front && back && strings.Contains(host, rest),
			front && !back && strings.HasSuffix(host, rest),
			!front && back && strings.HasPrefix(host, rest),
			!front && !back && host == rest:
			return false
		}
	}
	return true
}

func (p *proxy) String() string { return fmt.Sprintf("%s://%s", p.url.Scheme, p.url.Host) }

// maxAgents bounds the User-Agents of http.agent_rotate_file.
const maxAgents = 10_000

// agents returns the User-Agents that take turns; none when that is off.
func (h *HTTPConfig) agents() ([]string, error) {
	if !h.AgentRotate {
		return nil, nil
	}
	if h.AgentRotateFile == "" {
		return nil, invalid(`http.agent_rotate is on and http.agent_rotate_file is not set; write http { agent_rotate_file = "agents.txt" }`)
	}
	raw, err := os.ReadFile(h.AgentRotateFile)
	if err != nil {
		return nil, invalid("http.agent_rotate_file: %w", err)
	}
	var out []string
	n := 0
	for line := range strings.Lines(string(raw)) {
		n++
		line = strings.TrimSpace(line)
		switch {
		case line == "" || line[0] == '#':
			continue
		case !isHeaderValue(line) || strings.ContainsFunc(line, func(r rune) bool { return r > '~' }):
			return nil, invalid("%s:%d: has characters that an HTTP header can't carry; use printable ASCII", h.AgentRotateFile, n)
		case len(out) >= maxAgents:
			return nil, invalid("%s:%d: more than %d lines", h.AgentRotateFile, n, maxAgents)
		}
		out = append(out, line)
	}
	if len(out) == 0 {
		return nil, invalid("%s: holds no User-Agent; want one a line", h.AgentRotateFile)
	}
	return out, nil
}
