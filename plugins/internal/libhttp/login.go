package libhttp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gonutch/crawler/plugins/internal/libaddr"
	"github.com/gonutch/crawler/sdk/extension/protocol"
)

const (
	maxLoginHops = 8       // redirects before and behind the form
	maxLoginPage = 2 << 20 // bytes of a login page
)

// login logs in at a site by a form, when the first page needs it and again
// when pages tell that the login is over. It is safe for concurrent use: one
// call logs in, the others wait for it.
type login struct {
	site    *site
	url     *url.URL
	form    string
	fields  map[string]string
	remove  []string
	header  http.Header
	success *regexp.Regexp // nil: judged by the page
	status  []int
	target  *regexp.Regexp // nil: the login page
	text    *regexp.Regexp // nil: pages are not looked at
	again   time.Duration

	turn chan struct{} // held while logging in

	mu     sync.Mutex
	in     bool
	born   int       // counts the logins that worked
	last   time.Time // of the last try
	failed error     // of the last try
}

// loginPause is the error of a page that has to wait for the next login.
type loginPause struct {
	reason string
	wait   time.Duration
}

func (p *loginPause) Error() string {
	return fmt.Sprintf("%s; the next login is tried in %s (login_again_after)", p.reason, p.wait.Round(time.Second))
}

func (l *login) loggedOutPause(wait time.Duration) *loginPause {
	return &loginPause{fmt.Sprintf("logged out of site %q", l.site.name), wait}
}

// newLogin returns nil when c has no login_url.
func newLogin(s *site, c *SiteConfig) (*login, error) {
	if c.LoginURL == "" {
		if c.LoginForm != "" || len(c.LoginFields) > 0 || c.LoginSuccess != "" {
			return nil, invalid("login_form, login_fields and login_success are of no use without login_url")
		}
		return nil, nil
	}
	u, err := ParseURL(c.LoginURL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return nil, invalid("login_url: %q is no http or https URL", c.LoginURL)
	}
	l := &login{
		site: s, url: u, form: c.LoginForm, fields: c.LoginFields, remove: c.LoginRemoveFields,
		again: c.LoginAgainAfter.D(), turn: make(chan struct{}, 1),
	}
	if len(c.LoginFields) == 0 && c.Username == "" {
		return nil, invalid("login_url needs username and password, or login_fields")
	}
	for _, v := range c.LoggedOutStatus {
		n, err := strconv.Atoi(v)
		if err != nil || n < 300 || n > 599 {
			return nil, invalid("logged_out_status: %q is no HTTP code from 300 to 599", v)
		}
		l.status = append(l.status, n)
	}
	if c.LoggedOutStatus == nil {
		l.status = []int{http.StatusUnauthorized}
	}
	for _, re := range []struct {
		name, text string
		to         **regexp.Regexp
	}{{"login_success", c.LoginSuccess, &l.success}, {"logged_out_url", c.LoggedOutURL, &l.target}, {"logged_out_text", c.LoggedOutText, &l.text}} {
		if re.text == "" {
			continue
		}
		if *re.to, err = regexp.Compile(re.text); err != nil {
			return nil, invalid("%s: %w", re.name, err)
		}
	}
	l.header, err = headerOf(c.loginHeaders)
	return l, err
}

// loggedOut reports whether the answer to c tells that the login is over.
func (l *login) loggedOut(c *call, resp *http.Response, body []byte) bool {
	if slices.Contains(l.status, resp.StatusCode) {
		return true
	}
	if resp.StatusCode/100 == 3 && resp.StatusCode != http.StatusNotModified {
		return l.isLoginURL(Resolve(c.u, resp.Header.Get("Location")))
	}
	return l.text != nil && l.text.Match(body)
}

func (l *login) isLoginURL(target string) bool {
	if target == "" {
		return false
	}
	if l.target != nil {
		return l.target.MatchString(target)
	}
	u, err := ParseURL(target)
	return err == nil && u.Hostname() == l.url.Hostname() && u.Path == l.url.Path
}

// expire notes that the login born has ended. It returns how long to wait
// until the next may be tried; 0 means now.
func (l *login) expire(born int) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.born != born { // another call has logged in since
		return 0
	}
	l.in = false
	return max(0, l.again-time.Since(l.last))
}

