package libhttp

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gonutch/crawler/plugins/internal/libtest"
	"github.com/gonutch/crawler/sdk/model"
	"github.com/gonutch/crawler/sdk/setting"
	"github.com/gonutch/crawler/sdk/testsite"
)

// readRequest reads one request head; false when the client is gone.
func readRequest(r *bufio.Reader) bool {
	_, err := http.ReadRequest(r)
	return err == nil
}

// answer is a server that reads a request, writes text and closes.
func answer(t *testing.T, text string) *testsite.RawServer {
	return testsite.StartRaw(t, func(c net.Conn) {
		if readRequest(bufio.NewReader(c)) {
			_, _ = io.WriteString(c, text)
		}
	})
}

// What comes of servers that break the rules. README.md tells the same.
func TestBrokenServers(t *testing.T) {
	const ok, exc = model.ProtocolSuccess, model.ProtocolException
	want := map[string]struct {
		code      model.ProtocolCode
		body      string
		truncated string
	}{
		"closes at once":                     {exc, "", ""},
		"no status line, markup":             {ok, "<html>old</html>", ""},
		"no status line, another protocol":   {exc, "", ""},
		"blank lines before the status line": {ok, "hi", ""},
		"lower-case status line":             {ok, "hi", ""},
		"colon after the status":             {ok, "hi", ""},
		"no reason":                          {ok, "hi", ""},
		"spaces in the status line":          {ok, "hi", ""},
		"no status":                          {exc, "", ""},
		"status that is no number":           {exc, "", ""},
		"ends within the head":               {exc, "", ""},
		"ends within the status line":        {exc, "", ""},
		"line feeds only":                    {ok, "hi", ""},
		"header line without a colon":        {ok, "hi", ""},
		"space before the colon":             {ok, "hi", ""},
		"name that is no token":              {ok, "hi", ""},
		"continuation line":                  {ok, "hi", ""},
		"continuation of nothing":            {ok, "hi", ""},
		"control characters in a value":      {ok, "hi", ""},
		"length no number":                   {ok, "hi", ""},
		"length negative":                    {ok, "hi", ""},
		"lengths that differ":                {ok, "hi", ""},
		"lengths that agree":                 {ok, "hi", ""},
		"length huge":                        {ok, "hi", ""},
		"length too long":                    {ok, "hi", "disconnect"},
		"length too long by far":             {ok, "hi", "disconnect"},
		"length too short":                   {ok, "hi", ""},
		"no length":                          {ok, "hi", ""},
		"length of nothing":                  {ok, "", "disconnect"},
		"transfer encoding identity":         {ok, "hi", ""},
		"transfer encoding unknown":          {exc, "", ""},
		"chunked and a length":               {ok, "hi", ""},
		"chunks end early":                   {ok, "hi", "disconnect"},
		"chunk cut":                          {ok, "hi", "disconnect"},
		"chunk size no number":               {ok, "hi", "disconnect"},
		"chunk size huge":                    {ok, "", "disconnect"},
		"last chunk without its end":         {ok, "hi", "disconnect"},
		"not chunked though it says so":      {ok, "", "disconnect"},
		"interim answers":                    {ok, "hi", ""},
		"interim answer only":                {exc, "", ""},
		"switches protocols":                 {exc, "", ""},
		"HTTP/1.0":                           {ok, "hi", ""},
		"HTTP/2 without asking":              {ok, "hi", ""},
		"body behind 204":                    {exc, "", ""},
	}
	for _, b := range testsite.BrokenAnswers() {
		tc, known := want[b.Name]
		if !known {
			t.Errorf("%s: what is to come of it?", b.Name)
			continue
		}
		f := fetcher(t)
		r := libtest.Get(t, f, answer(t, b.Text).URL("/"))
		if r.Status.Code != tc.code || string(r.Body) != tc.body || r.Truncated != tc.truncated {
			t.Errorf("%s: %v, body %q, truncated %q; want %s, %q, %q", b.Name, r.Status, r.Body, r.Truncated, tc.code, tc.body, tc.truncated)
		}
		if tc.code == exc && r.Status.Message == "" {
			t.Errorf("%s: no message", b.Name)
		}
		if tc.code == ok && (!strings.HasSuffix(string(r.RawResponse), "\n\r\n") && !strings.HasSuffix(string(r.RawResponse), "\n\n") || strings.Contains(string(r.RawResponse), "103")) {
			t.Errorf("%s: head kept as %q", b.Name, r.RawResponse)
		}
	}
}

