// Package control is the socket through which other commands ask the process
// that has a crawl directory open: HTTP with JSON bodies over the Unix socket
// control.sock in that directory.
//
// It owns the socket file, who may use it, limits, deadlines, and how errors
// travel. It must not know what the verbs mean; package query does.
//
// The socket is made in a private folder beside its place, given mode 0600 and
// then renamed there. So nobody else can connect at any moment, and the
// socket that a killed process left behind is replaced in one step. On Linux the
// peer's user id is checked too: the crawl's own user and root may ask.
//
// Requests:
//
//	GET  /v1/hello          who serves: Hello
//	POST /v1/verb/NAME      body: the query; answer: the verb's value
//	POST /v1/stream/NAME    body: the query; answer: lines of {"value": …}, at the end {"end": true}
//
// An error is answered with a status of 400 and above, or as a stream's last line:
// {"error": "…", "kind": "invalid"}. The kind is left out when the error has none.
package control
