package libhttp

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/icholy/digest"
)

// The schemes of HTTP authentication that are spoken.
const (
	schemeBasic  = "basic"  // RFC 7617
	schemeDigest = "digest" // RFC 7616
	schemeNTLM   = "ntlm"   // [MS-NTHT]
)

// maxRefused is how often a server may refuse a password that it never took
// before it isn't sent any more: servers lock accounts.
const maxRefused = 3

// maxServers bounds the servers whose wishes are remembered.
const maxServers = 4096

// server is what was learned about how one scheme, host and port wants to be
// shown credentials.
type server struct {
	// turn is held while requests are sent over the one NTLM connection, so
	// that no other comes between the steps of a handshake.
	turn chan struct{}

	mu       sync.Mutex
	scheme   string // in use; "" when it never asked
	site     *site  // whose credentials
	token    string // NTLM: "NTLM" or "Negotiate"
	digest   *digest.Challenge
	count    int  // of requests under digest's nonce
	accepted bool // they were good for an answer other than 401
	refused  int  // in a row
}

// servers are the servers by scheme, host and port. The zero value is ready.
type servers struct {
	mu sync.Mutex
	m  map[string]*server
}

func (s *servers) get(key string) *server {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.m[key]
	if !ok {
		if s.m == nil || len(s.m) >= maxServers {
			s.m = map[string]*server{}
		}
		v = &server{turn: make(chan struct{}, 1)}
		s.m[key] = v
	}
	return v
}

// authorization returns the header to send at once, from what the server asked
// before; "" for none. uri is the request's path and query.
func (s *server) authorization(method, uri string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gaveUp() {
		return "", nil
	}
	switch s.scheme {
	case schemeBasic:
		return "Basic " + base64.StdEncoding.EncodeToString([]byte(s.site.user+":"+s.site.pass)), nil
	case schemeDigest:
		s.count++
		c, err := digest.Digest(s.digest, digest.Options{
			Method: method, URI: uri, Count: s.count, Username: s.site.user, Password: s.site.pass,
		})
		if err != nil {
			return "", fmt.Errorf("answer the digest challenge: %w", err)
		}
		return c.String(), nil
	}
	return "", nil
}

func (s *server) gaveUp() bool { return !s.accepted && s.refused >= maxRefused }

func (s *server) usesNTLM() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.scheme == schemeNTLM && !s.gaveUp()
}

// challenged takes the challenges of a 401 answer to a request that carried
// sent as its Authorization. It reports whether asking again may help.
func (s *server) challenged(resp *http.Response, sites []*site, sent string) bool {
	list := challengesOf(resp.Header.Values("Www-Authenticate"))
	s.mu.Lock()
	defer s.mu.Unlock()
	site, c := choose(list, sites)
	if site == nil || s.gaveUp() {
		return false
	}
	fresh := s.site != site || s.scheme != c.scheme
	var chal *digest.Challenge
	if c.scheme == schemeDigest {
		var err error
		if chal, err = digest.ParseChallenge(c.text); err != nil || !digest.CanDigest(chal) {
			return false
		}
		// A new nonce is a new chance only when the old one had run out, not
		// when the password was wrong.
		fresh = fresh || s.digest == nil || chal.Stale || s.digest.Nonce != chal.Nonce && s.accepted
	}
	if sent != "" && !fresh {
		s.refused++
		return false
	}
	s.site, s.scheme, s.token, s.digest, s.count = site, c.scheme, c.token, chal, 0
	return true
}

// answered notes how an answer to a request with credentials was.
func (s *server) answered(status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if status == http.StatusUnauthorized {
		s.refused++
		return
	}
	s.accepted, s.refused = true, 0
}

// refusal is a message for a 401 that stays.
func (s *server) refusal(status string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.site == nil {
		return status + ": no credentials for what the server asks"
	}
	m := fmt.Sprintf("%s: the server refused the credentials of site %q (%s)", status, s.site.name, s.scheme)
	if s.gaveUp() {
		m += "; they are not sent any more"
	}
	return m
}

// challenge is one way that a server offers.
type challenge struct {
	scheme string
	token  string // the scheme's name as the server has it
	realm  string
	text   string // as the server sent it
}

