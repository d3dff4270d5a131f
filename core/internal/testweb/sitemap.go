package testweb

import (
	"fmt"
	"strconv"
)

// sitemapURLs is the number of pages that one sitemap names; hosts with more have a
// sitemap index (sitemaps.org protocol 0.9).
const sitemapURLs = 1000

// sitemapParts is the number of /sitemap-N.xml; 0 when /sitemap.xml names the pages itself.
func (h *host) sitemapParts() int32 {
	if h.size <= sitemapURLs {
		return 0
	}
	return (h.size + sitemapURLs - 1) / sitemapURLs
}

// sitemap names every page of the host, and one that no page links to.
func (w *Web) sitemap(a *answer, r ref) {
	h := &w.hosts[r.host]
	a.ctype = "application/xml"
	b := append(a.body, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"...)
	parts := h.sitemapParts()
	if r.a == 0 && parts > 0 {
		b = append(b, "<sitemapindex xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n"...)
		for i := range parts {
			b = append(b, "<sitemap><loc>"...)
			b = append(w.appendURL(b, ref{kind: kindSitemap, host: r.host, a: i + 1}), "</loc></sitemap>\n"...)
		}
		a.body = append(b, "</sitemapindex>\n"...)
		return
	}
	b = append(b, "<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n"...)
	entry := func(r ref, more string) {
		b = append(b, "<url><loc>"...)
		b = append(append(append(w.appendURL(b, r), "</loc>"...), more...), "</url>\n"...)
	}
	first := max(r.a-1, 0) * sitemapURLs
	for p := first; p < min(first+sitemapURLs, h.size); p++ {
		more := ""
		if p%10 == 0 {
			more = "<changefreq>weekly</changefreq><priority>0.8</priority>"
		}
		entry(ref{kind: kindPage, host: r.host, a: p}, more)
	}
	if first+sitemapURLs >= h.size {
		entry(ref{kind: kindSitemapOnly, host: r.host}, "<lastmod>2024-05-17</lastmod>")
	}
	a.body = append(b, "</urlset>\n"...)
}

// trap writes the endless pages below /trap/: a calendar, paths that get deeper and
// deeper, and shop pages under a new session id for every visitor.
func (w *Web) trap(a *answer, path, query string, n uint32) {
	link := func(href string) { a.body = fmt.Appendf(a.body, "<li><a href=\"%s\">go on</a></li>\n", href) }
	a.body = append(a.body, "<!DOCTYPE html><title>Endless</title><ul>\n"...)
	switch rest := path[len(trapPrefix):]; {
	case rest == "":
		link("/trap/calendar?month=1")
		link("/trap/deep/")
		link("/trap/shop/item0?sid=" + strconv.FormatUint(finish(uint64(n)), 16))
	case rest == "calendar":
		month, err := strconv.ParseUint(trimKey(query, "month="), 10, 62)
		if err != nil {
			month = 1
		}
		link("/trap/calendar?month=" + strconv.FormatUint(month+1, 10))
		link("/trap/calendar?month=" + strconv.FormatUint(month+12, 10))
	case len(rest) >= len("deep/") && rest[:len("deep/")] == "deep/" && rest[len(rest)-1] == '/':
		link("more/")
		link("a/b/")
	case len(rest) > len("shop/item") && rest[:len("shop/item")] == "shop/item":
		sid, _ := strconv.ParseUint(trimKey(query, "sid="), 16, 64)
		for i := range uint64(4) {
			link(fmt.Sprintf("/trap/shop/item%d?sid=%x", i, finish(sid+i+uint64(n))))
		}
	default:
		a.status = 404
		a.body = a.body[:0]
		w.errorBody(a)
		return
	}
	a.body = append(a.body, "</ul>\n"...)
}

func trimKey(query, key string) string {
	if len(query) >= len(key) && query[:len(key)] == key {
		return query[len(key):]
	}
	return ""
}