// A head that is repaired must read the same however its bytes arrive.
func TestHeadInPieces(t *testing.T) {
	const text = "\r\nHTTP/1.1 103 Early\r\n\r\nHTTP/1.1 200: OK\r\nnonsense\r\nX: y\r\nContent-Length: 2\r\n\r\nhi"
	for size := 1; size <= len(text); size++ {
		local, remote := net.Pipe()
		w := newWireConn(local, 1<<10)
		kept := &heads{}
		w.begin(kept)
		done := make(chan struct{})
		go func() {
			defer close(done)
			for i := 0; i < len(text); i += size {
				_, _ = io.WriteString(remote, text[i:min(i+size, len(text))])
			}
			_ = remote.Close()
		}()
		got, err := io.ReadAll(w)
		<-done
		if want := "HTTP/1.1 103 Early\r\n\r\nHTTP/1.1 200 OK\r\nX: y\r\nContent-Length: 2\r\n\r\nhi"; err != nil || string(got) != want {
			t.Errorf("pieces of %d: %q, %v", size, got, err)
		}
		if _, head := w.take(kept); string(head) != "HTTP/1.1 200: OK\r\nnonsense\r\nX: y\r\nContent-Length: 2\r\n\r\n" {
			t.Errorf("pieces of %d: head %q", size, head)
		}
	}
}

func TestEndlessHead(t *testing.T) {
	for name, line := range map[string]string{"lines": "X-Header: value\r\n", "one line": "x", "blank": "\r\n", "interim": "HTTP/1.1 100 Continue\r\n\r\n"} {
		s := testsite.StartRaw(t, func(c net.Conn) {
			if !readRequest(bufio.NewReader(c)) {
				return
			}
			if name == "lines" || name == "one line" {
				_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n")
			}
			for {
				if _, err := io.WriteString(c, strings.Repeat(line, 64)); err != nil {
					return
				}
			}
		})
		f := fetcher(t, func(c *Config) {
			c.HTTP.MaxHeaderSize, c.HTTP.TimeLimit = 16<<10, setting.Duration(500*time.Millisecond)
		})
		r := libtest.Get(t, f, s.URL("/"))
		if r.Status.Code != model.ProtocolException || len(r.RawResponse) > 64<<10 {
			t.Errorf("%s: %v, head of %d bytes", name, r.Status, len(r.RawResponse))
		}
	}
}

// Garbage behind an answer must not become the next answer.
func TestGarbageBehindAnswer(t *testing.T) {
	s := testsite.StartRaw(t, func(c net.Conn) {
		r := bufio.NewReader(c)
		for readRequest(r) {
			_, _ = io.WriteString(c, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil")
		}
	})
	f := fetcher(t)
	for range 50 {
		if r := libtest.Get(t, f, s.URL("/")); r.Status.Code != model.ProtocolNotFound {
			t.Fatalf("%v %q", r.Status, r.Body)
		}
	}
	g := testsite.StartRaw(t, func(c net.Conn) {
		r := bufio.NewReader(c)
		for readRequest(r) {
			_, _ = io.WriteString(c, "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n<html>garbage")
		}
	})
	for range 10 {
		if r := libtest.Get(t, f, g.URL("/")); r.Status.HTTP != 304 || len(r.Body) != 0 {
			t.Fatalf("%v %q", r.Status, r.Body)
		}
	}
}

func TestFraming(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\n"
	for _, tc := range []struct{ head, body, surplus string }{
		{ok + "Content-Length: 2\r\n\r\n", "hi", "evil"},
		{ok + "content-length: 0\r\n\r\n", "", "evil"},
		{"HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", "", "evil"},
		{"HTTP/1.1 204 No Content\r\n\r\n", "", "evil"},
		{"HTTP/1.1 101 Switching\r\nContent-Length: 1\r\n\r\n", "anything", ""},
		{ok + "\r\n", "anything", ""},
		{ok + "Transfer-Encoding: gzip\r\nContent-Length: 1\r\n\r\n", "anything", ""},
		{ok + "Content-Length: 1\r\nTransfer-Encoding: Chunked\r\n\r\n", "2\r\nhi\r\n0\r\n\r\n", "evil"},
		{ok + "Transfer-Encoding: chunked\r\n\r\n", "A;x=y\r\n0123456789\r\n0001\r\nx\r\n000\r\nTrailer: x\r\nT: y\r\n\r\n", "0\r\n\r\n"},
		{ok + "Transfer-Encoding: chunked\r\n\r\n", "2\nhi\n0\n\n", "evil"},
		{ok + "Transfer-Encoding: chunked\r\n\r\n", "0\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n"},
		{ok + "Transfer-Encoding: chunked\r\n\r\n", "xyz\r\nanything", ""},
		{ok + "Transfer-Encoding: chunked\r\n\r\n", "2\r\nhianything", ""},
		{ok + "Transfer-Encoding: chunked\r\n\r\n", "ffffffffffffffffffff\r\nanything", ""},
	} {
		all := tc.body + tc.surplus
		for size := 1; size <= len(all)+1; size++ {
			f, n := framingOf([]byte(tc.head)), 0
			for i := 0; i < len(all); i += size {
				n += f.scan([]byte(all[i:min(i+size, len(all))]))
			}
			if n != len(tc.body) {
				t.Errorf("%q: %q of %q belongs to it, in pieces of %d", tc.head, all[:n], all, size)
			}
		}
	}
}

// A kept connection that the server has closed meanwhile costs no failure.
func TestClosedWhileIdle(t *testing.T) {
	s := testsite.StartRaw(t, func(c net.Conn) {
		if readRequest(bufio.NewReader(c)) {
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
		}
	})
	f := fetcher(t)
	for i := range 20 {
		if r := libtest.Get(t, f, s.URL("/")); r.Status.Code != model.ProtocolSuccess {
			t.Fatalf("request %d: %v", i, r.Status)
		}
	}
}

// A redirect counts even when its body is cut.
func TestCutRedirect(t *testing.T) {
	s := answer(t, "HTTP/1.1 302 Found\r\nLocation: /there\r\nContent-Length: 100\r\n\r\npart")
	if r := libtest.Get(t, fetcher(t), s.URL("/")); r.Status.Code != model.ProtocolTempMoved || r.Location != s.URL("/there") || r.Truncated != "disconnect" {
		t.Errorf("%v %q %q", r.Status, r.Location, r.Truncated)
	}
}

// Servers that speak first, or never.
func TestOtherProtocols(t *testing.T) {
	f := fetcher(t, func(c *Config) { c.HTTP.ConnectTimeout = setting.Duration(50 * time.Millisecond) })
	greeting := testsite.StartRaw(t, func(c net.Conn) {
		_, _ = io.WriteString(c, "220 mail.example ESMTP\r\n")
		readRequest(bufio.NewReader(c))
	})
	if r := libtest.Get(t, f, greeting.URL("/")); r.Status.Code != model.ProtocolException {
		t.Errorf("greeting: %v", r.Status)
	}
	silent := testsite.StartRaw(t, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) })
	if r := libtest.Get(t, f, strings.Replace(silent.URL("/"), "http:", "https:", 1)); r.Status.Code != model.ProtocolException || !strings.Contains(r.Status.Message, "connect_timeout (50ms)") {
		t.Errorf("no handshake: %v", r.Status)
	}
}

