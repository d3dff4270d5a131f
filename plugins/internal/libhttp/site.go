package libhttp

import (
	"crypto/tls"
	"maps"
	"net/http"
	"net/netip"
	"net/textproto"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/gonutch/crawler/plugins/internal/libaddr"
	"github.com/gonutch/crawler/sdk/setting"
)

// SiteConfig is a site block: what holds for some hosts.
type SiteConfig struct {
	Hosts             []string          `json:"hosts"`
	Username          string            `json:"username"`
	Password          string            `json:"password"`
	Domain            string            `json:"domain"`
	Realm             string            `json:"realm"`
	Schemes           []string          `json:"schemes"`
	Headers           map[string]string `json:"headers"`
	Certificate       string            `json:"certificate"`
	CertificateKey    string            `json:"certificate_key"`
	LoginURL          string            `json:"login_url"`
	LoginForm         string            `json:"login_form"`
	LoginFields       map[string]string `json:"login_fields"`
	LoginRemoveFields []string          `json:"login_remove_fields"`
	LoginSuccess      string            `json:"login_success"`
	LoggedOutStatus   []string          `json:"logged_out_status"`
	LoggedOutURL      string            `json:"logged_out_url"`
	LoggedOutText     string            `json:"logged_out_text"`
	LoginAgainAfter   setting.Duration  `json:"login_again_after"`

	// Of Nutch's httpclient-auth.xml only.
	loginHeaders map[string]string
}

// hostPattern is an entry of a site's hosts.
type hostPattern struct {
	name   string // canonical
	any    bool   // every host that no other site is for
	below  bool   // all hosts below name
	port   uint16 // 0: any
	scheme string // "" for any
}

func (p hostPattern) matches(scheme, host string, port uint16) bool {
	if p.port != 0 && p.port != port || p.scheme != "" && p.scheme != scheme {
		return false
	}
	switch {
	case p.any:
		return true
	case p.below:
		return strings.HasSuffix(host, "."+p.name)
	}
	return p.name == host
}

// anyHost stands for every host in Nutch's httpclient-auth.xml; in site blocks
// it is refused, as a password is not for whoever asks for it.
const anyHost = "*"

// parseHost reads "host", "host:port", "*.domain" or "*.domain:port", with a
// scheme before it or not.
func parseHost(s string) (hostPattern, error) {
	var p hostPattern
	rest := strings.TrimSpace(s)
	if rest == anyHost {
		p.any = true
		return p, nil
	}
	if scheme, after, ok := strings.Cut(rest, "://"); ok {
		if scheme != "http" && scheme != "https" {
			return p, invalid("scheme %q: want http or https", scheme)
		}
		p.scheme, rest = scheme, strings.TrimSuffix(after, "/")
	}
	rest, p.below = strings.CutPrefix(rest, "*.")
	if _, err := netip.ParseAddr(rest); err != nil { // bare IPv6 has colons but no port
		if i := strings.LastIndexByte(rest, ':'); i >= 0 && !strings.HasSuffix(rest, "]") {
			n, err := strconv.ParseUint(rest[i+1:], 10, 16)
			if err != nil || n == 0 {
				return p, invalid("port %q is no number from 1 to 65535", rest[i+1:])
			}
			p.port, rest = uint16(n), rest[:i]
		}
	}
	name, _, err := libaddr.CanonicalHost(rest)
	if err != nil {
		return p, err
	}
	if strings.ContainsAny(name, "*/?@ ") {
		return p, invalid("%q is no host", rest)
	}
	p.name = name
	return p, nil
}

// site is a site block, ready to be used. It is safe for concurrent use.
type site struct {
	name    string // for messages
	hosts   []hostPattern
	realm   string
	user    string
	pass    string
	domain  string
	schemes []string
	header  http.Header // canonical names; nil for none
	tls     *tls.Config // with the client certificate; nil without
	login   *login      // nil without
	// transport has the connections made with the client certificate.
	transport *http.Transport
}

func (s *site) matches(scheme, host string, port uint16) bool {
	return slices.ContainsFunc(s.hosts, func(p hostPattern) bool { return p.matches(scheme, host, port) })
}

// newSites builds the sites of cfg in the order of their names, and behind them
// those of http.auth_file.
func newSites(cfg *Config) ([]*site, error) {
	var out []*site
	for _, name := range slices.Sorted(maps.Keys(cfg.Own.Sites)) {
		sc := cfg.Own.Sites[name]
		if slices.Contains(sc.Hosts, anyHost) {
			return nil, invalid("%s { site %q }: hosts: \"*\": name the hosts that may see what is in it", cfg.Block, name)
		}
		where := cfg.Block + " { site \"" + name + "\" }"
		s, err := newSite(name, &sc)
		if err != nil {
			return nil, invalid("%s: %w", where, err)
		}
		out = append(out, s)
	}
	if cfg.HTTP.AuthFile == "" {
		return out, nil
	}
	blocks, err := readAuthFile(cfg.HTTP.AuthFile)
	if err != nil {
		return nil, invalid("http.auth_file: %w", err)
	}
	for i := range blocks {
		s, err := newSite(blocks[i].name, &blocks[i].SiteConfig)
		if err != nil {
			return nil, invalid("http.auth_file: %s: %s: %w", cfg.HTTP.AuthFile, blocks[i].name, err)
		}
		out = append(out, s)
	}
	return out, nil
}

