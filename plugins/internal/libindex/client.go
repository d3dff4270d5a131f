package libindex

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/setting"
)

// maxAnswer bounds what is read of an answer, in bytes.
const maxAnswer = 64 << 20

// Server are the settings of a server reached over HTTP, to be embedded in a
// plugin's settings.
type Server struct {
	URL         []string          `json:"url"`
	Username    string            `json:"username"`
	Password    string            `json:"password"`
	Token       string            `json:"token"`
	Headers     map[string]string `json:"headers"`
	Timeout     setting.Duration  `json:"timeout"`
	Retries     int               `json:"retries"`
	Backoff     setting.Duration  `json:"backoff"`
	CAFile      string            `json:"ca_file"`
	CertFile    string            `json:"cert_file"`
	KeyFile     string            `json:"key_file"`
	TLSInsecure bool              `json:"tls_insecure"`
}

// Client sends requests to one of a server's addresses: to the one that last
// answered, and when it can't be reached to the next. It is safe for concurrent
// use.
type Client struct {
	conf   Server
	bases  []*url.URL
	http   *http.Client
	scheme string // of Authorization for Token
	last   atomic.Uint32
}

// NewClient checks conf. Token, if set, goes into the Authorization header
// after tokenScheme, such as "ApiKey" or "Bearer".
func NewClient(conf Server, tokenScheme string) (*Client, error) {
	c := &Client{conf: conf, scheme: tokenScheme}
	if len(conf.URL) == 0 {
		return nil, fault.Param("url", "url: no address given")
	}
	for _, s := range conf.URL {
		u, err := url.Parse(strings.TrimRight(s, "/"))
		switch {
		case err != nil:
			return nil, fault.Param("url", "url: %w", bare(err))
		case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
			return nil, fault.Param("url", "url %q: want http://host:port or https://host:port", u.Redacted())
		case u.RawQuery != "" || u.Fragment != "":
			return nil, fault.Param("url", "url %q: no query and no fragment, please", u.Redacted())
		}
		c.bases = append(c.bases, u)
	}
	if conf.Token != "" && conf.Username != "" {
		return nil, fault.Param("token", "token and username exclude each other")
	}
	t, err := transport(conf)
	if err != nil {
		return nil, err
	}
	c.http = &http.Client{Transport: t, Timeout: conf.Timeout.D(), CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return c, nil
}

func transport(conf Server) (*http.Transport, error) {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: conf.TLSInsecure} //nolint:gosec // the user's choice, off by default
	t.MaxIdleConnsPerHost = 4
	if conf.CAFile != "" {
		pem, err := os.ReadFile(conf.CAFile)
		if err != nil {
			return nil, fault.Param("ca_file", "ca_file: %w", err)
		}
		pool, err := x509.SystemCertPool()
		if err != nil {
			pool = x509.NewCertPool()
		}
		if !pool.AppendCertsFromPEM(pem) {
			return nil, fault.Param("ca_file", "ca_file: %s holds no PEM certificate", conf.CAFile)
		}
		t.TLSClientConfig.RootCAs = pool
	}
	if (conf.CertFile == "") != (conf.KeyFile == "") {
		return nil, fault.Param("cert_file", "cert_file and key_file go together")
	}
	if conf.CertFile != "" {
		pair, err := tls.LoadX509KeyPair(conf.CertFile, conf.KeyFile)
		if err != nil {
			return nil, fault.Param("cert_file", "cert_file: %w", err)
		}
		t.TLSClientConfig.Certificates = []tls.Certificate{pair}
	}
	return t, nil
}

// Answer is a server's answer, read whole.
type Answer struct {
	Status     int
	Body       []byte
	RetryAfter time.Duration // 0 when the server named none
}

// OK reports a status of success.
func (a *Answer) OK() bool { return a.Status/100 == 2 }

// Again reports a status that may be another one later: too many requests, or a
// server in trouble.
func (a *Answer) Again() bool {
	return a.Status == http.StatusTooManyRequests || a.Status/100 == 5 && a.Status != http.StatusNotImplemented
}

// Err is the error of an answer that is no success: Denied for refused
// credentials, Transient for Again, else Invalid. reason is what the server
// said, in words.
func (a *Answer) Err(what, reason string) error {
	if a.OK() {
		return nil
	}
	kind := fault.Invalid
	switch {
	case a.Status == http.StatusUnauthorized || a.Status == http.StatusForbidden:
		kind = fault.Denied
	case a.Again():
		kind = fault.Transient
	}
	return fault.Errorf(kind, "%s: HTTP %d: %s", what, a.Status, Short(reason, 500))
}

// Short cuts a text for a message to n bytes of one line.
func Short(s string, n int) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "\ufffd")), " ")
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}

