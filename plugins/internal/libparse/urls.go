package libparse

import (
	"strings"

	"github.com/gonutch/crawler/sdk/model"
)

// FindURLs returns the http, https and ftp URLs in text, in order, at most
// limit (0: all), without those of self, and how many more there were. Where
// one starts its scheme must not be part of a word; it ends at white space,
// quotes, angle brackets and the like, and brackets it does not open, such as those of
// Markdown; punctuation at its end belongs to the sentence. Every byte is looked at a
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
		end := urlEnd(text, at)
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

// Whole is text without the word that it ends with when the document's end was cut off: a URL there may
// be the beginning of another one.
func Whole(c *model.Content, text string) string {
	if c.Truncated == "" {
		return text
	}
	return text[:strings.LastIndexAny(text, " \t\n")+1]
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

// urlEnd returns where the URL whose host starts at start ends: before what can't be part
// of it, a bracket that it has not opened, or punctuation in front of these.
func urlEnd(text string, start int) int {
	opened := [2]int{}
	const left, right = "([", ")]"
	end := start
	for ; end < len(text) && !endsURL(text[end]); end++ {
		if k := strings.IndexByte(left, text[end]); k >= 0 {
			opened[k]++
		} else if k := strings.IndexByte(right, text[end]); k >= 0 {
			if opened[k]--; opened[k] < 0 {
				break
			}
		}
	}
	for end > start && strings.IndexByte(".,;:!?'*", text[end-1]) >= 0 {
		end--
	}
	return end
}
