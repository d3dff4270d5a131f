// Package libaddr decides which network addresses a plugin may connect to and
// makes the connections: it resolves a host (cached), checks every address it
// got, and dials only addresses that passed, so that what was checked is what
// is connected to. It owns address classes, allow lists, the DNS cache and the
// checked dialer. It must not know HTTP or any other protocol above TCP.
//
// Invariants:
//  1. No connection is made to an address that Policy.Check has not allowed.
//  2. A name is judged by the addresses it resolves to, never by its spelling;
//     numeric spellings (decimal, octal, hexadecimal) are addresses.
//  3. Cloud metadata addresses are reached only when an allow list names that
//     very address; neither a host name nor a network is enough.
package libaddr

import "net/netip"

// Class says what kind of address an address is, in words for messages;
// Public is the one class that needs no permission.
type Class string

// The classes of addresses.
const (
	Public      Class = ""
	Unspecified Class = "unspecified"
	Loopback    Class = "loopback"
	Private     Class = "private"
	LinkLocal   Class = "link-local"
	SharedNAT   Class = "carrier-grade NAT"
	Multicast   Class = "multicast"
	Reserved    Class = "reserved"
	Metadata    Class = "cloud metadata"
)

type classed struct {
	prefix netip.Prefix
	class  Class
}

// ClassOf returns the class of a. IPv4 addresses embedded in IPv6 ones
// (mapped, compatible, NAT64, 6to4, Teredo, ISATAP) count as what they lead
// to. Sources: the IANA special-purpose address registries (RFC 6890 and
// successors), RFC 6052 and RFC 8215 (NAT64), RFC 3056 (6to4), RFC 4380
// (Teredo), RFC 5214 (ISATAP).
func ClassOf(a netip.Addr) Class {
	if a.Zone() != "" {
		return LinkLocal
	}
	a = a.Unmap()
	if !a.IsValid() {
		return Reserved
	}
	if isMetadata(a) {
		return Metadata
	}
	if a.Is4() {
		return lookup(v4Table[:], a, Public)
	}
	if v4, ok := embedded(a); ok {
		return ClassOf(v4)
	}
	// Only 2000::/3 is handed out as global unicast space.
	if a.As16()[0]&0xe0 == 0x20 {
		return lookup(v6Table[:], a, Public)
	}
	return lookup(v6Table[:], a, Reserved)
}

func lookup(table []classed, a netip.Addr, otherwise Class) Class {
	for i := range table {
		if table[i].prefix.Contains(a) {
			return table[i].class
		}
	}
	return otherwise
}

// embedded returns the IPv4 address that a leads to, if a is of a form that
// carries one.
func embedded(a netip.Addr) (netip.Addr, bool) {
	b := a.As16()
	v4 := func(i int) (netip.Addr, bool) {
		return netip.AddrFrom4([4]byte{b[i], b[i+1], b[i+2], b[i+3]}), true
	}
	switch {
	case a == netip.IPv6Unspecified(), a == netip.IPv6Loopback():
		return netip.Addr{}, false
	case b[0] == 0x20 && b[1] == 0x02: // 6to4, 2002::/16
		return v4(2)
	case b[0] == 0x20 && b[1] == 0x01 && b[2] == 0 && b[3] == 0: // Teredo, 2001::/32: client, inverted
		return netip.AddrFrom4([4]byte{^b[12], ^b[13], ^b[14], ^b[15]}), true
	case b[0] == 0x00 && b[1] == 0x64 && b[2] == 0xff && b[3] == 0x9b && allZero(b[4:12]): // NAT64, 64:ff9b::/96
		return v4(12)
	case allZero(b[:12]): // IPv4-compatible, ::/96
		return v4(12)
	case b[8]&0xfd == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe && b[0]&0xe0 == 0x20: // ISATAP interface id
		return v4(12)
	}
	return netip.Addr{}, false
}

func allZero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}

func v4(a, b, c byte, bits int) netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{a, b, c}), bits)
}

func v6(bits int, b ...byte) netip.Prefix {
	var a [16]byte
	copy(a[:], b)
	return netip.PrefixFrom(netip.AddrFrom16(a), bits)
}

// The tables are never changed.
var v4Table = [...]classed{
	{v4(0, 0, 0, 8), Unspecified},
	{v4(10, 0, 0, 8), Private},
	{v4(100, 64, 0, 10), SharedNAT},
	{v4(127, 0, 0, 8), Loopback},
	{v4(169, 254, 0, 16), LinkLocal},
	{v4(172, 16, 0, 12), Private},
	{v4(192, 0, 0, 24), Reserved},
	{v4(192, 0, 2, 24), Reserved},
	{v4(192, 88, 99, 24), Reserved},
	{v4(192, 168, 0, 16), Private},
	{v4(198, 18, 0, 15), Reserved},
	{v4(198, 51, 100, 24), Reserved},
	{v4(203, 0, 113, 24), Reserved},
	{v4(224, 0, 0, 4), Multicast},
	{v4(240, 0, 0, 4), Reserved},
}

var v6Table = [...]classed{
	{v6(128), Unspecified},
	{netip.PrefixFrom(netip.IPv6Loopback(), 128), Loopback},
	{v6(48, 0x00, 0x64, 0xff, 0x9b, 0x00, 0x01), Private}, // local-use NAT64
	{v6(23, 0x20, 0x01), Reserved},                        // IETF protocol assignments; Teredo is handled before
	{v6(32, 0x20, 0x01, 0x0d, 0xb8), Reserved},
	{v6(20, 0x3f, 0xff), Reserved},
	{v6(7, 0xfc), Private},
	{v6(10, 0xfe, 0x80), LinkLocal},
	{v6(10, 0xfe, 0xc0), Private}, // site-local, deprecated
	{v6(8, 0xff), Multicast},
}

// isMetadata reports whether a is an address at which a cloud provider serves
// credentials or configuration of the machine.
func isMetadata(a netip.Addr) bool {
	if a.Is4() {
		switch a.As4() {
		case [4]byte{169, 254, 169, 254}, // AWS, Azure, Google, DigitalOcean, Oracle, OpenStack
			[4]byte{169, 254, 170, 2}, [4]byte{169, 254, 170, 23}, // AWS container and pod credentials
			[4]byte{169, 254, 42, 42},   // Scaleway
			[4]byte{100, 100, 100, 200}, // Alibaba
			[4]byte{168, 63, 129, 16},   // Azure wire server; a public address
			[4]byte{192, 0, 0, 192}:     // Oracle, older
			return true
		}
		return false
	}
	b := a.As16()
	switch {
	case b[0] != 0xfd:
		return false
	case b[1] == 0x00 && b[2] == 0x0e && b[3] == 0xc2: // AWS, fd00:ec2::/32
		return true
	case b[1] == 0x00 && b[2] == 0x00 && b[3] == 0x42: // Scaleway, fd00:42::/32
		return true
	case b[1] == 0x20 && b[2] == 0x00 && b[3] == 0xce: // Google, fd20:ce::/32
		return true
	}
	return false
}
