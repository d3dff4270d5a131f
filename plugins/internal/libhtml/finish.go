package libhtml

import (
	"bytes"
	"math"
	"strconv"
	"strings"
)

// page turns what the sink gathered into a Page.
func (s *sink) page(in *Input) *Page {
	p := &Page{OverLimit: s.over, TooLong: s.tooLong, Ignored: s.ignored}
	r := newResolver(in.Base, in.URL)
	r.charset = in.Charset
	out := make([]byte, 0, 256+len(s.links)*64)
	if s.hasBase {
		if abs, ok := r.absolute(nil, clean(s.base)); ok && r.setBase(abs) {
			p.Base = string(abs)
		}
	}
	text := string(s.text.buf)
	p.Text = text
	p.Title = string(s.title.buf)
	p.Language = string(bytes.TrimSpace(s.lang))
	if p.Language == "" {
		p.Language = string(bytes.TrimSpace(s.xmlLang))
	}
	if s.canonical != nil {
		if abs, ok := r.absolute(nil, clean(s.canonical)); ok {
			p.Canonical = string(abs)
		}
	}
	p.Metas = s.metaList()
	s.linkList(p, r, text, out)
	if s.hasRefresh {
		p.Refresh = parseRefresh(s.refresh, r)
	}
	p.Facts = s.answers(in.Facts, p, text, r)
	return p
}

func (s *sink) metaList() []Meta {
	if len(s.metas) == 0 {
		return nil
	}
	out := make([]Meta, len(s.metas))
	for i, m := range s.metas {
		out[i] = Meta{
			Name: lowerASCII(bytes.TrimSpace(m.name)), Property: lowerASCII(bytes.TrimSpace(m.property)),
			HTTPEquiv: lowerASCII(bytes.TrimSpace(m.equiv)), Content: collapse(m.content),
		}
	}
	return out
}

// linkList resolves the links. URLs are cut from one string, anchors from the
// text.
func (s *sink) linkList(p *Page, r *resolver, text string, out []byte) {
	if len(s.links) == 0 {
		return
	}
	names := &elems.names
	links := make([]Link, 0, len(s.links))
	ends := make([]int, 0, len(s.links))
	for i := range s.links {
		l := &s.links[i]
		var ok bool
		if out, ok = r.resolve(out, l.ref); !ok {
			p.Unusable++
			continue
		}
		ends = append(ends, len(out))
		anchor := flat(text, l.start, l.end)
		if anchor == "" && len(l.alt) > 0 {
			anchor = collapse(l.alt)
		}
		links = append(links, Link{Anchor: anchor, Tag: names[l.tag]})
	}
	all, from := string(out), 0
	for i, end := range ends {
		links[i].URL = all[from:end]
		from = end
	}
	p.Links = links
}

// parseRefresh reads the content of a meta refresh (HTML standard, "shared
// declarative refresh steps"). It returns nil when it leads nowhere else.
func parseRefresh(content []byte, r *resolver) *Refresh {
	s := strings.TrimLeft(string(content), " \t\n\f\r")
	i := 0
	for i < len(s) && '0' <= s[i] && s[i] <= '9' {
		i++
	}
	if i == 0 && !strings.HasPrefix(s, ".") {
		return nil
	}
	seconds, err := strconv.Atoi("0" + s[:i])
	if err != nil {
		seconds = math.MaxInt32
	}
	s = strings.TrimLeft(s[i:], "0123456789.")
	if s != "" && !strings.ContainsRune(";, \t\n\f\r", rune(s[0])) {
		return nil
	}
	s = strings.TrimLeft(s, " \t\n\f\r")
	s = strings.TrimLeft(strings.TrimPrefix(strings.TrimPrefix(s, ";"), ","), " \t\n\f\r")
	if len(s) >= 3 && strings.EqualFold(s[:3], "url") {
		if rest := strings.TrimLeft(s[3:], " \t\n\f\r"); strings.HasPrefix(rest, "=") {
			s = strings.TrimLeft(rest[1:], " \t\n\f\r")
		}
	}
	if s != "" && (s[0] == '"' || s[0] == '\'') {
		q := s[0]
		s = s[1:]
		if j := strings.IndexByte(s, q); j >= 0 {
			s = s[:j]
		}
	}
	if s == "" {
		return nil
	}
	url, ok := r.resolve(nil, []byte(s))
	if !ok {
		return nil
	}
	return &Refresh{URL: string(url), Seconds: min(seconds, math.MaxInt32)}
}
