package cycle

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gonutch/crawler/core/internal/pluginhost"
	"github.com/gonutch/crawler/core/internal/segment"
	"github.com/gonutch/crawler/core/internal/step/fetch"
	"github.com/gonutch/crawler/core/internal/step/index"
	"github.com/gonutch/crawler/core/internal/step/sitemap"
	"github.com/gonutch/crawler/core/internal/step/update"
	"github.com/gonutch/crawler/sdk/model"
)

// Summary counts what a command did, for its report. It is safe for concurrent use.
type Summary struct {
	lost func() int64 // events that publishers could not take so far; may be nil
	mu   sync.Mutex
	s    Report
	// poisoned are the URLs in s.Poisonous: one may fail at several plugins and as the
	// target of many links.
	poisoned map[string]bool
}

// maxPoisonous bounds the list of poisonous URLs in a report.
const maxPoisonous = 1000

// poisonous begins the text of a pluginhost.PoisonError.
const poisonous = "poisonous: "

// failed notes the URL when it was poisonous to a plugin.
func (s *Summary) failed(url string, err error) {
	var p *pluginhost.PoisonError
	if !errors.As(err, &p) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.poison(url, p.Error())
}

// poison is called under the lock.
func (s *Summary) poison(url, reason string) {
	if s.poisoned[url] || len(s.s.Poisonous) >= maxPoisonous {
		return
	}
	if s.poisoned == nil {
		s.poisoned = map[string]bool{}
	}
	s.poisoned[url] = true
	s.s.Poisonous = append(s.s.Poisonous, url+": "+reason)
}

// Report is what a command prints at its end.
type Report struct {
	Rounds    int              `json:"rounds"`
	Generated int64            `json:"generated"`
	Fetched   int64            `json:"fetched"`             // pages asked for, whatever the outcome
	Bytes     int64            `json:"bytes"`               // of bodies, decoded
	Status    map[string]int64 `json:"status,omitempty"`    // outcomes by fetch status
	Failures  map[string]int64 `json:"failures,omitempty"`  // failed attempts by reason
	Truncated map[string]int64 `json:"truncated,omitempty"` // bodies cut off by reason
	Released  map[string]int64 `json:"released,omitempty"`  // URLs given back by reason
	// Examples are the first of the Failures and Released of each reason that a server's answer does
	// not tell, with what went wrong.
	Examples   map[string]Example `json:"examples,omitempty"`
	Parsed     int64              `json:"parsed"`
	ParseFails map[string]int64   `json:"parse_failures,omitempty"`
	Links      int64              `json:"links"`              // outlinks that parsing kept
	Dropped    map[string]int64   `json:"dropped,omitempty"`  // outlinks and redirects dropped by reason, or by the plugin that did
	New        int64              `json:"new"`                // URLs the CrawlDB did not know
	Updated    map[string]int64   `json:"updated,omitempty"`  // records by their new status
	Orphaned   map[string]int64   `json:"orphaned,omitempty"` // pages without inlinks that got another status, by status
	Duplicates int64              `json:"duplicates"`
	Lifted     int64              `json:"duplicates_lifted,omitempty"` // pages that are no duplicates any more
	Indexed    int64              `json:"indexed"`                     // pages of which a document was sent, each of the three that follow
	// IndexedNew were in no index before, IndexedChanged replaced an older version; IndexedAgain
	// were sent once more (a reindex, a writer that was down or killed).
	IndexedNew     int64            `json:"indexed_new"`
	IndexedChanged int64            `json:"indexed_changed"`
	IndexedAgain   int64            `json:"indexed_again"`
	Deleted        int64            `json:"deleted"`
	Unchanged      int64            `json:"unchanged"` // documents not sent because nothing changed
	Skipped        map[string]int64 `json:"not_indexed,omitempty"`
	Refused        map[string]int64 `json:"refused,omitempty"`             // documents that index writers refused, by writer
	Waiting        map[string]int64 `json:"waiting,omitempty"`             // documents and deletes kept for index writers, by writer
	Down           []index.Down     `json:"writers_down,omitempty"`        // index writers that take nothing now
	Incomplete     []string         `json:"writers_incomplete,omitempty"`  // index writers that lack what was sent before they came
	Rejected       map[string]int64 `json:"rejected,omitempty"`            // URLs generate passed over by reason
	Poisonous      []string         `json:"poisonous,omitempty"`           // URLs that plugins died of, the reason with each; at most maxPoisonous
	EventsLost     int64            `json:"events_lost,omitempty"`         // fetch events that publishers could not take
	Pruned         int64            `json:"segments_removed,omitempty"`    // because of segment.disk_budget
	PrunedBytes    int64            `json:"segment_bytes_freed,omitempty"` // by that
	OverBudget     int64            `json:"over_disk_budget,omitempty"`    // bytes by which needed segments exceed segment.disk_budget
	Elapsed        time.Duration    `json:"elapsed_ns"`
	NextDue        time.Time        `json:"next_due,omitzero"`
	Stopped        string           `json:"stopped,omitempty"`  // why the run ended early
	Sitemaps       *sitemap.Report  `json:"sitemaps,omitempty"` // when the run reads sitemaps
	// Freshness is what the freshness schedule has reached so far.
	Freshness []update.TargetReport `json:"freshness,omitempty"`
}

