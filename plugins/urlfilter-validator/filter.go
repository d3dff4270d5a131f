// Package urlfiltervalidator rejects URLs that can't be fetched: broken
// syntax, impossible hosts and ports, endless paths. It owns what a fetchable
// URL looks like; whether it is wanted is other filters' business.
package urlfiltervalidator

import (
	"context"
	_ "embed"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"

	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/extension/urlfilter"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/setting"
)

//go:embed plugin.hcl
var manifest []byte

// Plugin returns the plugin.
func Plugin() sdk.Plugin { return sdk.Plugin{Manifest: manifest, New: build} }

// Config are the settings; see plugin.hcl.
type Config struct {
	MaxLength  setting.Size `json:"max_length"`
	LocalNames bool         `json:"local_names"`
	IPHosts    bool         `json:"ip_hosts"`
	MaxLoops   int          `json:"max_loops"`
}

func build(env sdk.Env) (*sdk.Extensions, error) {
	var c Config
	if err := env.Settings.Decode(&c); err != nil {
		return nil, err
	}
	if c.MaxLoops < 0 || c.MaxLoops == 1 {
		return nil, fault.Errorf(fault.Invalid, "max_loops = %d: want 0 (off) or at least 2", c.MaxLoops)
	}
	return &sdk.Extensions{URLFilter: &Filter{c}}, nil
}

// Filter checks syntax after Nutch's URLValidator, but accepts hosts that
// really exist: international names, IPv6, localhost and names of one label.
type Filter struct{ Config }

// FilterURL implements urlfilter.Filter.
func (f *Filter) FilterURL(_ context.Context, url string) (urlfilter.Verdict, error) {
	if reason := f.check(url); reason != "" {
		return urlfilter.Verdict{Reason: reason}, nil
	}
	return urlfilter.Verdict{Accept: true}, nil
}

func (f *Filter) check(url string) string {
	if f.MaxLength >= 0 && int64(len(url)) > int64(f.MaxLength) {
		return fmt.Sprintf("URL of %d bytes is longer than max_length = %s", len(url), f.MaxLength)
	}
	scheme, rest, ok := strings.Cut(url, ":")
	if !ok || !isScheme(scheme) {
		return "no valid scheme"
	}
	if i := strings.IndexFunc(rest, func(r rune) bool { return r <= ' ' || r == 0x7f }); i >= 0 {
		return "control character or space"
	}
	if !utf8.ValidString(rest) {
		return "invalid UTF-8"
	}
	hostless := strings.EqualFold(scheme, "file")
	authority, path := "", rest
	if after, ok := strings.CutPrefix(rest, "//"); ok {
		i := strings.IndexAny(after, "/?#")
		if i < 0 {
			i = len(after)
		}
		authority, path = after[:i], after[i:]
	} else if !hostless {
		return "no // after the scheme"
	}
	if !hostless {
		if reason := f.checkAuthority(authority); reason != "" {
			return reason
		}
	}
	return f.checkPath(path)
}

func isScheme(s string) bool {
	for i := range len(s) {
		c := s[i] | 0x20
		letter := c >= 'a' && c <= 'z'
		if !letter && (i == 0 || !strings.ContainsRune("0123456789+-.", rune(s[i]))) {
			return false
		}
	}
	return s != ""
}

func (f *Filter) checkAuthority(a string) string {
	if i := strings.LastIndexByte(a, '@'); i >= 0 {
		a = a[i+1:]
	}
	host, port := a, ""
	if strings.HasPrefix(a, "[") {
		end := strings.IndexByte(a, ']')
		if end < 0 {
			return "IPv6 address without ]"
		}
		addr, err := netip.ParseAddr(a[1:end])
		if err != nil || !addr.Is6() || addr.Zone() != "" {
			return "invalid IPv6 address " + a[:end+1]
		}
		if !f.IPHosts {
			return "host is an IP address (ip_hosts = false)"
		}
		host, port = "", a[end+1:]
		if port != "" && port[0] != ':' {
			return "text after the IPv6 address"
		}
	} else if i := strings.IndexByte(a, ':'); i >= 0 {
		host, port = a[:i], a[i:]
	}
	if port != "" {
		n, err := strconv.Atoi(port[1:])
		if err != nil || n < 1 || n > 65535 || port[1] == '+' {
			return "invalid port " + port[1:]
		}
	}
	if strings.HasPrefix(a, "[") {
		return ""
	}
	return f.checkHost(host)
}

func (f *Filter) checkHost(host string) string {
	host = strings.TrimSuffix(host, ".")
	if host == "" {
		return "no host"
	}
	if last := host[strings.LastIndexByte(host, '.')+1:]; last[0] >= '0' && last[0] <= '9' {
		addr, err := netip.ParseAddr(host)
		if err != nil || !addr.Is4() {
			return "host " + host + " looks like an IPv4 address but is none"
		}
		if !f.IPHosts {
			return "host is an IP address (ip_hosts = false)"
		}
		return ""
	}
	if !isASCII(host) {
		ascii, err := idna.Lookup.ToASCII(host)
		if err != nil {
			return "invalid international host name"
		}
		host = ascii
	}
	if len(host) > 253 {
		return "host name longer than 253 bytes"
	}
	labels := strings.Split(host, ".")
	if len(labels) == 1 && !f.LocalNames {
		return "host name of one label (local_names = false)"
	}
	for _, l := range labels {
		if !isLabel(l) {
			return fmt.Sprintf("invalid host name label %q", l)
		}
	}
	return ""
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// isLabel follows RFC 1123, with the underscore that real hosts use.
func isLabel(l string) bool {
	if l == "" || len(l) > 63 || l[0] == '-' || l[len(l)-1] == '-' {
		return false
	}
	for i := range len(l) {
		c := l[i]
		if lower := c | 0x20; (lower < 'a' || lower > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return true
}

func (f *Filter) checkPath(path string) string {
	path, _, _ = strings.Cut(path, "#")
	path, _, _ = strings.Cut(path, "?")
	depth := 0
	segs := strings.Split(strings.Trim(path, "/"), "/")
	for _, s := range segs {
		switch s {
		case "..":
			if depth--; depth < 0 {
				return ".. climbs above the root"
			}
		case ".":
		default:
			depth++
		}
	}
	if f.MaxLoops > 1 {
		if run := loop(segs, f.MaxLoops); run != "" {
			times := f.MaxLoops
			if !strings.Contains(run, "/") {
				times++ // see loop
			}
			return fmt.Sprintf("path repeats /%s %d times in a row", run, times)
		}
	}
	return ""
}

// loop returns a run of segments that stands n times in a row, or "". A run of
// one segment must stand one time more, so that dates such as /11/11/11 pass.
func loop(segs []string, n int) string {
	for period := 1; period*n <= len(segs); period++ {
		need := period * (n - 1)
		if period == 1 {
			need++
		}
		same := 0
		for i := period; i < len(segs); i++ {
			if segs[i] != segs[i-period] || segs[i] == "" {
				same = 0
				continue
			}
			if same++; same >= need {
				return strings.Join(segs[i-period+1:i+1], "/")
			}
		}
	}
	return ""
}

var _ urlfilter.Filter = (*Filter)(nil)
