package libaddr

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/gonutch/crawler/sdk/fault"
)

// anyPort is the port of an allow entry that names none.
const anyPort = -1

type hostPort struct {
	host string // canonical name or address
	port int    // or anyPort
}

// Policy is a parsed allow list: the addresses outside the public net that may
// be reached. The nil Policy allows public addresses only. A Policy is never
// changed and is safe for concurrent use.
type Policy struct {
	hosts []hostPort
	nets  []netip.Prefix
}

// ParsePolicy reads allow entries: "host:port", "host", "address:port",
// "address" ("[::1]:80" for IPv6 with a port) and networks such as
// "10.0.0.0/8". An entry without a port allows every port. Errors are
// fault.Invalid and name the entry.
func ParsePolicy(entries []string) (*Policy, error) {
	if len(entries) == 0 {
		return nil, nil
	}
	p := &Policy{}
	for _, e := range entries {
		if err := p.add(strings.TrimSpace(e)); err != nil {
			return nil, fault.Errorf(fault.Invalid, "%q: %w; want \"host:port\", an address or a network such as \"10.0.0.0/8\"", e, err)
		}
	}
	return p, nil
}

func (p *Policy) add(e string) error {
	if strings.IndexByte(e, '/') >= 0 {
		n, err := netip.ParsePrefix(e)
		if err != nil {
			return fmt.Errorf("not a network")
		}
		if n.Addr().Is4In6() && n.Bits() >= 96 {
			n = netip.PrefixFrom(n.Addr().Unmap(), n.Bits()-96)
		}
		p.nets = append(p.nets, n.Masked())
		return nil
	}
	host, port := e, anyPort
	if a, err := netip.ParseAddr(e); err == nil { // bare IPv6 has colons but no port
		host = a.String()
	} else if i := strings.LastIndexByte(e, ':'); i >= 0 && !strings.HasSuffix(e, "]") {
		n, err := strconv.ParseUint(e[i+1:], 10, 16)
		if err != nil {
			return fmt.Errorf("port %q is no number below 65536", e[i+1:])
		}
		host, port = e[:i], int(n)
	}
	name, a, err := CanonicalHost(host)
	if err != nil {
		return err
	}
	if a.IsValid() {
		name = a.Unmap().String()
	}
	p.hosts = append(p.hosts, hostPort{host: name, port: port})
	return nil
}

// Check returns nil when a connection to ap, asked for under the canonical
// host name, is allowed by one of the policies, and a *Refused otherwise.
func Check(host string, ap netip.AddrPort, policies ...*Policy) error {
	a := ap.Addr()
	class := ClassOf(a)
	if class == Public {
		return nil
	}
	for _, p := range policies {
		if p.allows(host, a.Unmap(), int(ap.Port()), class) {
			return nil
		}
	}
	return &Refused{Host: host, Addr: ap, Class: class}
}

func (p *Policy) allows(host string, a netip.Addr, port int, class Class) bool {
	if p == nil {
		return false
	}
	for _, h := range p.hosts {
		if h.port != anyPort && h.port != port {
			continue
		}
		if h.host == a.String() || class != Metadata && h.host == host {
			return true
		}
	}
	return slices.ContainsFunc(p.nets, func(n netip.Prefix) bool {
		return (class != Metadata || n.IsSingleIP()) && n.Contains(a)
	})
}

// Refused is the error of an address that is not allowed.
type Refused struct {
	Host  string // as asked for, canonical
	Addr  netip.AddrPort
	Class Class
	Rule  string // of a Filter, "" when it is for the address's class
}

// Error names the address, why it is refused, and the setting that would allow it.
func (r *Refused) Error() string {
	what := r.Addr.Addr().String()
	if r.Host != "" && r.Host != what {
		what = r.Host + " (" + what + ")"
	}
	if r.Rule != "" {
		return fmt.Sprintf("address of %s: refused; %s", what, r.Rule)
	}
	allow := r.Host
	if allow == "" || r.Class == Metadata {
		allow = r.Addr.Addr().Unmap().String()
	}
	if strings.IndexByte(allow, ':') >= 0 {
		allow = "[" + allow + "]"
	}
	return fmt.Sprintf("address of %s is %s: refused; http { allow_private = [\"%s:%d\"] } would allow it",
		what, r.Class, allow, r.Addr.Port())
}