// choose takes the first site in order whose realm is asked for, and its most
// wanted scheme.
func choose(list []challenge, sites []*site) (*site, challenge) {
	for _, s := range sites {
		if s.user == "" {
			continue
		}
		for _, want := range s.schemes {
			i := slices.IndexFunc(list, func(c challenge) bool {
				return c.scheme == want && (s.realm == "" || c.scheme == schemeNTLM || c.realm == s.realm)
			})
			if i >= 0 {
				return s, list[i]
			}
		}
	}
	return nil, challenge{}
}

// challengesOf splits WWW-Authenticate values, each of which may hold several
// challenges with commas between them and within (RFC 9110 section 11.6.1).
func challengesOf(values []string) []challenge {
	var out []challenge
	for _, v := range values {
		for _, part := range splitOutsideQuotes(v) {
			name, rest, _ := strings.Cut(part, " ")
			if !isToken([]byte(name)) { // a parameter of the one before
				if len(out) > 0 {
					out[len(out)-1].add(part)
				}
				continue
			}
			c := challenge{scheme: strings.ToLower(name), token: name, text: name}
			if c.scheme == "negotiate" {
				c.scheme = schemeNTLM
			}
			if rest = strings.TrimSpace(rest); rest != "" {
				c.text += " "
				c.add(rest)
			}
			out = append(out, c)
		}
	}
	// NTLM by its own name before Negotiate, which may mean Kerberos.
	slices.SortStableFunc(out, func(a, b challenge) int {
		return strings.Compare(strings.ToLower(b.token), strings.ToLower(a.token))
	})
	return out
}

func (c *challenge) add(param string) {
	if !strings.HasSuffix(c.text, " ") {
		c.text += ", "
	}
	c.text += param
	name, v, ok := strings.Cut(param, "=")
	if ok && strings.EqualFold(strings.TrimSpace(name), "realm") {
		c.realm = strings.ReplaceAll(strings.Trim(strings.TrimSpace(v), `"`), `\"`, `"`)
	}
}

// splitOutsideQuotes splits at commas that stand in no quoted string.
func splitOutsideQuotes(s string) []string {
	var out []string
	start, quoted := 0, false
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\' && quoted:
			i++
		case s[i] == '"':
			quoted = !quoted
		case s[i] == ',' && !quoted:
			out = append(out, strings.TrimSpace(s[start:i]))
			start = i + 1
		}
	}
	return append(out, strings.TrimSpace(s[start:]))
}

// maxDrain is how much of an answer is read only to keep its connection.
const maxDrain = 64 << 10

// drain ends an answer that is not wanted.
func drain(resp *http.Response) {
	_, _ = io.CopyN(io.Discard, resp.Body, maxDrain) // what is left costs the connection, no more
	_ = resp.Body.Close()
}

// authenticated sends the request of c with credentials if the server wants
// some, first as it wanted them before, and once more when it asks again.
func (f *Fetcher) authenticated(ctx context.Context, c *call) (*http.Response, error) {
	if !c.page || !slices.ContainsFunc(c.x.sites, func(s *site) bool { return s.user != "" }) {
		return f.send(ctx, c)
	}
	s := f.servers.get(c.u.Scheme + "://" + c.hostPort())
	if s.usesNTLM() {
		return f.ntlm(ctx, c, s)
	}
	var err error
	c.authorization, err = s.authorization(c.method, c.u.RequestURI())
	if err != nil {
		return nil, err
	}
	resp, err := f.send(ctx, c)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusUnauthorized {
		if c.authorization != "" {
			s.answered(resp.StatusCode)
		}
		return resp, nil
	}
	if !s.challenged(resp, c.x.sites, c.authorization) {
		c.message = s.refusal(resp.Status)
		return resp, nil
	}
	drain(resp)
	if s.usesNTLM() {
		return f.ntlm(ctx, c, s)
	}
	if c.authorization, err = s.authorization(c.method, c.u.RequestURI()); err != nil {
		return nil, err
	}
	if resp, err = f.send(ctx, c); err != nil {
		return nil, err
	}
	s.answered(resp.StatusCode)
	if resp.StatusCode == http.StatusUnauthorized {
		c.message = s.refusal(resp.Status)
	}
	return resp, nil
}
