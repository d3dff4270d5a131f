package testweb

import (
	"bytes"
	"testing"

	"github.com/temoto/robotstxt"
)

// TestRobotsFilesSayWhatTheTruthSays reads every robots.txt with a library and compares its
// answers with denied's.
func TestRobotsFilesSayWhatTheTruthSays(t *testing.T) {
	w := newWeb(t, func(c *Config) {
		c.Hosts, c.Pages, c.Agent = 300, 6000, "MiniBot"
		s := &c.Shares
		s.RobotsSome, s.RobotsDelay, s.RobotsHuge, s.RobotsRedirect, s.RobotsAllow = 0.3, 0.1, 0.1, 0.2, 0.1
		s.PathPrivate, s.PathCGI, s.PathQuery, s.Dead, s.Abrupt = 0.2, 0.2, 0.2, 0, 0
	})
	denied, allowed, kinds := 0, 0, map[robotsKind]int{}
	for i := range w.hosts {
		h := int32(i)
		kind := w.hosts[i].robots
		kinds[kind]++
		var a answer
		r := ref{kind: kindRobots, host: h}
		w.answer(&a, r, 100, ask{})
		for hops := 0; a.location != "" && hops < 5; hops++ {
			r = w.parse(resolve(w.url(r), a.location))
			w.answer(&a, r, 100, ask{})
		}
		if a.status >= 500 || a.location != "" {
			if kind != robotsError && kind != robotsLoop {
				t.Errorf("host%d, robots of kind %d: %d after redirects", i, kind, a.status)
			}
			continue
		}
		data, err := robotstxt.FromStatusAndBytes(a.status, a.body[:min(len(a.body), 500<<10)])
		if a.status == 401 || a.status == 403 { // the library refuses, RFC 9309 allows
			data, err = robotstxt.FromString("")
		}
		if err != nil && kind != robotsGarbage {
			t.Fatalf("host%d: %v\n%s", i, err, a.body)
		}
		if err != nil {
			continue
		}
		if got := data.FindGroup("minibot").CrawlDelay; (got != 0) != (kind == robotsDelay) || (got != 0 && got != w.cfg.CrawlDelay) {
			t.Errorf("host%d, robots of kind %d: crawl delay %s\n%s", i, kind, got, a.body)
		}
		if kind == robotsHuge && len(a.body) < hugeRobots {
			t.Errorf("host%d: huge robots.txt has only %d bytes", i, len(a.body))
		}
		for p := range w.hosts[i].size {
			r := ref{kind: kindPage, host: h, a: p}
			path := string(w.appendPath(nil, r))
			if got, want := !data.TestAgent(path, "minibot"), w.denied(r); got != want {
				t.Fatalf("host%d, %s: robots.txt denies %v, denied says %v\n%s", i, path, got, want, a.body[:min(len(a.body), 600)])
			}
			if w.denied(r) {
				denied++
			} else {
				allowed++
			}
		}
		if named := bytes.Contains(a.body, []byte("MiniBot")); named && data.TestAgent("/", "somebody") {
			t.Errorf("host%d: others are not refused", i)
		}
	}
	if denied < 500 || allowed < 2000 || len(kinds) < 10 {
		t.Errorf("%d denied, %d allowed, kinds %v", denied, allowed, kinds)
	}
}

// TestRobotsAnswers checks status and kind of every sort of robots.txt answer.
func TestRobotsAnswers(t *testing.T) {
	w := newWeb(t, func(c *Config) { c.Hosts, c.Shares.RobotsFlaky, c.Shares.RobotsError = 600, 0.1, 0.1 })
	want := map[robotsKind][]int{
		robotsNone: {404}, robotsAllow: {200}, robotsSome: {200}, robotsDelay: {200}, robotsDenyAll: {200}, robots4xx: {401, 403, 410},
		robotsError: {500, 502, 503, 504}, robotsFlaky: {503}, robotsRedirect: {301}, robotsLoop: {302}, robotsHuge: {200}, robotsGarbage: {200},
	}
	for i := range w.hosts {
		if w.hosts[i].death == dead || w.hosts[i].death == abrupt {
			continue
		}
		u := w.url(ref{kind: kindRobots, host: int32(i)})
		kind := w.hosts[i].robots
		code := request(w, u).Code
		ok := false
		for _, c := range want[kind] {
			ok = ok || c == code
		}
		if !ok {
			t.Errorf("%s of kind %d: %d", u, kind, code)
		}
		for range 2 {
			code = request(w, u).Code
		}
		if kind == robotsFlaky && code != 200 || kind == robotsError && code < 500 {
			t.Errorf("%s of kind %d at the third request: %d", u, kind, code)
		}
	}
}
