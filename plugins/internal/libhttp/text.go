package libhttp

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
)

// textRequest writes a request that was not sent as text (HTTP/2) or not seen
// as it was sent (through a proxy's tunnel) as HTTP/1.1 text, which is how
// such exchanges are kept in WARC files.
func textRequest(r *http.Request) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: %s\r\n", r.Method, r.URL.RequestURI(), r.Host)
	return textHeader(&b, r.Header)
}

// textResponse does the same for a response.
func textResponse(r *http.Response) []byte {
	var b bytes.Buffer
	reason := http.StatusText(r.StatusCode)
	fmt.Fprintf(&b, "HTTP/1.1 %03d %s\r\n", r.StatusCode, reason)
	return textHeader(&b, r.Header)
}

func textHeader(b *bytes.Buffer, h http.Header) []byte {
	names := make([]string, 0, len(h))
	for name := range h {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		for _, v := range h[name] {
			b.WriteString(name)
			b.WriteString(": ")
			b.WriteString(v)
			b.WriteString("\r\n")
		}
	}
	b.WriteString("\r\n")
	return b.Bytes()
}
