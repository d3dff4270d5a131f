package testsite

// BrokenAnswer is an answer of a server that breaks the rules of HTTP, as servers
// on the web do.
type BrokenAnswer struct {
	Name string
	Text string // all that is sent before the connection is closed
}

// BrokenAnswers are answers from no status line to a body behind 204. Serve
// them with StartRaw, or on a site with RawText.
func BrokenAnswers() []BrokenAnswer {
	return []BrokenAnswer{
		{"closes at once", ""},
		{"no status line, markup", "<html>old</html>"},
		{"no status line, another protocol", "SSH-2.0-OpenSSH_9\r\n"},
		{"blank lines before the status line", "\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"},
		{"lower-case status line", "http/1.1 200 ok\r\nContent-Length: 2\r\n\r\nhi"},
		{"colon after the status", "HTTP/1.1 200: OK\r\nContent-Length: 2\r\n\r\nhi"},
		{"no reason", "HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nhi"},
		{"spaces in the status line", "HTTP/1.1  200   OK\r\nContent-Length: 2\r\n\r\nhi"},
		{"no status", "HTTP/1.1\r\nContent-Length: 2\r\n\r\nhi"},
		{"status that is no number", "HTTP/1.1 OK\r\n\r\nhi"},
		{"ends within the head", "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"},
		{"ends within the status line", "HTTP/1.1 20"},
		{"line feeds only", "HTTP/1.1 200 OK\nContent-Length: 2\n\nhi"},
		{"header line without a colon", "HTTP/1.1 200 OK\r\nnonsense\r\nContent-Length: 2\r\n\r\nhi"},
		{"space before the colon", "HTTP/1.1 200 OK\r\nContent-Length : 2\r\n\r\nhi and more"},
		{"name that is no token", "HTTP/1.1 200 OK\r\nX (y): z\r\nContent-Length: 2\r\n\r\nhi"},
		{"continuation line", "HTTP/1.1 200 OK\r\nX-Long: a\r\n b\r\nContent-Length: 2\r\n\r\nhi"},
		{"continuation of nothing", "HTTP/1.1 200 OK\r\n a: b\r\nContent-Length: 2\r\n\r\nhi"},
		{"control characters in a value", "HTTP/1.1 200 OK\r\nX: a\x00b\x1b\r\nContent-Length: 2\r\n\r\nhi"},
		{"length no number", "HTTP/1.1 200 OK\r\nContent-Length: two\r\n\r\nhi"},
		{"length negative", "HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\nhi"},
		{"lengths that differ", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nhi"},
		{"lengths that agree", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2, 2\r\n\r\nhi!"},
		{"length huge", "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\nhi"},
		{"length too long", "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nhi"},
		{"length too long by far", "HTTP/1.1 200 OK\r\nContent-Length: 900000000000000000\r\n\r\nhi"},
		{"length too short", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi there"},
		{"no length", "HTTP/1.1 200 OK\r\n\r\nhi"},
		{"length of nothing", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n"},
		{"transfer encoding identity", "HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\n\r\nhi"},
		{"transfer encoding unknown", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\nhi"},
		{"chunked and a length", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n2\r\nhi\r\n0\r\n\r\n"},
		{"chunks end early", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n"},
		{"chunk cut", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\nhi"},
		{"chunk size no number", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\nxyz\r\nho\r\n0\r\n\r\n"},
		{"chunk size huge", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffffff\r\nhi"},
		{"last chunk without its end", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n"},
		{"not chunked though it says so", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n<html>"},
		{"interim answers", "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 200 OK\r\nbad line\r\nContent-Length: 2\r\n\r\nhi"},
		{"interim answer only", "HTTP/1.1 100 Continue\r\n\r\n"},
		{"switches protocols", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\nhi"},
		{"HTTP/1.0", "HTTP/1.0 200 OK\r\n\r\nhi"},
		{"HTTP/2 without asking", "HTTP/2 200 OK\r\nContent-Length: 2\r\n\r\nhi"},
		{"body behind 204", "HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\nhi"},
	}
}
