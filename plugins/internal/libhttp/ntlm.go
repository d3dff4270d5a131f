package libhttp

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/Azure/go-ntlmssp"
)

// errConnectionChanged is a handshake that the server spread over two
// connections by closing the first.
var errConnectionChanged = errors.New("NTLM: the server closed the connection within the handshake")

// ntlm sends c over the server's one NTLM connection, of which NTLM makes the
// user's own ([MS-NTHT]): requests without credentials never use it.
func (f *Fetcher) ntlm(ctx context.Context, c *call, s *server) (*http.Response, error) {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	c.ntlm, c.authorization = true, ""
	resp, err := f.send(ctx, c)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusUnauthorized {
		return resp, nil
	}
	for range 2 {
		drain(resp)
		if resp, err = f.ntlmHandshake(ctx, c, s); !errors.Is(err, errConnectionChanged) {
			break
		}
		c.authorization = ""
	}
	if err != nil {
		return nil, err
	}
	s.answered(resp.StatusCode)
	if resp.StatusCode == http.StatusUnauthorized {
		c.message = s.refusal(resp.Status)
	}
	return resp, nil
}

// ntlmHandshake is negotiate, challenge, authenticate, all on one connection.
func (f *Fetcher) ntlmHandshake(ctx context.Context, c *call, s *server) (*http.Response, error) {
	s.mu.Lock()
	site, token := s.site, s.token
	s.mu.Unlock()
	// The machine is named in the last step; naming it in this one too is for
	// servers of another time.
	negotiate, err := ntlmssp.NewNegotiateMessage("", "")
	if err != nil {
		return nil, fmt.Errorf("NTLM: make the first message: %w", err)
	}
	c.authorization = token + " " + base64.StdEncoding.EncodeToString(negotiate)
	resp, err := f.send(ctx, c)
	if err != nil {
		return nil, err
	}
	conn := c.x.conn
	challenge, err := ntlmChallenge(resp, token)
	if challenge == nil || err != nil {
		return resp, err
	}
	user := site.user
	if site.domain != "" {
		user = site.domain + `\` + user
	}
	authenticate, err := ntlmssp.NewAuthenticateMessage(challenge, user, site.pass, &ntlmssp.AuthenticateMessageOptions{WorkstationName: f.cfg.HTTP.AgentHost})
	drain(resp)
	if err != nil {
		return nil, fmt.Errorf("NTLM: answer the server's challenge: %w", err)
	}
	c.authorization = token + " " + base64.StdEncoding.EncodeToString(authenticate)
	if resp, err = f.send(ctx, c); err != nil {
		return nil, err
	}
	if c.x.conn != conn {
		drain(resp)
		return nil, errConnectionChanged
	}
	return resp, nil
}

// ntlmChallenge returns the server's second message; nil when it has none,
// because it did not like the first or wants no credentials any more.
func ntlmChallenge(resp *http.Response, token string) ([]byte, error) {
	if resp.StatusCode != http.StatusUnauthorized {
		return nil, nil
	}
	for _, v := range resp.Header.Values("Www-Authenticate") {
		name, rest, ok := strings.Cut(strings.TrimSpace(v), " ")
		if !ok || !strings.EqualFold(name, token) {
			continue
		}
		msg, err := base64.StdEncoding.DecodeString(strings.TrimSpace(rest))
		if err != nil {
			return nil, fmt.Errorf("NTLM: the server's challenge is no base64: %w", err)
		}
		return msg, nil
	}
	return nil, nil
}
