package testweb

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"time"
)

// Report is what the log says so far.
type Report struct {
	Requests      uint64                   `json:"requests"`
	URLs          int                      `json:"urls"`      // different ones
	Hosts         int                      `json:"hosts"`     // asked at least once
	Bytes         uint64                   `json:"bytes"`     // of bodies
	ByStatus      map[string]uint64        `json:"by_status"` // HTTP status, "broken" by the host, "abandoned" by the client
	MinGap        time.Duration            `json:"min_gap"`   // shortest between two requests of a host; -1 when no host had two
	MinGapHost    string                   `json:"min_gap_host,omitempty"`
	MaxConcurrent int                      `json:"max_concurrent"` // requests of one host at a time
	ViolationsBy  map[ViolationKind]uint64 `json:"violations_by"`
	Violations    []Violation              `json:"violations,omitempty"` // the first 200
	Repeats       uint64                   `json:"repeats"`              // of requests that were broken without a byte, at once
	Unknown       uint64                   `json:"unknown"`              // requests for URLs that this web doesn't have
	UnknownURLs   []string                 `json:"unknown_urls,omitempty"`
	MostRequested []URLCount               `json:"most_requested,omitempty"`
}

// URLCount is how often a URL was requested.
type URLCount struct {
	URL   string `json:"url"`
	Count int    `json:"count"`
}

// Polite reports whether no rule was broken.
func (r *Report) Polite() bool { return len(r.ViolationsBy) == 0 }

const mostRequested = 20

// Report sums the log up.
func (w *Web) Report() Report {
	t := w.watch
	r := Report{MinGap: -1, ByStatus: map[string]uint64{}}
	for i := range t.hosts {
		hw := &t.hosts[i]
		hw.mu.Lock()
		if hw.requests > 0 {
			r.Hosts++
		}
		if hw.minGap >= 0 && (r.MinGap < 0 || time.Duration(hw.minGap) < r.MinGap) {
			r.MinGap = time.Duration(hw.minGap)
			r.MinGapHost = string(w.appendHost(nil, int32(i)))
		}
		r.MaxConcurrent = max(r.MaxConcurrent, int(hw.most))
		hw.mu.Unlock()
	}
	least := 0
	w.EachRequested(func(url func() string, n int) bool {
		r.URLs++
		if len(r.MostRequested) < mostRequested || n > least {
			r.MostRequested = append(r.MostRequested, URLCount{url(), n})
			slices.SortStableFunc(r.MostRequested, func(a, b URLCount) int { return cmp.Compare(b.Count, a.Count) })
			r.MostRequested = r.MostRequested[:min(len(r.MostRequested), mostRequested)]
			least = r.MostRequested[len(r.MostRequested)-1].Count
		}
		return true
	})
	t.mu.Lock()
	defer t.mu.Unlock()
	r.Requests, r.Bytes, r.Repeats, r.Unknown = t.requests, t.bytes, t.repeats, t.unknown
	r.UnknownURLs, r.Violations, r.ViolationsBy = slices.Clone(t.odd), slices.Clone(t.violations), maps.Clone(t.counts)
	for s, n := range t.statuses {
		r.ByStatus[statusName(s)] += n
	}
	return r
}

func statusName(s int) string {
	switch s {
	case 0:
		return "broken"
	case -1:
		return "abandoned"
	}
	return strconv.Itoa(s)
}

// EachRequested calls fn with every URL that was requested and how often, host by host, until fn
// returns false. url spells the URL out. At most 1,000 URLs per host that the web doesn't
// have, or has without end, are counted one by one.
func (w *Web) EachRequested(fn func(url func() string, n int) bool) {
	t := w.watch
	for i := range t.hosts {
		hw := &t.hosts[i]
		hw.mu.Lock()
		pages, other, odd := slices.Clone(hw.pages), maps.Clone(hw.other), maps.Clone(hw.odd)
		hw.mu.Unlock()
		for p, n := range pages {
			if n > 0 && !fn(func() string { return w.url(ref{kind: kindPage, host: int32(i), a: int32(p)}) }, int(n)) {
				return
			}
		}
		for _, r := range slices.SortedFunc(maps.Keys(other), compareRefs) {
			if !fn(func() string { return w.url(r) }, int(other[r])) {
				return
			}
		}
		for _, path := range slices.Sorted(maps.Keys(odd)) {
			if !fn(func() string { return string(w.appendHost([]byte("http://"), int32(i))) + path }, int(odd[path])) {
				return
			}
		}
	}
}

func compareRefs(a, b ref) int {
	return cmp.Or(cmp.Compare(a.host, b.host), cmp.Compare(a.kind, b.kind), cmp.Compare(a.a, b.a), cmp.Compare(a.b, b.b))
}

// Request is one logged request.
type Request struct {
	URL        string        `json:"url"`
	Client     string        `json:"client"` // address of the connection
	N          int           `json:"n"`      // n-th of its URL
	Status     int           `json:"status"` // as in the log
	Start, End time.Duration // since the web was made
}

// Recent returns the last requests, up to 4,096, in order of their ends.
func (w *Web) Recent() []Request {
	t := w.watch
	t.mu.Lock()
	defer t.mu.Unlock()
	out := make([]Request, 0, len(t.recent))
	for i := range t.recent {
		v := t.recent[(t.next+i)%len(t.recent)]
		r := Request{Client: v.client, N: int(v.n), Status: int(v.status), Start: time.Duration(v.start), End: time.Duration(v.stop)}
		if v.ref.host >= 0 {
			r.URL = w.url(v.ref)
		}
		out = append(out, r)
	}
	return out
}
