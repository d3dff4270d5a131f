package export

import (
	"net/url"
	"slices"
	"strings"
)

// SURT returns the key by which web archives sort URLs, such as
// "org,example)/path?a=1&b=2": the host's labels reversed, without www, user, default port, fragment and
// final slash, in lower case, the query's parts sorted. It is what pywb's indexer makes, except that
// session ids stay
// (addresses are reversed there, too). What is no URL with a host is its own key.
func SURT(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" {
		return strings.ToLower(raw)
	}
	host := withoutWWW(strings.ToLower(strings.TrimSuffix(u.Hostname(), ".")))
	var b strings.Builder
	if strings.Contains(host, ":") {
		b.WriteString(host)
	} else {
		labels := strings.Split(host, ".")
		slices.Reverse(labels)
		b.WriteString(strings.Join(labels, ","))
	}
	if p := u.Port(); p != "" && (u.Scheme != "http" || p != "80") && (u.Scheme != "https" || p != "443") {
		b.WriteString(":" + p)
	}
	b.WriteByte(')')
	path := strings.ToLower(u.EscapedPath())
	if path = strings.TrimRight(path, "/"); path == "" {
		path = "/"
	}
	b.WriteString(path)
	if u.RawQuery != "" {
		parts := strings.Split(strings.ToLower(u.RawQuery), "&")
		slices.Sort(parts)
		b.WriteString("?" + strings.Join(parts, "&"))
	}
	return strings.NewReplacer(" ", "%20", "\n", "%0a").Replace(b.String())
}

// withoutWWW drops "www.", "www2." and so on.
func withoutWWW(host string) string {
	if rest, ok := strings.CutPrefix(host, "www"); ok {
		if _, rest, ok = strings.Cut(strings.TrimLeft(rest, "0123456789"), "."); ok && strings.HasSuffix(host, "."+rest) &&
			strings.Trim(strings.TrimSuffix(host, "."+rest), "0123456789") == "www" {
			return rest
		}
	}
	return host
}
