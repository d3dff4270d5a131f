package testweb

import "time"

// ViolationKind names a rule of politeness that a request broke.
type ViolationKind string

// The rules of politeness.
const (
	// ViolationGap: less than Config.Delay (or the host's Crawl-delay) after the end of the request before.
	ViolationGap ViolationKind = "gap"
	// ViolationConcurrent: more than Config.MaxPerHost requests of the host at a time.
	ViolationConcurrent ViolationKind = "concurrent"
	// ViolationRetryAfter: before the time that the Retry-After of a 429 or 503 asked to wait for.
	ViolationRetryAfter ViolationKind = "retry_after"
	// ViolationRobotsDenied: a URL that the host's robots.txt disallows.
	ViolationRobotsDenied ViolationKind = "robots_denied"
	// ViolationRobotsUnknown: a URL other than /robots.txt before that was ever answered with
	// something other than a 5xx or a broken connection.
	ViolationRobotsUnknown ViolationKind = "robots_unknown"
	// ViolationNoFollow: a URL that only nofollow links lead to.
	ViolationNoFollow ViolationKind = "nofollow"
)

// Violation is one request that broke a rule.
type Violation struct {
	Kind   ViolationKind `json:"kind"`
	Before string        `json:"before,omitempty"` // URL of the request of the host that ended last
	URL    string        `json:"url"`
	At     time.Duration `json:"at"`               // since the web was made
	Gap    time.Duration `json:"gap,omitempty"`    // between the two
	Wanted time.Duration `json:"wanted,omitempty"` // least gap
}

// found is a violation before its URLs are spelled out.
type found struct {
	kind        ViolationKind
	before, at  ref
	hasBefore   bool
	repeat      bool // no violation: a client that repeats what broke without a byte
	start       int64
	gap, wanted int64
	path, query string
}

// check judges v, before it is in flight. The caller holds mu.
func (hw *hostWatch) check(w *Web, v *visit) []found {
	var out []found
	add := func(k ViolationKind, gap, wanted int64) {
		out = append(out, found{
			kind: k, before: hw.last, hasBefore: hw.begun, at: v.ref, start: v.start, gap: gap, wanted: wanted,
			path: v.path, query: v.query,
		})
	}
	gap := v.start - hw.lastEnd
	// RFC 9110 section 9.2.2 lets clients repeat by themselves what got no answer at all.
	if hw.begun && hw.broken && hw.last == v.ref && gap < int64(w.cfg.Delay) {
		return []found{{repeat: true}}
	}
	if hw.begun && !hw.left && hw.inFlight == 0 {
		if hw.minGap < 0 || gap < hw.minGap {
			hw.minGap = gap
		}
		wanted := int64(w.delayOf(v.ref.host))
		if hw.lastIsRD || v.ref.isRobots() { // the Crawl-delay has only just become known, or is not yet
			wanted = int64(w.cfg.Delay)
		}
		if gap < wanted {
			add(ViolationGap, gap, wanted)
		}
	}
	if w.cfg.MaxPerHost > 0 && int(hw.inFlight) >= w.cfg.MaxPerHost {
		add(ViolationConcurrent, 0, 0)
	}
	if v.start < hw.until {
		add(ViolationRetryAfter, gap, hw.until-hw.lastEnd)
	}
	if v.ref.isRobots() {
		return out
	}
	switch {
	case !hw.robots:
		add(ViolationRobotsUnknown, gap, 0)
	case w.denied(v.ref):
		add(ViolationRobotsDenied, gap, 0)
	case v.ref.kind == kindBait:
		add(ViolationNoFollow, gap, 0)
	}
	return out
}

// report counts f and keeps it while there is room.
func (t *watch) report(f found) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if f.repeat {
		t.repeats++
		return
	}
	t.counts[f.kind]++
	if len(t.violations) >= maxViolations {
		return
	}
	url := string(t.w.appendHost([]byte("http://"), f.at.host)) + f.path
	if f.query != "" {
		url += "?" + f.query
	}
	v := Violation{Kind: f.kind, URL: url, At: time.Duration(f.start), Gap: time.Duration(f.gap), Wanted: time.Duration(f.wanted)}
	if f.hasBefore {
		v.Before = t.w.url(f.before)
	}
	t.violations = append(t.violations, v)
}
