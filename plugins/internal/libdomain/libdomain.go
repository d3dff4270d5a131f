// Package libdomain holds sets of public suffixes, registered domains and
// hosts, as Nutch's domain filters use them. It owns the form of their files
// and what belongs to a set; it must not know what membership means.
package libdomain

import (
	"errors"
	"net/netip"
	"strings"

	"golang.org/x/net/publicsuffix"

	"github.com/gonutch/crawler/plugins/internal/librule"
	"github.com/gonutch/crawler/plugins/internal/liburl"
)

// Set is a set of names. It is safe for concurrent use.
type Set struct {
	names map[string]string // name → its line with the place
}

// Parse reads one suffix, domain or host per line, with # comments. All faulty
// lines are reported together.
func Parse(in *librule.Lines) (*Set, error) {
	s := &Set{names: map[string]string{}}
	var errs []error
	for _, l := range in.Lines {
		if l.Empty() {
			continue
		}
		name := strings.TrimSpace(l.Text)
		if err := liburl.CheckHost(name); err != nil {
			errs = append(errs, l.Errorf("%w; want one public suffix, domain or host, such as org, example.org or www.example.org", err))
			continue
		}
		key := liburl.HostKey(name)
		if _, had := s.names[key]; !had {
			s.names[key] = l.String()
		}
	}
	return s, errors.Join(errs...)
}

// Len is the number of names.
func (s *Set) Len() int { return len(s.names) }

// Find returns the line, with its place, that names the host, its registered
// domain or its public suffix, in this order.
func (s *Set) Find(host string) (where string, ok bool) {
	key := liburl.HostKey(host)
	if l, ok := s.names[key]; ok {
		return l, true
	}
	domain, suffix := Split(key)
	if l, ok := s.names[domain]; ok {
		return l, true
	}
	l, ok := s.names[suffix]
	return l, ok && suffix != ""
}

// Split returns the registered domain and the public suffix of a host, by the
// ICANN part of the public suffix list (nutch.md, section 6.22). An address, or
// a name with an unlisted suffix, is its own domain and has no suffix; a
// suffix is its own domain. Key is liburl.HostKey's.
func Split(key string) (domain, suffix string) {
	if isAddress(key) {
		return key, ""
	}
	suffix, icann := publicsuffix.PublicSuffix(key)
	for !icann {
		_, parent, ok := strings.Cut(suffix, ".")
		if !ok {
			return key, ""
		}
		suffix, icann = publicsuffix.PublicSuffix(parent)
	}
	rest, ok := strings.CutSuffix(key, "."+suffix)
	if !ok {
		return key, suffix
	}
	return key[strings.LastIndexByte(rest, '.')+1:], suffix
}

func isAddress(key string) bool {
	if key == "" || key[0] != '[' && (key[len(key)-1] < '0' || key[len(key)-1] > '9') {
		return false
	}
	_, err := netip.ParseAddr(strings.Trim(key, "[]"))
	return err == nil
}
