// Package liblist writes a folder's content as an HTML page of links, in the one form
// that all protocols with folders (file, ftp, s3) have, so that parsers find the links as
// in any page. It owns escaping and the limit; it must not know where names come from.
package liblist

import (
	"bytes"
	"html"
	"net/url"
	"strings"
)

// ContentType is that of the pages.
const ContentType = "text/html; charset=utf-8"

// Page returns a page titled "Index of folder" with a link for each name, in their order;
// folders' names end in "/". With parent there is a link to "../" before them. A page that
// would have more than limit bytes leaves the last names out and is cut.
func Page(folder string, parent bool, names []string, limit int64) (body []byte, cut bool) {
	title := html.EscapeString("Index of " + printable(folder))
	var b bytes.Buffer
	b.WriteString("<!DOCTYPE html>\n<html><head><meta charset=\"utf-8\"><title>" + title + "</title></head>\n<body><h1>" + title + "</h1>\n<ul>\n")
	if parent {
		b.WriteString("<li><a href=\"../\">../</a></li>\n")
	}
	const end = "</ul>\n</body></html>\n"
	for _, n := range names {
		line := "<li><a href=\"" + href(n) + "\">" + html.EscapeString(printable(n)) + "</a></li>\n"
		if int64(b.Len()+len(line)+len(end)) > limit {
			cut = true
			break
		}
		b.WriteString(line)
	}
	b.WriteString(end)
	body = b.Bytes()
	if int64(len(body)) > limit { // not even the frame
		body, cut = body[:limit], true
	}
	return body, cut
}

// href is name as a relative reference that nothing in it can break out of.
func href(name string) string {
	dir := strings.HasSuffix(name, "/")
	s := "./" + html.EscapeString(url.PathEscape(strings.TrimSuffix(name, "/")))
	if dir {
		s += "/"
	}
	return s
}

// printable is name as text; bytes that are no UTF-8 become U+FFFD.
func printable(name string) string { return strings.ToValidUTF8(name, "\uFFFD") }
