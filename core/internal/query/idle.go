package query

import (
	"context"
	"time"

	"github.com/gonutch/crawler/core/internal/frontier"
)

// maxDue is how many records are looked at for those that are due.
const maxDue = 5_000_000

// IdleQuery asks what limits the crawl now.
type IdleQuery struct{}

// IdleAnswer tells what limits the crawl now.
type IdleAnswer struct {
	Working  bool   `json:"working"` // a crawl is running
	Step     string `json:"step,omitempty"`
	Threads  int    `json:"threads,omitempty"` // requests that may be under way
	InFlight int    `json:"inFlight,omitempty"`
	// Queued are the URLs of the fetch lists that are worked on, by what they wait
	// for: ready, delay, connections, backoff, held.
	Queued []Share `json:"queued,omitempty"`
	// Records are those of the CrawlDB, by what keeps them from being fetched:
	// listed, due, held, waiting.
	Records []Share   `json:"records"`
	More    bool      `json:"more,omitempty"` // due and held are lower bounds
	NextDue time.Time `json:"nextDue,omitzero"`
	Holds   []Hold    `json:"holds,omitempty"`
	Limit   string    `json:"limit"` // the first of all these, in words
}

// Share is a part of a whole.
type Share struct {
	What  string  `json:"what"`
	URLs  int64   `json:"urls"`
	Hosts int     `json:"hosts,omitempty"`
	Share float64 `json:"share"` // 0 to 1
}

// Idle is the verb of "crawler explain --idle".
func Idle() Verb[IdleQuery, *IdleAnswer] { return Verb[IdleQuery, *IdleAnswer]{"idle", idle} }

func idle(ctx context.Context, s *Source, _ IdleQuery) (*IdleAnswer, error) {
	st, err := stats(ctx, s, StatsQuery{})
	if err != nil {
		return nil, err
	}
	a := &IdleAnswer{NextDue: st.NextDue, Holds: st.Holds}
	held, now := map[string]bool{}, s.now()
	holds, err := s.Crawl.Hosts.Holds(ctx)
	if err != nil {
		return nil, err
	}
	for _, h := range holds {
		held[h.Queue] = h.Until.After(now)
	}
	due, err := s.Crawl.DB.Due(now, maxDue, func(q string) bool { return held[q] })
	if err != nil {
		return nil, err
	}
	a.More = due.More
	if s.Running != nil {
		p := s.Running.Progress()
		a.Working, a.Step, a.InFlight = true, p.Step, p.InFlight
		var waits []frontier.Wait
		waits, a.Threads = s.Running.Waits()
		for _, w := range waits {
			a.Queued = append(a.Queued, Share{What: w.Reason, URLs: int64(w.Items), Hosts: w.Queues})
		}
	}
	for _, x := range []Share{
		{What: "listed", URLs: st.Leased},
		{What: "due", URLs: due.Records - due.Held, Hosts: due.Queues},
		{What: "held", URLs: due.Held},
		{What: "waiting", URLs: max(0, st.Total-st.Leased-due.Records)},
	} {
		if x.URLs > 0 {
			a.Records = append(a.Records, x)
		}
	}
	share(a.Queued)
	share(a.Records)
	a.Limit = a.limit(st.Total)
	return a, nil
}

func share(list []Share) {
	var sum int64
	for i := range list {
		sum += list[i].URLs
	}
	for i := range list {
		list[i].Share = float64(list[i].URLs) / float64(sum)
	}
}

func (a *IdleAnswer) limit(total int64) string {
	urls := func(list []Share, what string) int64 {
		for _, x := range list {
			if x.What == what {
				return x.URLs
			}
		}
		return 0
	}
	switch {
	case total == 0 && !a.Working:
		return "the CrawlDB is empty: inject seeds"
	case a.Working && len(a.Queued) > 0:
		if a.InFlight >= a.Threads && urls(a.Queued, frontier.WaitReady) > 0 {
			return "all fetch threads are at work and more URLs could be asked for: fetcher.threads_fetch limits the crawl, or this machine and its link"
		}
		return map[string]string{
			frontier.WaitReady:   "this machine: URLs could be asked for, but memory for pages (fetcher.max_bytes_in_flight), parsing or the store can't keep up",
			frontier.WaitDelay:   "politeness: the pause between two requests to a host (fetcher.server_delay, Crawl-delay of robots.txt); more hosts would make it faster",
			frontier.WaitBusy:    "the servers: as many requests to each host are under way as fetcher.threads_per_queue allows",
			frontier.WaitBackoff: "failing servers: hosts are given time after failures",
			frontier.WaitHeld:    "servers that asked for patience, or whose robots.txt can't be had: their hosts are held back",
		}[a.Queued[0].What]
	case a.Working:
		return "the step " + a.Step + ": nothing is being fetched"
	case urls(a.Records, "listed") > 0:
		return "no crawl is running: fetch lists wait for crawler run or fetch"
	case urls(a.Records, "due") > 0:
		return "no crawl is running: URLs are due"
	case urls(a.Records, "held") > 0:
		return "all URLs that are due belong to hosts that are held back"
	case a.NextDue.IsZero():
		return "nothing is left to fetch, ever: every record is where no schedule brings it back"
	}
	return "nothing is due before " + clock(a.NextDue)
}
