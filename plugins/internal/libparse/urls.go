package libparse

import "strings"

// FindURLs returns the http, https and ftp URLs in text, in order, at most
// limit (0: all), without those of self, and how many more there were. Where
// one starts its scheme must not be part of a word; it ends at white space,
// quotes, angle brackets and the like, and punctuation at its end belongs to
// the sentence, as do brackets it does not open. Every byte is looked at a
// bounded number of times.
func FindURLs(text string, limit int, self string) (urls []string, over int) {
	self, _, _ = strings.Cut(self, "#")
	for at := 0; ; {
		i := strings.Index(text[at:], "://")
		if i < 0 {
			return urls, over
		}
		i += at
		at = i + len("://")
		start := schemeStart(text, i)
		if start < 0 || at == len(text) || !startsHost(text[at]) {
			continue
		}
		end := at
		for end < len(text) && !endsURL(text[end]) {
			end++
		}
		end = trimURL(text, at, end)
		at = end
		u := text[start:end]
		if page, _, _ := strings.Cut(u, "#"); page == self {
			continue
		}
		if limit > 0 && len(urls) >= limit {
			over++
			continue
		}
		urls = append(urls, u)
	}
}

// schemeStart returns where the scheme that ends at i starts, or -1 when it is
// none of those looked for.
func schemeStart(text string, i int) int {
	start := i
	for start > 0 && i-start <= len("https") && isAlnum(text[start-1]) {
		start--
	}
	switch strings.ToLower(text[start:i]) {
	case "http", "https", "ftp":
		return start
	}
	return -1
}

func isAlnum(c byte) bool {
	return 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9'
}

// startsHost reports whether a host can start with c.
func startsHost(c byte) bool { return isAlnum(c) || c == '[' || c >= 0x80 }

// endsURL reports whether c can't be part of a URL in text.
func endsURL(c byte) bool {
	return c <= ' ' || strings.IndexByte("\"<>`{}|\\^\x7f", c) >= 0
}

// trimURL returns the end of the URL without what belongs to the text around
// it.
func trimURL(text string, start, end int) int {
	opened := [3]int{}
	const left, right = "([", ")]"
	for i := start; i < end; i++ {
		if k := strings.IndexByte(left, text[i]); k >= 0 {
			opened[k]++
		} else if k := strings.IndexByte(right, text[i]); k >= 0 {
			opened[k]--
		}
	}
	for end > start {
		c := text[end-1]
		k := strings.IndexByte(right, c)
		switch {
		case k >= 0 && opened[k] < 0:
			opened[k]++
		case strings.IndexByte(".,;:!?'*", c) >= 0:
		default:
			return end
		}
		end--
	}
	return end
}