func newSite(name string, c *SiteConfig) (*site, error) {
	s := &site{name: name, realm: c.Realm, user: c.Username, pass: c.Password, domain: c.Domain, schemes: c.Schemes}
	if len(c.Hosts) == 0 {
		return nil, invalid(`hosts: which are they? write hosts = ["www.example.org"]`)
	}
	for _, h := range c.Hosts {
		p, err := parseHost(h)
		if err != nil {
			return nil, invalid(`hosts: %q: %w; want "host", "host:port" or "*.domain"`, h, err)
		}
		s.hosts = append(s.hosts, p)
	}
	for _, k := range c.Schemes {
		if k != schemeNTLM && k != schemeDigest && k != schemeBasic {
			return nil, invalid("schemes: %q: want ntlm, digest or basic", k)
		}
	}
	if c.Schemes == nil {
		s.schemes = []string{schemeNTLM, schemeDigest, schemeBasic}
	}
	if c.Password != "" && c.Username == "" {
		return nil, invalid("password: there is no username with it")
	}
	var err error
	if s.header, err = headerOf(c.Headers); err != nil {
		return nil, invalid("headers: %w", err)
	}
	if err := s.loadCertificate(c); err != nil {
		return nil, err
	}
	if s.login, err = newLogin(s, c); err != nil {
		return nil, err
	}
	if s.user == "" && s.header == nil && s.tls == nil && s.login == nil {
		return nil, invalid("it says nothing; write username, headers, certificate or login_url")
	}
	return s, nil
}

// headerOf checks names and values. Values are secrets and not in errors.
func headerOf(m map[string]string) (http.Header, error) {
	var h http.Header
	for name, v := range m {
		key := textproto.CanonicalMIMEHeaderKey(name)
		switch key {
		case "Host", "Content-Length", "Transfer-Encoding", "Connection", "Trailer", "Accept-Encoding", "Proxy-Authorization":
			return nil, invalid("%s can't be set", name)
		}
		if !httpguts.ValidHeaderFieldName(name) {
			return nil, invalid("%q is no name of a header", name)
		}
		if !httpguts.ValidHeaderFieldValue(v) {
			return nil, invalid("the hidden value of %s has characters that a header can't carry", name)
		}
		if h == nil {
			h = http.Header{}
		}
		h[key] = []string{v}
	}
	return h, nil
}

func (s *site) loadCertificate(c *SiteConfig) error {
	if c.Certificate == "" {
		if c.CertificateKey != "" {
			return invalid("certificate_key: there is no certificate with it")
		}
		return nil
	}
	key := c.CertificateKey
	if key == "" {
		key = c.Certificate
	}
	certPEM, err := os.ReadFile(c.Certificate)
	if err != nil {
		return invalid("certificate: %w", err)
	}
	keyPEM, err := os.ReadFile(key)
	if err != nil {
		return invalid("certificate_key: %w", err)
	}
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return invalid("certificate: %s with the key of %s: %w", c.Certificate, key, err)
	}
	s.tls = &tls.Config{Certificates: []tls.Certificate{pair}} //nolint:gosec // completed by Fetcher.useSites
	return nil
}

// useSites takes sites into f, with connections of their own where they need
// them.
func (f *Fetcher) useSites(sites []*site) {
	f.sites = sites
	for _, s := range sites {
		if s.tls == nil {
			continue
		}
		certificates := s.tls.Certificates
		s.tls = f.tls.Clone()
		s.tls.Certificates = certificates
		s.tls.ClientSessionCache = tls.NewLRUClientSessionCache(64) // never shared with those who show no certificate
		s.transport = f.newTransport(&f.cfg, s.tls.Clone())
	}
}

// sitesOf returns the sites that hold for an exchange, in order; those for any
// host only when there is no other.
func (f *Fetcher) sitesOf(scheme, host string, port uint16) []*site {
	var own, others []*site
	for _, s := range f.sites {
		switch {
		case !s.matches(scheme, host, port):
		case slices.ContainsFunc(s.hosts, func(p hostPattern) bool { return !p.any && p.matches(scheme, host, port) }):
			own = append(own, s)
		default:
			others = append(others, s)
		}
	}
	if own != nil {
		return own
	}
	return others
}
