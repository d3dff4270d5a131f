package testweb

import (
	"bufio"
	"errors"
	"io"
	"strconv"
	"sync"
	"time"
)

// LogHeader names the columns of the request log: microseconds since the web was made,
// client connection, n-th request of the URL, HTTP status (0: connection broken by the
// host, -1: client gone first), bytes of body, URL.
const LogHeader = "#start_us\tend_us\tclient\tn\tstatus\tbytes\turl\n"

const (
	recentRequests = 4096 // kept for the report
	maxViolations  = 200  // kept in full; all are counted
	maxOddURLs     = 1000 // unknown or trap URLs counted one by one, per host
)

// visit is one request while it is being answered.
type visit struct {
	ref                       ref
	host, path, query, client string
	n                         uint32 // it is the n-th of its URL
	start, stop               int64  // ns since the watch began
}

// hostWatch is what is known of the requests to one host.
type hostWatch struct {
	mu       sync.Mutex
	pages    []uint32       // requests by page, made at the first
	other    map[ref]uint32 // requests of what is no page
	odd      map[string]uint32
	inFlight int32
	most     int32 // requests at a time
	requests uint64
	robots   bool // /robots.txt was answered with something final
	begun    bool // some request has ended, so that last and lastEnd are set
	broken   bool // the last one ended without a byte
	left     bool // the last one was abandoned by its client, nobody knows when
	last     ref
	lastEnd  int64
	lastIsRD bool  // last was part of answering for robots.txt
	until    int64 // end of a Retry-After
	minGap   int64
}

// watch is the log and the politeness check.
type watch struct {
	w     *Web
	now   func() int64 // ns since the web was made
	hosts []hostWatch

	mu         sync.Mutex
	statuses   map[int]uint64
	bytes      uint64
	requests   uint64
	repeats    uint64
	unknown    uint64
	odd        []string // first unknown URLs
	counts     map[ViolationKind]uint64
	violations []Violation
	recent     []visitRecord
	next       int
	out        *bufio.Writer
	outErr     error
	line       []byte
}

type visitRecord struct {
	ref         ref
	start, stop int64
	status      int32
	n           uint32
	client      string
}

func newWatch(w *Web) *watch {
	began := time.Now()
	t := &watch{
		w: w, now: func() int64 { return int64(time.Since(began)) }, hosts: make([]hostWatch, len(w.hosts)),
		statuses: map[int]uint64{}, counts: map[ViolationKind]uint64{},
	}
	for i := range t.hosts {
		t.hosts[i].minGap = -1
	}
	if w.cfg.Log != nil {
		t.out = bufio.NewWriterSize(w.cfg.Log, 64<<10)
		_, t.outErr = io.WriteString(t.out, LogHeader)
	}
	return t
}

// begin counts v, checks it and marks it in flight.
func (t *watch) begin(v *visit) {
	v.start = t.now()
	if v.ref.host < 0 {
		v.n = 1
		t.note(v)
		return
	}
	hw := &t.hosts[v.ref.host]
	hw.mu.Lock()
	v.n = hw.count(t.w, v)
	found := hw.check(t.w, v)
	hw.inFlight++
	hw.most = max(hw.most, hw.inFlight)
	hw.requests++
	hw.mu.Unlock()
	if v.ref.kind == kindUnknown {
		t.note(v)
	}
	for i := range found {
		t.report(found[i])
	}
}

// count returns how often v's URL was requested, this time included. The caller holds mu.
func (hw *hostWatch) count(w *Web, v *visit) uint32 {
	switch v.ref.kind {
	case kindPage:
		if hw.pages == nil {
			hw.pages = make([]uint32, w.hosts[v.ref.host].size)
		}
		hw.pages[v.ref.a]++
		return hw.pages[v.ref.a]
	case kindUnknown, kindTrap:
		key := v.path
		if v.query != "" {
			key += "?" + v.query
		}
		if hw.odd == nil {
			hw.odd = map[string]uint32{}
		}
		if _, known := hw.odd[key]; !known && len(hw.odd) >= maxOddURLs {
			return 1
		}
		hw.odd[key]++
		return hw.odd[key]
	}
	if hw.other == nil {
		hw.other = map[ref]uint32{}
	}
	hw.other[v.ref]++
	return hw.other[v.ref]
}

// endAt takes the end of v at stop. The caller hasn't written the last bytes yet.
func (v *visit) endAt(t *watch, a *answer, status int, stop int64) {
	v.stop = stop
	if v.ref.host >= 0 {
		hw := &t.hosts[v.ref.host]
		hw.mu.Lock()
		hw.inFlight--
		hw.begun, hw.last, hw.lastEnd = true, v.ref, v.stop
		hw.lastIsRD = v.ref.isRobots()
		hw.broken, hw.left = a.cut == abrupt, status < 0
		if a.retryAfter > 0 && status > 0 {
			hw.until = max(hw.until, v.stop+int64(a.retryAfter)*int64(time.Second))
		}
		if v.ref.kind == kindRobots && v.ref.a == 0 && status > 0 && status < 500 {
			hw.robots = true
		}
		hw.mu.Unlock()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.requests++
	t.statuses[status]++
	t.bytes += uint64(len(a.body))
	rec := visitRecord{ref: v.ref, start: v.start, stop: v.stop, status: int32(status), n: v.n, client: v.client}
	if len(t.recent) < recentRequests {
		t.recent = append(t.recent, rec)
	} else {
		t.recent[t.next] = rec
		t.next = (t.next + 1) % recentRequests
	}
	if t.out != nil {
		t.writeLine(v, status, len(a.body))
	}
}

func (t *watch) writeLine(v *visit, status, size int) {
	b := strconv.AppendInt(t.line[:0], v.start/1000, 10)
	b = strconv.AppendInt(append(b, '\t'), v.stop/1000, 10)
	b = append(append(b, '\t'), v.client...)
	b = strconv.AppendUint(append(b, '\t'), uint64(v.n), 10)
	b = strconv.AppendInt(append(b, '\t'), int64(status), 10)
	b = strconv.AppendInt(append(b, '\t'), int64(size), 10)
	b = append(append(b, "\thttp://"...), v.host...)
	b = append(b, v.path...)
	if v.query != "" {
		b = append(append(b, '?'), v.query...)
	}
	t.line = append(b, '\n')
	if _, err := t.out.Write(t.line); err != nil && t.outErr == nil {
		t.outErr = err
	}
}

// note remembers a URL that the web does not have.
func (t *watch) note(v *visit) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.unknown++
	if len(t.odd) < maxViolations {
		url := "http://" + v.host + v.path
		if v.query != "" {
			url += "?" + v.query
		}
		t.odd = append(t.odd, url)
	}
}

// Flush writes what the log still holds and returns the first error of writing it.
func (w *Web) Flush() error {
	t := w.watch
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.out == nil {
		return nil
	}
	return errors.Join(t.outErr, t.out.Flush())
}