// Example is a URL and what went wrong with it.
type Example struct {
	URL     string `json:"url"`
	Message string `json:"message"`
}

// maxExample is how many bytes of a message are kept.
const maxExample = 500

// example keeps the first message of a reason.
func (s *Summary) example(why, url, message string) {
	if _, known := s.s.Examples[why]; known || message == "" {
		return
	}
	if s.s.Examples == nil {
		s.s.Examples = map[string]Example{}
	}
	if len(message) > maxExample {
		message = message[:maxExample] + "…"
	}
	s.s.Examples[why] = Example{url, message}
}

func bump(m *map[string]int64, key string, n int64) {
	if n == 0 {
		return
	}
	if *m == nil {
		*m = map[string]int64{}
	}
	(*m)[key] += n
}

func (s *Summary) fetched(f *segment.Fetch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.s.Fetched++
	s.s.Bytes += f.Size
	bump(&s.s.Status, f.Status.String(), 1)
	if f.Truncated != "" {
		bump(&s.s.Truncated, f.Truncated, 1)
	}
	if why := fetch.Failure(f); why != "" {
		bump(&s.s.Failures, why, 1)
		if f.Protocol.HTTP == 0 && f.Protocol.Code != model.ProtocolRobotsDenied {
			s.example(why, f.URL, f.Protocol.Message)
		}
	}
	// The chain turns a protocol plugin's failure into a status; its text is all
	// that is left of the error.
	if _, why, ok := strings.Cut(f.Protocol.Message, poisonous); ok {
		s.poison(f.URL, poisonous+why)
	}
}

func (s *Summary) released(why fetch.Release, url, cause string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	bump(&s.s.Released, string(why), 1)
	s.example(string(why), url, cause)
}

func (s *Summary) parsed(p *segment.Parsed) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.Status.OK() {
		s.s.Parsed++
	} else {
		bump(&s.s.ParseFails, parseFailure(p), 1)
	}
	s.s.Links += int64(len(p.Outlinks))
	for why, n := range p.Dropped {
		bump(&s.s.Dropped, why, n)
	}
}

// parseFailure names a failed parse for the report: the parser and what was wrong, not
// the status's text, which differs from page to page.
func parseFailure(p *segment.Parsed) string {
	why := fmt.Sprintf("failure %d", p.Status.Minor)
	switch p.Status.Minor {
	case model.ParseFailedException:
		why = "error"
		if strings.Contains(p.Status.Message, poisonous) {
			why = "poisonous"
		}
	case model.ParseFailedTruncated:
		why = "truncated"
	case model.ParseFailedInvalidFormat:
		why = "invalid format"
		if p.Parser == "" {
			why = "no parser for the type"
		}
	case model.ParseFailedMissingParts:
		why = "parts missing"
	case model.ParseFailedMissingContent:
		why = "content missing"
	}
	if p.Parser == "" {
		return why
	}
	return p.Parser + ": " + why
}

func (s *Summary) dropped(why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	bump(&s.s.Dropped, why, 1)
}

func (s *Summary) applied(r update.Result) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for st, n := range r.ByStatus {
		bump(&s.s.Updated, st.String(), n)
	}
	for plugin, n := range r.Dropped {
		bump(&s.s.Dropped, plugin, n)
	}
}

// change edits the report under its lock.
func (s *Summary) change(f func(*Report)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(&s.s)
}

// Report returns a copy of the counts.
func (s *Summary) Report() Report {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.s
	if s.lost != nil {
		r.EventsLost = s.lost()
	}
	for _, m := range []*map[string]int64{&r.Status, &r.Failures, &r.Truncated, &r.Released, &r.ParseFails, &r.Dropped, &r.Updated, &r.Orphaned, &r.Skipped, &r.Refused, &r.Waiting, &r.Rejected} {
		*m = maps.Clone(*m)
	}
	r.Examples = maps.Clone(r.Examples)
	r.Poisonous, r.Down, r.Incomplete = slices.Clone(r.Poisonous), slices.Clone(r.Down), slices.Clone(r.Incomplete)
	return r
}
