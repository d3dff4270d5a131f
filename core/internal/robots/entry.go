package robots

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/gonutch/crawler/core/internal/urlkey"
	"github.com/gonutch/crawler/sdk/model"
)

// Policy holds the settings; comments name the Nutch property.
type Policy struct {
	TTL           time.Duration // an answer is good for this long (RFC 9309: at most 24 h)
	StaleFor      time.Duration // while a host is unreachable its last good answer serves this much longer
	DeferDelay    time.Duration // first hold of an unreachable host; doubles up to MaxDefer (http.robots.503.defer.visits.delay)
	MaxDefer      time.Duration
	UnreachableOK time.Duration // unreachable for this long: crawl without rules (RFC 9309 section 2.3.1.4); 0: never
	Deny403       bool          // 401 and 403 forbid everything (http.robots.403.allow = false)
	RedirectMax   int           // hops followed (http.robots.redirect.max)
}

// DefaultPolicy returns the defaults: RFC 9309's, and never crawling an
// unreachable host without rules.
func DefaultPolicy() Policy {
	return Policy{TTL: 24 * time.Hour, StaleFor: 6 * 24 * time.Hour, DeferDelay: 5 * time.Minute, MaxDefer: time.Hour, RedirectMax: 5}
}

// State says what is known of an origin's robots.txt.
type State string

// The states.
const (
	Found       State = "found"       // there is a text
	Missing     State = "missing"     // there is none: everything is allowed
	Forbidden   State = "forbidden"   // 401 or 403 under Deny403: nothing is allowed
	Unreachable State = "unreachable" // no answer to go by: the host waits
)

// Entry is the cached robots.txt of one origin (urlkey.Origin). It is a value;
// only Text is shared by copies, and never changed.
type Entry struct {
	State     State     `json:"state"`
	Text      []byte    `json:"text,omitempty"`      // at most MaxBytes + 1
	FetchedAt time.Time `json:"fetched_at,omitzero"` // of the answer that State and Text come from
	Expires   time.Time `json:"expires"`             // ask again from then on
	// FailingSince is when the failures in a row began; zero when the last
	// request was answered. State can still be that of the last good answer.
	FailingSince time.Time `json:"failing_since,omitzero"`
	Failures     int       `json:"failures,omitempty"`
	Reason       string    `json:"reason,omitempty"` // last status, for people
}

// Answer is how a request for robots.txt ended, redirects followed.
type Answer struct {
	Status     model.ProtocolStatus
	Body       []byte
	Truncated  string        // as in protocol.Response
	RetryAfter time.Duration // what the server asked for; 0 when it did not
}

// Update returns the entry after answer a at now; prev is nil when the origin
// was never asked. 2xx is read, other 4xx and redirects without end mean there
// is none, 429, 5xx and no answer make the host wait, unless a good answer is still usable.
func Update(prev *Entry, a Answer, now time.Time, p Policy) Entry {
	s := classify(a, p)
	e := Entry{State: s, FetchedAt: now, Expires: now.Add(p.TTL), Reason: a.Status.String()}
	switch {
	case a.Status.Code == model.ProtocolNotModified && prev != nil && prev.State != Unreachable:
		e.State, e.Text = prev.State, prev.Text
		return e
	case s == Found:
		e.Text = bytes.Clone(a.Body[:min(len(a.Body), MaxBytes+8)])
		return e
	case s != Unreachable:
		return e
	}
	e.FetchedAt, e.FailingSince, e.Failures = time.Time{}, now, 1
	if prev != nil {
		e.Failures = prev.Failures + 1
		if !prev.FailingSince.IsZero() {
			e.FailingSince = prev.FailingSince
		}
		if prev.State != Unreachable && now.Before(prev.FetchedAt.Add(p.TTL+p.StaleFor)) {
			e.State, e.Text, e.FetchedAt = prev.State, prev.Text, prev.FetchedAt
		}
	}
	if e.State == Unreachable && p.UnreachableOK > 0 && now.Sub(e.FailingSince) >= p.UnreachableOK {
		e.State = Missing
		return e
	}
	e.Expires = now.Add(deferFor(e.Failures, a.RetryAfter, p))
	return e
}