func FuzzRepairHead(f *testing.F) {
	for _, s := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n", "http/1.0 200: x\r\nbad\r\n a\r\nContent-Length: 1, 2\r\n\r\n",
		"HTTP/1.1 200 OK\nTransfer-Encoding : identity\n\n", "HTTP/\n\n", "HTTP/1.1 200 OK\r\nX:\x00\r\n\r\n", "HTTP/1.1 204\r\n: x\r\n\r\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, head []byte) {
		end := headEnd(head, 0)
		if end < 0 || !startsLikeHTTP(head) {
			return
		}
		head = head[:end]
		if !isClean(head) {
			repaired := repairHead(nil, head)
			if headEnd(repaired, 0) != len(repaired) {
				t.Fatalf("%q became %q, which does not end once", head, repaired)
			}
			if line, _ := nextLine(repaired); !isStatusLine(line) {
				return // hopeless, and net/http says so
			}
			if !isClean(repaired) && !strings.Contains(strings.ToLower(string(repaired)), "transfer-encoding") {
				t.Fatalf("%q became %q, which is not clean", head, repaired)
			}
			head = repaired
		}
		resp, err := http.ReadResponse(bufio.NewReader(strings.NewReader(string(head))), nil)
		if err != nil {
			if s := strings.ToLower(err.Error()); strings.Contains(s, "transfer encoding") || strings.Contains(s, "trailer") || strings.Contains(s, "transfer-encoding") {
				return
			}
			t.Fatalf("net/http refuses %q: %v", head, err)
		}
		_ = resp.Body.Close()
	})
}

// chopped is a connection that brings data in pieces of one size.
type chopped struct {
	net.Conn
	data []byte
	size int
}

func (c *chopped) Read(p []byte) (int, error) {
	if len(c.data) == 0 {
		return 0, io.EOF
	}
	n := copy(p, c.data[:min(c.size, len(c.data))])
	c.data = c.data[n:]
	return n, nil
}

func (c *chopped) RemoteAddr() net.Addr { return nil }

// What net/http gets to see does not depend on how the bytes arrive.
func FuzzWireConn(f *testing.F) {
	for _, s := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhievil", "\r\nHTTP/1.1 100 C\r\n\r\nhttp/1.1 200: x\r\nbad\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n.",
		"<html>", "SSH-2.0\r\n", "HTTP/1.1 304 N\r\n\r\nx", "HTTP/1.1 200 OK\n\nx", "HTTP/1.1 20",
	} {
		f.Add([]byte(s), byte(3))
	}
	f.Fuzz(func(t *testing.T, data []byte, size byte) {
		read := func(size int) string {
			w := newWireConn(&chopped{data: data, size: size}, 1<<10)
			w.begin(&heads{})
			got, err := io.ReadAll(w)
			if err != nil {
				t.Fatal(err)
			}
			return string(got)
		}
		if len(data) > 1<<10 {
			return // whether a head is too long does depend on the pieces
		}
		if whole, pieces := read(len(data)+1), read(int(size)+1); whole != pieces {
			t.Errorf("%q: %q at once, %q in pieces of %d", data, whole, pieces, int(size)+1)
		}
	})
}
