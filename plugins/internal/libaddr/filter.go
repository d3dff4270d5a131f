package libaddr

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/gonutch/crawler/sdk/fault"
)

// Filter says which addresses are connected to, whatever a Policy allows
// (Nutch's http.filter.ipaddress.include and .exclude). The nil Filter takes
// all. It is never changed and is safe for concurrent use.
type Filter struct {
	include, exclude []filterRule
}

type filterRule struct {
	text    string
	net     netip.Prefix
	classes []Class // any of them; nil when net counts
}

// ParseFilter reads addresses, networks (CIDR) and Nutch's words localhost and
// loopback, for this machine, and sitelocal, for private networks. Errors are
// fault.Invalid and name the entry.
func ParseFilter(include, exclude []string) (*Filter, error) {
	f := &Filter{}
	var err error
	if f.include, err = filterRules(include); err != nil {
		return nil, err
	}
	if f.exclude, err = filterRules(exclude); err != nil {
		return nil, err
	}
	if f.include == nil && f.exclude == nil {
		return nil, nil
	}
	return f, nil
}

func filterRules(entries []string) ([]filterRule, error) {
	var out []filterRule
	for _, e := range entries {
		r := filterRule{text: strings.TrimSpace(e)}
		switch strings.ToLower(r.text) {
		case "localhost", "loopback":
			r.classes = []Class{Loopback}
		case "sitelocal":
			r.classes = []Class{Private}
		default:
			n, err := netip.ParsePrefix(r.text)
			if err != nil {
				a, aerr := netip.ParseAddr(r.text)
				if aerr != nil || a.Zone() != "" {
					return nil, fault.Errorf(fault.Invalid, "%q: want an address, a network such as \"10.0.0.0/8\", localhost, loopback or sitelocal", e)
				}
				a = a.Unmap()
				n = netip.PrefixFrom(a, a.BitLen())
			}
			if n.Addr().Is4In6() && n.Bits() >= 96 {
				n = netip.PrefixFrom(n.Addr().Unmap(), n.Bits()-96)
			}
			r.net = n.Masked()
		}
		out = append(out, r)
	}
	return out, nil
}

func (r *filterRule) matches(a netip.Addr, class Class) bool {
	for _, c := range r.classes {
		if c == class {
			return true
		}
	}
	return r.classes == nil && r.net.Contains(a)
}

// Check returns nil when a connection to ap, asked for under the canonical
// host name, may be made, and a *Refused otherwise. IPv4 addresses embedded in
// IPv6 ones count as both.
func (f *Filter) Check(host string, ap netip.AddrPort) error {
	if f == nil {
		return nil
	}
	a, class := ap.Addr().Unmap(), ClassOf(ap.Addr())
	forms := []netip.Addr{a}
	if a.Is6() {
		if v4, ok := embedded(a); ok {
			forms = append(forms, v4)
		}
	}
	for _, a := range forms {
		for i := range f.exclude {
			if f.exclude[i].matches(a, class) {
				return &Refused{Host: host, Addr: ap, Class: class, Rule: fmt.Sprintf("http.filter_ipaddress_exclude has %q", f.exclude[i].text)}
			}
		}
	}
	if f.include == nil {
		return nil
	}
	for i := range f.include {
		if f.include[i].matches(a, class) {
			return nil
		}
	}
	return &Refused{Host: host, Addr: ap, Class: class, Rule: "it is not in http.filter_ipaddress_include"}
}
