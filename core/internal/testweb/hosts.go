package testweb

import (
	"slices"
	"sort"
)

// host is what is drawn once for a host and kept.
type host struct {
	first  int32 // page number of its home page
	size   int32 // number of pages
	alive  int32 // local pages from this one on are dead (dying hosts); size otherwise
	kids   int32 // its child hosts are Web.kids[kids:kids+nkids]
	nkids  int32
	robots robotsKind
	rules  ruleSet
	hops   uint8 // redirects before its robots.txt
	death  death
	slow   bool
	maps   bool // has a sitemap
	trap   bool
}

// death is how a host breaks connections.
type death uint8

const (
	alive death = iota
	dead
	abrupt
	dying
)

// Shape of the trees that make everything reachable. A home page has at most
// section-1 + sectionKids + hostKids links from them, below the crawler's limit of 100.
const (
	section     = 32 // pages of a section
	sectionKids = 8  // sections that a section's index links to
	hostKids    = 24 // hosts that a home page links to

	delayHostSize = 20 // largest host with a Crawl-delay, so that crawls end in time
	maxAlivePages = 8  // pages that a dying host may still answer for
)

// sizes spreads pages over hosts by Zipf's law (the i-th largest has a weight of
// 1/i), each at least 1 and at most largest, in falling order.
func sizes(hosts, pages, largest int) []int32 {
	at := func(i int, scale float64) int {
		return min(largest, max(1, int(scale/float64(i+1))))
	}
	total := func(scale float64) (t int) {
		for i := range hosts {
			t += at(i, scale)
		}
		return t
	}
	lo, hi := 0.0, float64(largest)*float64(hosts) // total(hi) is hosts·largest, at least pages
	for range 64 {
		if mid := (lo + hi) / 2; total(mid) > pages {
			hi = mid
		} else {
			lo = mid
		}
	}
	out := make([]int32, hosts)
	rest := pages
	for i := range out {
		out[i] = int32(at(i, lo))
		rest -= int(out[i])
	}
	for i := 0; rest > 0; i = (i + 1) % hosts { // fewer than one page per host are left
		if int(out[i]) < largest {
			out[i]++
			rest--
		}
	}
	slices.SortFunc(out, func(a, b int32) int { return int(b - a) })
	return out
}

// makeHosts draws all hosts. host0 is the largest and in good order.
func (w *Web) makeHosts() {
	n := sizes(w.cfg.Hosts, w.cfg.Pages, w.cfg.LargestHost)
	r := w.rng(saltShuffle, 0, 0)
	for i := len(n) - 1; i > 1; i-- { // Fisher-Yates over all but host0
		j := 1 + r.below(int32(i))
		n[i], n[j] = n[j], n[i]
	}
	w.hosts = make([]host, len(n))
	first := int32(0)
	for i := range w.hosts {
		w.hosts[i] = w.drawHost(int32(i), n[i])
		w.hosts[i].first = first
		first += n[i]
	}
	w.makeHostTree()
}

func (w *Web) drawHost(i, size int32) host {
	s := &w.cfg.Shares
	r := w.rng(saltHost, i, 0)
	robots, broken := choose(w.robotsShares, r.float()), r.float()
	h := host{
		size: size, alive: size, robots: robots, rules: ruleSet(r.next()), hops: uint8(1 + r.below(3)),
		slow: r.float() < s.Slow, maps: r.float() < s.Sitemap, trap: r.float() < s.Trap,
	}
	if i == 0 {
		h.robots, h.slow = min(h.robots, robotsAllow), false
		return h
	}
	if h.robots == robotsDelay && size > delayHostSize {
		h.robots = robotsAllow
	}
	// What closes a host or slows it down stays with small ones: neither a fifth of the web nor
	// the length of a crawl must hang on one draw.
	if small := int(size) <= 2*w.cfg.Pages/w.cfg.Hosts; small {
		switch {
		case broken < s.Dead:
			h.death = dead
		case broken < s.Dead+s.Abrupt:
			h.death = abrupt
		case broken < s.Dead+s.Abrupt+s.Dying:
			h.death, h.alive = dying, min(size, 1+r.below(maxAlivePages))
		}
	} else {
		h.slow = false
		if h.robots == robotsDenyAll || h.robots == robotsError {
			h.robots = robotsAllow
		}
	}
	if h.death != alive {
		h.maps = false
	}
	if h.hasRules() {
		h.trap = true
	}
	return h
}

// open reports whether the home page can be had at the first attempt.
func (h *host) open() bool {
	return h.death == alive && h.robots != robotsDenyAll && h.robots != robotsError && h.robots != robotsFlaky
}

// makeHostTree gives every host but host0 a parent among the open hosts before
// it, filled in order, so that host0 leads to all.
func (w *Web) makeHostTree() {
	parents := make([]int32, len(w.hosts)) // of each host
	hub, kids := int32(0), 0
	for i := 1; i < len(w.hosts); i++ {
		if kids >= hostKids {
			next := hub + 1
			for int(next) < i && !w.hosts[next].open() {
				next++
			}
			if int(next) < i {
				hub, kids = next, 0
			}
		}
		parents[i] = hub
		w.hosts[hub].nkids++
		kids++
	}
	w.kids = make([]int32, 0, len(w.hosts))
	for i := 1; i < len(w.hosts); i++ { // parents only grow, so children of one lie together
		if p := &w.hosts[parents[i]]; i == 1 || parents[i] != parents[i-1] {
			p.kids = int32(len(w.kids))
		}
		w.kids = append(w.kids, int32(i))
	}
}

// PageURL returns the URL of page number n, 0 to Config.Pages-1. Numbers run
// host by host.
func (w *Web) PageURL(n int) string { return w.url(w.pageRef(int32(n))) }

// pageRef returns page number n.
func (w *Web) pageRef(n int32) ref {
	h := sort.Search(len(w.hosts), func(i int) bool { return w.hosts[i].first > n }) - 1
	return ref{kind: kindPage, host: int32(h), a: n - w.hosts[h].first}
}
