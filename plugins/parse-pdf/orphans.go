package parsepdf

import (
	"bytes"
	"cmp"
	"slices"
)

const (
	maxContent = 1 << 20 // bytes of a content stream looked at for its fonts
	maxOrphans = 10_000
)

// contents returns the streams that hold a page's content.
func (s *scan) contents(page int) []int {
	raw := s.header(s.objects[page])["Contents"]
	if num, ok := reference(raw); ok && s.objects[num] != nil && s.objects[num].stream != nil {
		return []int{num}
	}
	return s.references(s.resolve(raw))
}

// orphans returns the contents that none of pages has, as they are written: many
// programs write all pages behind all contents.
func (s *scan) orphans(pages []int) []int {
	used := map[int]bool{}
	for _, p := range pages {
		for _, num := range s.contents(p) {
			used[num] = true
		}
	}
	var out []*object
	for num, o := range s.objects {
		if o.stream != nil && !used[num] && len(s.writes(num)) > 0 {
			out = append(out, o)
		}
	}
	slices.SortFunc(out, func(a, b *object) int { return cmp.Compare(a.at, b.at) })
	nums := make([]int, 0, len(out))
	for _, o := range out[:min(len(out), maxOrphans)] {
		nums = append(nums, o.num)
	}
	return nums
}

// writes returns the names of the fonts of a stream that is a page's content, none for
// one that writes nothing or is something else.
func (s *scan) writes(num int) map[string]bool {
	o := s.objects[num]
	if o == nil || o.stream == nil {
		return nil
	}
	d := s.header(o)
	for _, key := range [...]string{"Type", "Subtype", "Length1", "N", "FunctionType", "Width"} {
		if d[key] != nil {
			return nil
		}
	}
	data, _ := s.inflate(d, o.stream, maxContent)
	if !bytes.Contains(data, []byte("BT")) {
		return nil
	}
	fonts := map[string]bool{}
	for at := 0; len(fonts) < maxFonts; { // "/F1 10 Tf"
		i := bytes.Index(data[at:], []byte(" Tf"))
		if i < 0 {
			break
		}
		at += i + len(" Tf")
		line := data[max(0, at-80) : at-len(" Tf")]
		if slash := bytes.LastIndexByte(line, '/'); slash >= 0 {
			if name := string(line[slash+1 : skipToken(line, slash)]); name != "" {
				fonts[name] = true
			}
		}
	}
	return fonts
}
