package libhttp

import (
	"bytes"
	"net/textproto"

	"github.com/gonutch/crawler/sdk/extension/protocol"
)

// hidden stands for a secret in what is kept of a request.
const hidden = "(hidden)"

// hideSecrets takes passwords, cookies and the values of configured headers
// out of the heads that are kept, and, where there is a login, the cookies
// that the server set: who has those is logged in.
func (f *Fetcher) hideSecrets(c *call, out *protocol.Response) {
	header := c.sent.Header
	if c.authorization == "" && header["Cookie"] == nil && header["Authorization"] == nil && len(c.x.sites) == 0 {
		return
	}
	secret := map[string]bool{"Authorization": true, "Proxy-Authorization": true, "Cookie": true}
	for _, s := range c.x.sites {
		for name := range s.header {
			secret[name] = true
		}
	}
	out.RawRequest = hideIn(out.RawRequest, secret)
	if c.login() == nil || out.Headers["Set-Cookie"] == nil {
		return
	}
	out.Headers["Set-Cookie"] = []string{hidden}
	out.RawResponse = hideIn(out.RawResponse, map[string]bool{"Set-Cookie": true})
}

// hideIn replaces the values of the named headers of a head, continuation
// lines included.
func hideIn(head []byte, secret map[string]bool) []byte {
	var out []byte
	hiding, start := false, 0
	for i := 0; i < len(head); {
		end := bytes.IndexByte(head[i:], '\n')
		if end < 0 {
			end = len(head)
		} else {
			end += i + 1
		}
		line := head[i:end]
		continued := hiding && (line[0] == ' ' || line[0] == '\t')
		name, _, ok := bytes.Cut(line, []byte{':'})
		if !continued {
			hiding = i > 0 && ok && secret[textproto.CanonicalMIMEHeaderKey(string(bytes.TrimSpace(name)))]
		}
		if hiding {
			out = append(out, head[start:i]...)
			if !continued {
				out = append(append(append(out, name...), ": "+hidden...), "\r\n"...)
			}
			start = end
		}
		i = end
	}
	if start == 0 {
		return head
	}
	return append(out, head[start:]...)
}
