package testsite

import (
	"bytes"
	"crypto/hmac"
	"crypto/md5" //nolint:gosec // what NTLM is made of
	"encoding/base64"
	"encoding/binary"
	"net/http"
	"strings"
	"sync"
	"unicode/utf16"

	"golang.org/x/crypto/md4" //nolint:staticcheck,gosec // likewise
)

// NTLM answers route with html to those who log in by NTLM (NTLMv2 only), as
// Windows servers do: the connection is logged in, not the request
// ([MS-NLMP], [MS-NTHT]).
func (s *Site) NTLM(route string, l Login, html string) *Site {
	n := &ntlmServer{login: l, in: map[string]bool{}, asked: map[string]bool{}}
	return s.Handle(route, func(w http.ResponseWriter, r *http.Request) { n.serve(w, r, html) })
}

// ntlmChallenge is the server's; a real one is random.
const ntlmChallenge = "\x01\x23\x45\x67\x89\xab\xcd\xef"

type ntlmServer struct {
	login Login
	mu    sync.Mutex
	asked map[string]bool // connections, by the client's address, that got a challenge
	in    map[string]bool // those that are logged in
}

func (n *ntlmServer) serve(w http.ResponseWriter, r *http.Request, html string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	conn, auth := r.RemoteAddr, r.Header.Get("Authorization")
	if n.in[conn] && auth == "" {
		page(w, html)
		return
	}
	value := "NTLM"
	if text, ok := strings.CutPrefix(auth, "NTLM "); ok {
		delete(n.in, conn)
		switch msg, err := base64.StdEncoding.DecodeString(text); {
		case err != nil || len(msg) < 12 || !bytes.HasPrefix(msg, []byte("NTLMSSP\x00")):
		case msg[8] == 1:
			n.asked[conn] = true
			value += " " + base64.StdEncoding.EncodeToString(ntlmType2())
		case msg[8] == 3 && n.asked[conn] && n.verify(msg):
			n.in[conn] = true
			page(w, html)
			return
		}
	}
	w.Header().Set("WWW-Authenticate", value)
	http.Error(w, "log in", http.StatusUnauthorized)
}

// ntlmType2 is the CHALLENGE_MESSAGE ([MS-NLMP] section 2.2.1.2).
func ntlmType2() []byte {
	const flags = 0x1 | 0x4 | 0x200 | 0x8000 | 0x20000 | 0x80000 | 0x800000
	target := utf16le("TEST")
	info := binary.LittleEndian.AppendUint16(nil, 2) // MsvAvNbDomainName
	info = binary.LittleEndian.AppendUint16(info, uint16(len(target)))
	info = append(append(info, target...), 0, 0, 0, 0)
	b := append([]byte("NTLMSSP\x00"), 2, 0, 0, 0)
	field := func(n, at int) {
		b = binary.LittleEndian.AppendUint16(b, uint16(n))
		b = binary.LittleEndian.AppendUint16(b, uint16(n))
		b = binary.LittleEndian.AppendUint32(b, uint32(at))
	}
	const head = 56
	field(len(target), head)
	b = binary.LittleEndian.AppendUint32(b, flags)
	b = append(append(b, ntlmChallenge...), make([]byte, 8)...)
	field(len(info), head+len(target))
	b = append(b, make([]byte, head-len(b))...) // version
	return append(append(b, target...), info...)
}

// verify checks an AUTHENTICATE_MESSAGE ([MS-NLMP] sections 2.2.1.3, 3.3.2).
func (n *ntlmServer) verify(msg []byte) bool {
	field := func(at int) []byte {
		if len(msg) < at+8 {
			return nil
		}
		size, off := int(binary.LittleEndian.Uint16(msg[at:])), int(binary.LittleEndian.Uint32(msg[at+4:]))
		if off+size > len(msg) {
			return nil
		}
		return msg[off : off+size]
	}
	answer, domain, user := field(20), fromUTF16le(field(28)), fromUTF16le(field(36))
	if !strings.EqualFold(user, n.login.User) || n.login.Domain != "" && domain != n.login.Domain || len(answer) <= 16 {
		return false
	}
	h := md4.New()
	_, _ = h.Write(utf16le(n.login.Password))
	key := hmacMD5(h.Sum(nil), utf16le(strings.ToUpper(user)+domain))
	return hmac.Equal(answer[:16], hmacMD5(key, append([]byte(ntlmChallenge), answer[16:]...)))
}

func hmacMD5(key, data []byte) []byte {
	h := hmac.New(md5.New, key)
	_, _ = h.Write(data)
	return h.Sum(nil)
}

func utf16le(s string) []byte {
	var b []byte
	for _, u := range utf16.Encode([]rune(s)) {
		b = binary.LittleEndian.AppendUint16(b, u)
	}
	return b
}

func fromUTF16le(b []byte) string {
	var u []uint16
	for ; len(b) >= 2; b = b[2:] {
		u = append(u, binary.LittleEndian.Uint16(b))
	}
	return string(utf16.Decode(u))
}