// deferFor returns how long to wait after n failures in a row.
func deferFor(n int, asked time.Duration, p Policy) time.Duration {
	d := p.DeferDelay
	for ; n > 1 && d < p.MaxDefer; n-- {
		d *= 2
	}
	return max(min(d, p.MaxDefer), min(asked, p.TTL))
}

func classify(a Answer, p Policy) State {
	code := a.Status.HTTP
	switch {
	case code >= 200 && code < 300, code == 0 && a.Status.Code == model.ProtocolSuccess:
		if a.Truncated != "" && a.Truncated != "length" {
			return Unreachable // a part of the rules may be missing
		}
		return Found
	case code == 429 || code >= 500:
		return Unreachable
	case (code == 401 || code == 403) && p.Deny403:
		return Forbidden
	case code >= 300:
		return Missing
	case code == 0:
		switch a.Status.Code {
		case model.ProtocolNotFound, model.ProtocolGone, model.ProtocolMoved, model.ProtocolTempMoved, model.ProtocolRedirExceeded:
			return Missing
		case model.ProtocolAccessDenied:
			if p.Deny403 {
				return Forbidden
			}
			return Missing
		}
	}
	return Unreachable
}

// Fresh reports whether e can be used, or its host be held, at now without asking again.
func (e Entry) Fresh(now time.Time) bool { return now.Before(e.Expires) }

// Deferred returns until when the host has to wait, and whether it has to.
func (e Entry) Deferred() (time.Time, bool) { return e.Expires, e.State == Unreachable }

// Rules returns what e says to agents. While the host is deferred, nothing is
// allowed.
func (e Entry) Rules(agents []string) *Rules {
	switch e.State {
	case Found:
		return Parse(e.Text, agents)
	case Missing:
		return &Rules{}
	}
	return denyAll(string(e.State) + ": " + e.Reason)
}

func denyAll(why string) *Rules {
	r := newRule("/")
	r.text = why
	return &Rules{rules: []rule{r}}
}

const codecVersion = 1

type encoded struct {
	Version int `json:"v"`
	Entry
}

// Encode returns the stored form of e.
func (e Entry) Encode() []byte {
	b, err := json.Marshal(encoded{codecVersion, e})
	if err != nil {
		panic("robots: encode entry: " + err.Error()) // only years outside 0..9999 can do that
	}
	return b
}

// DecodeEntry reads what Encode wrote.
func DecodeEntry(b []byte) (Entry, error) {
	var e encoded
	if err := json.Unmarshal(b, &e); err != nil {
		return Entry{}, fmt.Errorf("decode robots entry: %w", err)
	}
	if e.Version != codecVersion {
		return Entry{}, fmt.Errorf("decode robots entry: version %d, want %d", e.Version, codecVersion)
	}
	switch e.State {
	case Found, Missing, Forbidden, Unreachable:
		return e.Entry, nil
	}
	return Entry{}, fmt.Errorf("decode robots entry: unknown state %q", e.State)
}

// Governs reports whether pages like this one have a robots.txt: those of HTTP and FTP
// (RFC 9309 section 2.3), with TLS or without.
func Governs(page string) bool {
	scheme, rest, _ := strings.Cut(page, ":")
	switch {
	case !strings.HasPrefix(rest, "//"):
		return false
	case len(scheme) == len("ftp"):
		return strings.EqualFold(scheme, "ftp")
	}
	return strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https") || strings.EqualFold(scheme, "ftps")
}

// URLFor returns the URL of the robots.txt that governs page, and whether one
// does.
func URLFor(page string) (string, bool) {
	o := urlkey.Origin(page)
	if !Governs(o) {
		return "", false
	}
	return o + "/robots.txt", true
}

// Redirect returns where a redirect of a robots.txt request leads and whether
// to follow it: hops counts those followed before. A target on another host
// counts for the origin asked first. If it is not to be followed the answer counts as missing.
func Redirect(from, location string, hops int, p Policy) (string, bool) {
	base, err := url.Parse(from)
	if err != nil || location == "" || hops >= p.RedirectMax {
		return "", false
	}
	u, err := base.Parse(location)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return "", false
	}
	u.Fragment = ""
	return u.String(), true
}
