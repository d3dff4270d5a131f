package sheet

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"golang.org/x/net/idna"

	"github.com/gonutch/crawler/core/internal/config"
	"github.com/gonutch/crawler/sdk/hclconf"
)

// matcher finds the rules that hold for a host, by number. It never changes after
// it was built.
type matcher struct {
	hosts   map[string][]int
	domains map[string][]int
	globs   []glob // the longer first
}

type glob struct {
	parts []string // between the "*"
	long  int      // letters that are no "*"
	rule  int
}

// read takes the hosts and domains of rule number n, and returns what is wrong
// with them.
func (m *matcher) read(r config.Rule, n int, hosts, domains []string) (ps hclconf.Problems) {
	for i, text := range hosts {
		if err := m.host(text, n); err != nil {
			ps = append(ps, r.Problem("hosts", i, "%v", err))
		}
	}
	for i, text := range domains {
		name, err := hostName(text)
		if err == nil && strings.Contains(text, "*") {
			err = fmt.Errorf("%q: a domain stands for all hosts below it without \"*\"", text)
		}
		if err != nil {
			ps = append(ps, r.Problem("domains", i, "%v", err))
			continue
		}
		m.domains[name] = append(m.domains[name], n)
	}
	return ps
}

func (m *matcher) host(text string, n int) error {
	name, err := hostName(text)
	switch {
	case err != nil:
		return err
	case !strings.Contains(name, "*"):
		m.hosts[name] = append(m.hosts[name], n)
	default:
		g := glob{parts: strings.Split(name, "*"), rule: n}
		g.long = len(name) - len(g.parts) + 1
		m.globs = append(m.globs, g)
		slices.SortStableFunc(m.globs, func(a, b glob) int { return cmp.Compare(b.long, a.long) })
	}
	return nil
}

// hostName returns a host as URLs have it.
func hostName(text string) (string, error) {
	name := strings.TrimSuffix(strings.ToLower(strings.TrimSpace(text)), ".")
	if a, err := netip.ParseAddr(strings.Trim(name, "[]")); err == nil {
		if a.Is6() {
			return "[" + a.String() + "]", nil
		}
		return a.String(), nil
	}
	switch {
	case name == "":
		return "", fmt.Errorf("%q is no host", text)
	case strings.Contains(name, "://"):
		return "", fmt.Errorf("%q: want a host without scheme and path, such as www.example.org", text)
	case strings.ContainsAny(name, ":/?#@ \t"):
		return "", fmt.Errorf("%q: want a host without port and path, such as www.example.org", text)
	}
	if isASCII(name) {
		return name, nil
	}
	ascii, err := idna.Punycode.ToASCII(name)
	if err != nil {
		return "", fmt.Errorf("%q is no host: %w", text, err)
	}
	return ascii, nil
}

func isASCII(s string) bool { return !strings.ContainsFunc(s, func(r rune) bool { return r >= 0x80 }) }

// find returns the rules for host, the most specific first: the host itself,
// patterns with "*" from the longest on, domains from the longest on. Rules of one rank come
// as they were written.
func (m *matcher) find(host string) []int {
	if host == "" {
		return nil
	}
	out := slices.Clone(m.hosts[host])
	for _, g := range m.globs {
		if g.matches(host) {
			out = append(out, g.rule)
		}
	}
	for name := host; len(m.domains) > 0; {
		out = append(out, m.domains[name]...)
		i := strings.IndexByte(name, '.')
		if i < 0 {
			break
		}
		name = name[i+1:]
	}
	return out
}

func (g *glob) matches(host string) bool {
	rest, ok := strings.CutPrefix(host, g.parts[0])
	if !ok {
		return false
	}
	last := len(g.parts) - 1
	for _, p := range g.parts[1:last] {
		i := strings.Index(rest, p)
		if i < 0 {
			return false
		}
		rest = rest[i+len(p):]
	}
	return strings.HasSuffix(rest, g.parts[last])
}

func newMatcher() matcher { return matcher{hosts: map[string][]int{}, domains: map[string][]int{}} }
