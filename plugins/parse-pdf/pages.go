package parsepdf

import (
	"cmp"
	"maps"
	"slices"
)

const (
	maxKids    = 100_000 // pages and nodes of a page tree looked at
	maxParents = 32      // nodes above a page
	maxFonts   = 1_000   // of a document, that are made up
)

// resolve returns what raw is or refers to.
func (s *scan) resolve(raw []byte) []byte {
	for range 8 {
		num, ok := reference(raw)
		if !ok {
			return raw
		}
		o := s.objects[num]
		if o == nil {
			return nil
		}
		raw = o.value
	}
	return nil
}

// root returns the document's catalog, nil when it is not there.
func (s *scan) root() dict {
	for i := len(s.trailers) - 1; i >= 0; i-- {
		if d := s.dict(s.resolve(s.trailers[i]["Root"])); d != nil {
			return d
		}
	}
	var last *object
	for _, o := range s.objects {
		if (last == nil || o.at > last.at) && s.header(o).is("Type", "Catalog") {
			last = o
		}
	}
	return s.header(last)
}

// pages returns the numbers of the whole pages in their order: by the page tree as far
// as it is there; where nodes of it are missing, other pages follow as they are written.
func (s *scan) pages(root dict) (out []int, complete bool) {
	seen := map[int]bool{}
	whole := root != nil
	top, ok := reference(root["Pages"])
	if !ok {
		whole = false
	}
	for open := []int{top}; len(open) > 0 && len(open) < maxKids && len(seen) < maxKids; {
		num := open[len(open)-1]
		open = open[:len(open)-1]
		d := s.header(s.objects[num])
		switch {
		case d == nil:
			whole = false
		case seen[num]:
		case d["Kids"] != nil:
			kids := s.references(s.resolve(d["Kids"]))
			slices.Reverse(kids)
			open = append(open, kids...)
		default:
			out = append(out, num)
		}
		seen[num] = true
	}
	if whole {
		return out, true
	}
	var rest []*object
	for num, o := range s.objects {
		if !seen[num] && s.header(o).is("Type", "Page") {
			rest = append(rest, o)
		}
	}
	slices.SortFunc(rest, func(a, b *object) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.index, b.index)) })
	for _, o := range rest {
		out = append(out, o.num)
	}
	return out, false
}

// lostFonts returns the numbers of the fonts of pages that are not there, or not enough
// of them to tell which characters they write, and the pages of which not even the
// names of the fonts are there.
func (s *scan) lostFonts(pages []int) (fonts, bare []int) {
	lost := map[int]bool{}
	known := map[string]bool{} // resources that were looked at
	for _, num := range pages {
		resources := s.inherited(s.header(s.objects[num]), "Resources")
		all := s.resolve(resources)
		list := s.dict(all)["Font"]
		if all == nil || list != nil && s.resolve(list) == nil {
			bare = append(bare, num)
			continue
		}
		if s.budget -= len(resources); known[string(resources)] || s.budget < 0 {
			continue
		}
		known[string(resources)] = true
		for _, raw := range s.dict(s.resolve(list)) {
			if font, ok := reference(raw); ok && len(lost) < maxFonts && !s.tells(font) {
				lost[font] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(lost)), bare
}

// inherited returns an attribute of a page or of the nodes above it.
func (s *scan) inherited(page dict, key string) []byte {
	for range maxParents {
		if v := page[key]; v != nil {
			return v
		}
		num, ok := reference(page["Parent"])
		if !ok {
			return nil
		}
		page = s.header(s.objects[num])
	}
	return nil
}

// tells reports whether enough of a font is there to tell its characters.
func (s *scan) tells(num int) bool {
	font := s.header(s.objects[num])
	if font == nil {
		return false
	}
	there := func(raw []byte) bool {
		num, ok := reference(raw)
		return !ok || s.objects[num] != nil && !s.objects[num].cut
	}
	if v := font["ToUnicode"]; v != nil && there(v) {
		return true
	}
	if font.is("Subtype", "Type0") {
		kids := s.references(s.resolve(font["DescendantFonts"]))
		return font["ToUnicode"] == nil && len(kids) > 0 && s.objects[kids[0]] != nil
	}
	return font["ToUnicode"] == nil && there(font["Encoding"])
}