// Addresses returns the addresses in use, without credentials.
func (c *Client) Addresses() []string {
	out := make([]string, len(c.bases))
	for i, b := range c.bases {
		out[i] = b.Redacted()
	}
	return out
}

// Request is one request; Path begins with "/" and is escaped already.
type Request struct {
	Method, Path string
	Query        url.Values
	Type         string // content type, "" for JSON
	Header       map[string]string
	Body         []byte
}

// Do sends r to the address that answered last, and on to the next ones when
// one can't be reached or says 502, 503 or 504. When none answers, the error is
// Transient.
func (c *Client) Do(ctx context.Context, r Request) (*Answer, error) {
	first := int(c.last.Load())
	var errs []error
	var bad *Answer
	for i := range c.bases {
		n := (first + i) % len(c.bases)
		a, err := c.DoAt(ctx, n, r)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			errs = append(errs, err)
		case a.Status >= http.StatusBadGateway && a.Status <= http.StatusGatewayTimeout:
			bad = a
		default:
			c.last.Store(uint32(n))
			return a, nil
		}
	}
	if bad != nil {
		return bad, nil
	}
	return nil, errors.Join(errs...)
}

// DoAt sends r to the n-th address.
func (c *Client) DoAt(ctx context.Context, n int, r Request) (*Answer, error) {
	u := *c.bases[n]
	u.RawQuery = r.Query.Encode()
	target := strings.TrimSuffix(u.Scheme+"://"+u.Host+u.EscapedPath()+r.Path+"?"+u.RawQuery, "?")
	req, err := http.NewRequestWithContext(ctx, r.Method, target, bytes.NewReader(r.Body))
	if err != nil {
		return nil, fault.New(fault.Invalid, err)
	}
	if r.Type == "" {
		r.Type = "application/json"
	}
	if len(r.Body) > 0 {
		req.Header.Set("Content-Type", r.Type)
	}
	c.credentials(req, u.User)
	for _, h := range []map[string]string{c.conf.Headers, r.Header} {
		for k, v := range h {
			req.Header.Set(k, v)
		}
	}
	resp, err := c.http.Do(req)
	if err != nil {
		err = bare(err)
		return nil, fault.Errorf(fault.Transient, "%s: %w%s", u.Redacted(), err, advice(err))
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		return nil, fault.Errorf(fault.Transient, "%s: read answer: %w", u.Redacted(), err)
	}
	if len(body) > maxAnswer {
		return nil, fault.Errorf(fault.Invalid, "%s: the answer is longer than %d bytes", u.Redacted(), maxAnswer)
	}
	return &Answer{Status: resp.StatusCode, Body: body, RetryAfter: retryAfter(resp.Header.Get("Retry-After"))}, nil
}

// bare is err without the URL that it is about, which may hold a password.
func bare(err error) error {
	var e *url.Error
	if errors.As(err, &e) {
		return e.Err
	}
	return err
}

// advice says what to do about mistakes with TLS.
func advice(err error) string {
	var record tls.RecordHeaderError
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	switch {
	case errors.As(err, &record) || errors.Is(err, http.ErrSchemeMismatch):
		return "; without TLS the address begins with http://"
	case strings.Contains(err.Error(), "malformed HTTP response"):
		return "; with TLS the address begins with https://"
	case errors.As(err, &unknown):
		return "; ca_file names the certificate of who signed it"
	case errors.As(err, &host):
		return "; url wants a name that is in it"
	}
	return ""
}

func (c *Client) credentials(req *http.Request, user *url.Userinfo) {
	switch {
	case c.conf.Token != "":
		req.Header.Set("Authorization", c.scheme+" "+c.conf.Token)
	case c.conf.Username != "":
		req.SetBasicAuth(c.conf.Username, c.conf.Password)
	case user != nil:
		pw, _ := user.Password()
		req.SetBasicAuth(user.Username(), pw)
	}
}

func retryAfter(h string) time.Duration {
	n, err := strconv.Atoi(strings.TrimSpace(h))
	if err != nil || n < 0 {
		return 0
	}
	return min(time.Duration(n)*time.Second, time.Minute)
}

// Retry calls f until it reports that nothing is left to try again, at most
// 1 + retries times, waiting between: twice as long each time from the setting
// backoff on, or as long as f says if that is longer. What is left after the
// last time is f's business.
func (c *Client) Retry(ctx context.Context, f func() (again bool, wait time.Duration, err error)) error {
	pause := c.conf.Backoff.D()
	for n := 0; ; n++ {
		again, wait, err := f()
		if !again || n >= c.conf.Retries {
			return err
		}
		t := time.NewTimer(max(pause, wait))
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return ctx.Err()
		}
		pause = min(2*pause, 30*time.Second)
	}
}

// Close lets idle connections go.
func (c *Client) Close() { c.http.CloseIdleConnections() }
