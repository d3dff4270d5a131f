package testweb

import "strconv"

// link is one link of a page.
type link struct {
	to       ref
	nofollow bool // rel=nofollow
}

// maxLinks bounds Config.Links, so that no page gets near 100 links.
const maxLinks = 60

// linksOf appends the links of an HTML page in page order; at most 95, all told.
// Which page's links they are is the caller's matter: a duplicate has its original's.
func (w *Web) linksOf(dst []link, h, p int32, bait bool) []link {
	add := func(host, page int32) { dst = append(dst, link{to: ref{kind: kindPage, host: host, a: page}}) }
	host := &w.hosts[h]
	r := w.rng(saltLinks, h, p)
	if p%section == 0 {
		for c := p + 1; c < min(p+section, host.size); c++ {
			add(h, c)
		}
		for c := p/section*sectionKids + 1; c <= p/section*sectionKids+sectionKids; c++ {
			if c*section < host.size {
				add(h, c*section)
			}
		}
		if p == 0 {
			for _, c := range w.kids[host.kids : host.kids+host.nkids] {
				add(c, 0)
			}
			if host.trap {
				dst = append(dst, link{to: ref{kind: kindTrap, host: h}})
			}
		}
	} else {
		add(h, 0)
		add(h, p-p%section)
		if bait {
			dst = append(dst, link{to: ref{kind: kindBait, host: h, a: p}, nofollow: true})
		}
	}
	n := 5 + r.below(15)
	if p%section != 0 { // leaf pages have links by their size, from half to one and a half of the usual
		usual := int32(w.cfg.Links)
		if usual == 0 {
			usual = int32(min(10+w.size(h, p)/1000, 55))
		}
		n = usual/2 + r.below(usual)
	}
	for range n {
		to := w.target(&r, h)
		dst = append(dst, link{to: to})
	}
	return dst
}

// target draws where a link of a page of host h leads: mostly within the host, low
// page and host numbers being the popular ones.
func (w *Web) target(r *rng, h int32) ref {
	if s := w.cfg.Shares.UniformLinks; s > 0 && r.float() < s {
		return w.pageRef(r.below(int32(w.cfg.Pages)))
	}
	if r.float() < 0.75 || len(w.hosts) == 1 {
		return ref{kind: kindPage, host: h, a: r.skewed(w.hosts[h].size)}
	}
	to := ref{kind: kindPage, host: r.skewed(int32(len(w.hosts)))}
	if r.float() > 0.5 {
		to.a = r.skewed(w.hosts[to.host].size)
	}
	return to
}

// next is where a redirect or refresh at r leads.
func (w *Web) next(r ref) ref {
	pg := w.page(r.host, r.a)
	step := r.b + 1 // r.b is 0 for the page itself
	if (pg.fate == fateRedirect || pg.fate == fateLoop) && step < int32(pg.n) {
		return ref{kind: kindHop, host: r.host, a: r.a, b: step}
	}
	if pg.fate == fateLoop {
		return ref{kind: kindPage, host: r.host, a: r.a}
	}
	rd := w.rng(saltTarget, r.host, r.a)
	return w.target(&rd, r.host)
}

// redirectCode is the status of the redirect at r.
func (w *Web) redirectCode(r ref) int {
	rd := w.rng(saltCode, r.host, r.a*8+r.b)
	return [...]int{301, 302, 303, 307, 308}[rd.below(5)]
}

// appendHref writes the address of to as page from of the same web may write it. absolute
// forces the form that is right on every page.
func (w *Web) appendHref(dst []byte, from, to ref, r *rng, absolute bool) []byte {
	x := r.float()
	switch {
	case x < w.cfg.Shares.MessyLinks && to.kind != kindTrap:
		return w.appendMessy(dst, to, r)
	case to.host != from.host || absolute || x > 0.8:
		return w.appendURL(dst, to)
	case from.a%section == 0 && from.a > 0 && to.kind == kindPage && to.a/section == from.a/section && to.a%section != 0:
		at := len(dst)
		dst = w.appendPath(dst, to)
		cut := len("/s/") + len(strconv.AppendInt(nil, int64(to.a/section), 10))
		return append(dst[:at], dst[at+cut:]...) // relative to the section
	}
	return w.appendPath(dst, to)
}

// appendMessy writes an address that urlnormalizer-basic turns into to's.
func (w *Web) appendMessy(dst []byte, to ref, r *rng) []byte {
	form := r.below(4)
	dst = append(dst, "HTTP://HOST"...)
	dst = strconv.AppendInt(dst, int64(to.host), 10)
	dst = append(dst, ".Test"...)
	if w.portSuffix != "" {
		dst = append(dst, w.portSuffix...)
	} else if form == 0 {
		dst = append(dst, ":80"...)
	}
	switch form {
	case 1:
		dst = append(dst, "/."...)
	case 2:
		dst = append(dst, "/elsewhere/.."...)
	}
	dst = w.appendPath(dst, to)
	if form == 3 {
		dst = append(dst, "#part2"...)
	}
	return dst
}
