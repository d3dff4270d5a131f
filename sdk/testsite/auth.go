package testsite

import (
	"crypto/md5" //nolint:gosec // what Digest and NTLM are made of
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"hash"
	"net/http"
	"strings"
	"sync"
)

// Login is who may see a page, and how the server asks.
type Login struct {
	User, Password string
	Realm          string
	Domain         string // NTLM: of the user; "" takes any
	Algorithm      string // Digest: "MD5", "SHA-256"
	// Uses is how many requests a Digest nonce is good for; 0 means any number.
	Uses int
}

// Basic answers route with html to those who log in by HTTP Basic (RFC 7617),
// and with 401 otherwise.
func (s *Site) Basic(route string, l Login, html string) *Site {
	return s.Handle(route, func(w http.ResponseWriter, r *http.Request) {
		user, password, ok := r.BasicAuth()
		if ok && user == l.User && password == l.Password {
			page(w, html)
			return
		}
		w.Header().Set("WWW-Authenticate", fmt.Sprintf("Basic realm=%q, charset=\"UTF-8\"", l.Realm))
		http.Error(w, "log in", http.StatusUnauthorized)
	})
}

func page(w http.ResponseWriter, html string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write([]byte(html))
}

// Digest answers route with html to those who log in by HTTP Digest (RFC 7616,
// qop auth), and with 401 otherwise. Nonces are counted, and so are their uses.
func (s *Site) Digest(route string, l Login, html string) *Site {
	d := &digestServer{login: l, counts: map[string]uint64{}}
	return s.Handle(route, func(w http.ResponseWriter, r *http.Request) {
		ok, stale := d.check(r)
		if ok {
			page(w, html)
			return
		}
		w.Header().Set("WWW-Authenticate", d.challenge(stale))
		http.Error(w, "log in", http.StatusUnauthorized)
	})
}

type digestServer struct {
	login  Login
	mu     sync.Mutex
	made   int
	counts map[string]uint64 // highest nc by nonce
}

func (d *digestServer) challenge(stale bool) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.made++
	nonce := fmt.Sprintf("nonce-%d", d.made)
	d.counts[nonce] = 0
	c := fmt.Sprintf("Digest realm=%q, qop=\"auth\", nonce=%q, opaque=\"dim\", algorithm=%s", d.login.Realm, nonce, d.login.Algorithm)
	if stale {
		c += ", stale=true"
	}
	return c
}

func (d *digestServer) check(r *http.Request) (ok, stale bool) {
	value, found := strings.CutPrefix(r.Header.Get("Authorization"), "Digest ")
	if !found {
		return false, false
	}
	p := digestParams(value)
	sum := md5.New
	if d.login.Algorithm == "SHA-256" {
		sum = sha256.New
	}
	ha1 := hexSum(sum, d.login.User+":"+d.login.Realm+":"+d.login.Password)
	ha2 := hexSum(sum, r.Method+":"+p["uri"])
	want := hexSum(sum, strings.Join([]string{ha1, p["nonce"], p["nc"], p["cnonce"], p["qop"], ha2}, ":"))
	if p["username"] != d.login.User || p["uri"] != r.RequestURI || p["qop"] != "auth" || p["opaque"] != "dim" || p["realm"] != d.login.Realm ||
		subtle.ConstantTimeCompare([]byte(p["response"]), []byte(want)) != 1 {
		return false, false
	}
	var nc uint64
	if _, err := fmt.Sscanf(p["nc"], "%08x", &nc); err != nil || len(p["nc"]) != 8 {
		return false, false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	last, known := d.counts[p["nonce"]]
	if !known || nc <= last || d.login.Uses > 0 && nc > uint64(d.login.Uses) {
		return false, true // unknown, replayed or used up
	}
	d.counts[p["nonce"]] = nc
	return true, false
}

func hexSum(h func() hash.Hash, s string) string {
	x := h()
	_, _ = x.Write([]byte(s))
	return hex.EncodeToString(x.Sum(nil))
}

// digestParams splits name=value pairs, quoted or not; no value of a test has
// a comma or an escape.
func digestParams(s string) map[string]string {
	out := map[string]string{}
	for part := range strings.SplitSeq(s, ",") {
		name, v, _ := strings.Cut(strings.TrimSpace(part), "=")
		out[name] = strings.Trim(v, `"`)
	}
	return out
}
