package urlkey

import (
	"cmp"
	"net"
	"net/url"
	"strings"
)

// HostPort returns host:port of an http, https, ftp or ftps URL in lower case, with the
// default port filled in; "" for others.
func HostPort(rawURL string) string {
	u, err := url.Parse(rawURL)
	if err != nil || u.Hostname() == "" {
		return ""
	}
	usual := defaultPort(u.Scheme)
	if usual == "" {
		return ""
	}
	return net.JoinHostPort(strings.ToLower(u.Hostname()), cmp.Or(u.Port(), usual))
}
