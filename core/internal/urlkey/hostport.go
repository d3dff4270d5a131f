package urlkey

import (
	"cmp"
	"net"
	"net/url"
	"strings"
)

// HostPort returns host:port of an http or https URL in lower case, with the default port
// filled in; "" for others.
func HostPort(rawURL string) string {
	u, err := url.Parse(rawURL)
	if err != nil || u.Hostname() == "" {
		return ""
	}
	port := u.Port()
	switch u.Scheme {
	case "http":
		port = cmp.Or(port, "80")
	case "https":
		port = cmp.Or(port, "443")
	default:
		return ""
	}
	return net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}
