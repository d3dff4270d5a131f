package transition

import (
	"net/url"
	"strings"

	"github.com/gonutch/crawler/core/internal/urlkey"
)

// Representative returns which of source and target, the two ends of a
// redirect, people should be shown (Nutch's URLUtil.chooseRepr, after Yahoo's
// Slurp). temporary is false for permanent redirects and meta refreshes of 5 s
// and more.
//
// Between two domains, or when one URL is malformed, it is the target. A permanent redirect keeps
// a source that is the root of its host. A temporary one keeps the one that is
// a root; within one host the one with fewer path parts, then the shorter; else the host with
// fewer labels; a tie keeps the source.
func Representative(source, target string, temporary bool) string {
	s, errS := url.Parse(source)
	t, errT := url.Parse(target)
	if errS != nil || errT != nil || s.Host == "" || t.Host == "" || urlkey.Domain(source) != urlkey.Domain(target) {
		return target
	}
	rootS, rootT := isRoot(s), isRoot(t)
	switch {
	case !temporary && rootS:
		return source
	case !temporary:
		return target
	case rootS && !rootT:
		return source
	case rootT && !rootS:
		return target
	case !rootS && strings.EqualFold(s.Hostname(), t.Hostname()):
		ps, pt := s.RequestURI(), t.RequestURI()
		ns, nt := strings.Count(ps, "/"), strings.Count(pt, "/")
		if nt < ns || nt == ns && len(pt) < len(ps) {
			return target
		}
		return source
	}
	if strings.Count(t.Hostname(), ".") < strings.Count(s.Hostname(), ".") {
		return target
	}
	return source
}

func isRoot(u *url.URL) bool { return u.Path == "" || u.Path == "/" }
