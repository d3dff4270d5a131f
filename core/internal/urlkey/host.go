package urlkey

import (
	"fmt"
	"strings"

	"golang.org/x/net/idna"
	"golang.org/x/net/publicsuffix"
)

// Host returns the lower-case host of url as the URL writes it (an IPv6
// address in brackets, no port), or "" when it has none or is no URL.
func Host(url string) string {
	p, ok := split(url)
	if !ok {
		return ""
	}
	return strings.ToLower(p.host)
}

// Domain returns the registered domain of url: one label more than its public
// suffix by the ICANN part of the Public Suffix List (so foo.github.io is in
// github.io). It is the host itself when the host is an address, has an unlisted suffix or
// is nothing but a suffix, and "" when there is no host. A trailing dot of
// the host is dropped. (Nutch's URLUtil.getDomainName.)
func Domain(url string) string { return DomainOf(Host(url)) }

// DomainOf returns the registered domain of host by the rules of Domain.
func DomainOf(host string) string {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if host == "" || isAddress(host) {
		return host
	}
	ascii := host
	if !isASCII(host) {
		a, err := idna.Lookup.ToASCII(host)
		if err != nil {
			return host
		}
		ascii = a
	}
	suffix, listed := icannSuffix(ascii)
	if !listed {
		return host
	}
	want := strings.Count(suffix, ".") + 2
	for i := len(host) - 1; i >= 0; i-- {
		if host[i] == '.' {
			if want--; want == 0 {
				return host[i+1:]
			}
		}
	}
	return host
}

// icannSuffix returns the public suffix of host by ICANN rules only, and
// whether a rule listed it. A private rule's suffix is passed over by asking
// again for what is above it.
func icannSuffix(host string) (string, bool) {
	for {
		suffix, icann := publicsuffix.PublicSuffix(host)
		if icann {
			return suffix, true
		}
		i := strings.IndexByte(suffix, '.')
		if i < 0 {
			return suffix, false
		}
		host = suffix[i+1:]
	}
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// Origin returns scheme://host[:port] of url in lower case and without the
// default port of http and https: what one robots.txt is valid for. It is ""
// when url has no host.
func Origin(url string) string {
	p, ok := split(url)
	if !ok || p.host == "" {
		return ""
	}
	o := strings.ToLower(p.scheme + "://" + p.host)
	port := strings.TrimLeft(p.port, "0")
	if port == "" || p.port == "" || port == defaultPort(o[:len(p.scheme)]) {
		return o
	}
	return o + ":" + port
}

func defaultPort(scheme string) string {
	switch scheme {
	case "http":
		return "80"
	case "https":
		return "443"
	case "ftp":
		return "21"
	case "ftps":
		return "990"
	}
	return ""
}

// Mode says which URLs share a queue and its politeness.
type Mode uint8

// The modes, named as in Nutch's fetcher.queue.mode.
const (
	ByHost Mode = iota
	ByDomain
	ByIP
)

// String returns Nutch's name of m.
func (m Mode) String() string {
	switch m {
	case ByHost:
		return "byHost"
	case ByDomain:
		return "byDomain"
	case ByIP:
		return "byIP"
	}
	return fmt.Sprintf("unknown(%d)", uint8(m))
}

// ParseMode returns the mode called s, letter case aside.
func ParseMode(s string) (Mode, error) {
	for _, m := range []Mode{ByHost, ByDomain, ByIP} {
		if strings.EqualFold(s, m.String()) {
			return m, nil
		}
	}
	return ByHost, fmt.Errorf("queue mode %q: want byHost, byDomain or byIP", s)
}

// QueueKey returns the name of the queue url waits in: its host, its registered
// domain, or ip. Scheme and port do not matter, as in Nutch. With ByIP and an
// empty ip (not resolved) it is the host. A URL without a host waits in the queue of its
// scheme, such as "file:", and a string without a scheme in "!".
func QueueKey(url string, mode Mode, ip string) string {
	host := Host(url)
	switch {
	case host == "":
		scheme, _, ok := strings.Cut(url, ":")
		if !ok || !isScheme(scheme) {
			return string(opaqueMark)
		}
		return strings.ToLower(scheme) + ":"
	case mode == ByDomain:
		return DomainOf(host)
	case mode == ByIP && ip != "":
		return ip
	}
	return host
}

// Range is the keys k with Lo <= k < Hi.
type Range struct{ Lo, Hi Key }

// Contains reports whether k is in r.
func (r Range) Contains(k Key) bool { return r.Lo <= k && k < r.Hi }

// HostRange returns the range of all keys of host, a lower-case host as Host
// returns it. The empty host's range holds what has none (file:///x).
func HostRange(host string) Range {
	rev := Key(appendReversed(nil, host))
	return Range{Lo: rev + ":", Hi: rev + ";"}
}

// DomainRanges returns the ranges of all keys of domain and the hosts below
// it, in key order and disjoint: hosts such as domain0 sort between them.
// An address or the empty domain has one range.
func DomainRanges(domain string) []Range {
	own := HostRange(domain)
	if domain == "" || isAddress(domain) {
		return []Range{own}
	}
	rev := own.Lo[:len(own.Lo)-1]
	return []Range{{Lo: rev + ".", Hi: rev + "/"}, own}
}