// ensureLogin logs in for c unless that was done; l may be nil. It returns
// which login holds.
func (f *Fetcher) ensureLogin(ctx context.Context, l *login, c *call) (born int, err error) {
	if l == nil {
		return 0, nil
	}
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
	l.mu.Lock()
	in, born, since, failed := l.in, l.born, time.Since(l.last), l.failed
	l.mu.Unlock()
	if in {
		return born, nil
	}
	if failed != nil && since < l.again {
		return 0, &loginPause{failed.Error(), l.again - since}
	}
	if failed == nil && born > 0 && since < l.again {
		return 0, l.loggedOutPause(l.again - since)
	}
	err = f.logIn(ctx, l, c)
	if err != nil && ctx.Err() != nil {
		return 0, err // cut short: nothing is known about the login
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last, l.in, l.failed = time.Now(), err == nil, nil
	if err != nil {
		l.failed = fmt.Errorf("login at site %q: %w", l.site.name, err)
		if f.cfg.Logger != nil {
			f.cfg.Logger.Warn("login refused; the pages of the site wait for the next one", "site", l.site.name, "reason", err, "next", l.again)
		}
		return 0, l.failed
	}
	l.born++
	return l.born, nil
}

// step is a request of a login.
type step struct {
	method string
	url    *url.URL
	body   []byte
	from   *url.URL // the page that leads there, or nil
}

// landing is what came of a step and the redirects behind it.
type landing struct {
	url    *url.URL
	status int
	body   []byte
}

// logIn fetches the login page, fills in the form and sends it.
func (f *Fetcher) logIn(ctx context.Context, l *login, c *call) error {
	f.cookies.forget(l.url)
	page, err := f.follow(ctx, l, c, step{method: http.MethodGet, url: l.url})
	if err != nil {
		return fmt.Errorf("get the login page: %w", err)
	}
	if page.status != http.StatusOK {
		return fmt.Errorf("get the login page: %s answered %d", page.url, page.status)
	}
	form, base, err := findForm(page.body, l.form)
	if err != nil {
		return err
	}
	if form == nil && l.form != "" {
		return fmt.Errorf("%s has no form whose id or name is %q (login_form)", page.url, l.form)
	}
	if form == nil {
		return fmt.Errorf("%s has no form with a password field; name it by login_form", page.url)
	}
	if err := l.fill(form); err != nil {
		return fmt.Errorf("%s: %w", page.url, err)
	}
	send, err := l.submission(form, page.url, base)
	if err != nil {
		return err
	}
	end, err := f.follow(ctx, l, c, send)
	if err != nil {
		return fmt.Errorf("send the form: %w", err)
	}
	return l.judge(end, form)
}

// fill puts user name, password and the configured values into the form.
func (l *login) fill(f *form) error {
	if len(l.fields) == 0 {
		if f.password == "" || f.user == "" {
			return errors.New("the form has no text field before a password field; write login_fields")
		}
		f.set(f.user, l.site.user)
		f.set(f.password, l.site.pass)
		return nil
	}
	for name, v := range l.fields {
		f.set(name, strings.NewReplacer("{username}", l.site.user, "{password}", l.site.pass).Replace(v))
	}
	return nil
}

// submission is the request that sends the form. The password goes only to
// the hosts of the site and to that of the login page, and never from https to
// http.
func (l *login) submission(f *form, page *url.URL, base string) (step, error) {
	from := page
	if base != "" {
		if b, err := page.Parse(base); err == nil {
			from = b
		}
	}
	to, err := from.Parse(f.action)
	if f.action == "" {
		to, err = page, nil
	}
	if err != nil {
		return step{}, fmt.Errorf("the form's action %q: %w", f.action, err)
	}
	if to.Hostname() != l.url.Hostname() {
		host, _, err := libaddr.CanonicalHost(to.Hostname())
		if err != nil || !l.site.matches(to.Scheme, host, portOf(to)) {
			return step{}, fmt.Errorf("the form sends to %s: refused; write that host into hosts if it may have the password", to.Host)
		}
	}
	if l.url.Scheme == "https" && to.Scheme != "https" {
		return step{}, fmt.Errorf("the form sends to %s without TLS: refused", to)
	}
	next := *to
	next.Fragment = ""
	body := f.encode(l.remove)
	if f.method == "post" {
		return step{method: http.MethodPost, url: &next, body: []byte(body), from: page}, nil
	}
	next.RawQuery = body
	return step{method: http.MethodGet, url: &next, from: page}, nil
}

func portOf(u *url.URL) uint16 {
	if n, err := strconv.ParseUint(u.Port(), 10, 16); err == nil {
		return uint16(n)
	}
	if u.Scheme == "https" {
		return 443
	}
	return 80
}

// judge decides whether the answer to the form means that it was taken.
func (l *login) judge(end *landing, sent *form) error {
	if l.success != nil {
		if l.success.Match(end.body) || l.success.MatchString(end.url.String()) {
			return nil
		}
		return fmt.Errorf("neither %s nor the page there matches login_success", end.url)
	}
	if end.status >= http.StatusBadRequest && end.status != http.StatusNotFound {
		return fmt.Errorf("%s answered %d to the form", end.url, end.status)
	}
	f, _, err := findForm(end.body, l.form)
	if err == nil && f != nil && f.password == sent.password {
		return fmt.Errorf("%s shows the form again: wrong user name or password, or login_fields are wrong", end.url)
	}
	return nil
}

// follow performs a step and the redirects behind it. Each goes through the
// same checks of addresses as the page of c.
func (f *Fetcher) follow(ctx context.Context, l *login, c *call, s step) (*landing, error) {
	for range maxLoginHops {
		resp, err := f.step(ctx, l, c, s) //nolint:bodyclose // readDecoded closes it
		if err != nil {
			return nil, err
		}
		body, err := f.readDecoded(resp, maxLoginPage)
		if err != nil && len(body) == 0 {
			return nil, fmt.Errorf("read %s: %w", s.url, err)
		}
		target := ""
		if resp.StatusCode/100 == 3 {
			target = Resolve(s.url, resp.Header.Get("Location"))
		}
		if target == "" {
			return &landing{s.url, resp.StatusCode, body}, nil
		}
		next, err := ParseURL(target)
		if err != nil || next.Scheme != "http" && next.Scheme != "https" {
			return nil, fmt.Errorf("%s redirects to %s, which can't be followed", s.url, target)
		}
		if s.method == http.MethodPost && (resp.StatusCode == http.StatusTemporaryRedirect || resp.StatusCode == http.StatusPermanentRedirect) {
			return nil, fmt.Errorf("%s wants the form to be sent to %s instead: refused", s.url, target)
		}
		s = step{method: http.MethodGet, url: next, from: s.url}
	}
	return nil, fmt.Errorf("more than %d redirects", maxLoginHops)
}

// readDecoded reads a body to limit bytes, with its encodings undone, and
// closes it. Next to an error is what came before it.
func (f *Fetcher) readDecoded(resp *http.Response, limit int64) ([]byte, error) {
	defer func() { _ = resp.Body.Close() }()
	d, err := f.decoders.start(resp.Body, resp.Header["Content-Encoding"])
	defer d.release()
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(d, limit))
}

func (f *Fetcher) step(ctx context.Context, l *login, c *call, s step) (*http.Response, error) {
	x, err := f.newExchange(s.url, &protocol.Request{AllowPrivate: c.allowPrivate})
	if err != nil {
		return nil, err
	}
	next := &call{x: x, u: canonicalURL(s.url, x), method: s.method, body: s.body, page: true, keep: true}
	next.header = f.headerOf(x, protocol.Page).Clone()
	for name, v := range l.header {
		next.header[name] = v
	}
	if s.body != nil {
		next.header["Content-Type"] = []string{"application/x-www-form-urlencoded"}
	}
	if s.from != nil && s.from.Host == s.url.Host {
		next.header["Referer"] = []string{(&url.URL{Scheme: s.from.Scheme, Host: s.from.Host, Path: s.from.Path}).String()}
		next.header["Origin"] = []string{s.from.Scheme + "://" + s.from.Host}
	}
	return f.authenticated(ctx, next)
}
