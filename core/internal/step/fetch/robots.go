package fetch

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/gonutch/crawler/core/internal/db/hostdb"
	"github.com/gonutch/crawler/core/internal/frontier"
	"github.com/gonutch/crawler/core/internal/robots"
	"github.com/gonutch/crawler/core/internal/urlkey"
	"github.com/gonutch/crawler/sdk/extension/protocol"
	"github.com/gonutch/crawler/sdk/model"
)

// RobotsStore keeps robots.txt copies and holds across processes; a HostDB does.
type RobotsStore interface {
	// LoadRobots returns what is stored for origin, or nil.
	LoadRobots(origin string) (*hostdb.Robots, error)
	// SaveRobots stores what an attempt brought.
	SaveRobots(r hostdb.Robots) error
	// Hold keeps a queue out of fetch lists until a time.
	Hold(queue string, until time.Time, why string) error
}

// robotsEntry is what is known of an origin's robots.txt.
type robotsEntry struct {
	robots.Entry
	rules *robots.Rules
	// loaded says that it came from the store and no request went out by it yet: an earlier
	// process may have asked the host just before this one started.
	loaded bool
}

// robotsTask is one attempt to get a robots.txt, redirects included.
type robotsTask struct {
	origin  string
	queue   string // of the origin
	url     string // to be asked next
	hops    int
	asked   time.Time
	waiting []frontier.Item[job] // items that need the answer; none is in flight
}

// robotsCache holds the entries of the origins in use. The bound is generous:
// an entry is a few hundred bytes, and the store has it when it is dropped.
type robotsCache struct {
	store RobotsStore
	cfg   RobotsConfig

	mu      sync.Mutex
	entries map[string]*robotsEntry
	tasks   map[string]*robotsTask
}

const maxRobotsEntries = 200_000

func newRobotsCache(store RobotsStore, cfg RobotsConfig) *robotsCache {
	return &robotsCache{store: store, cfg: cfg, entries: map[string]*robotsEntry{}, tasks: map[string]*robotsTask{}}
}

func (c *robotsCache) busy() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.tasks) > 0
}

// lookup returns the entry in force, or the task that will bring one; mine says
// that the caller has to carry the task out.
func (c *robotsCache) lookup(it frontier.Item[job], origin string, now time.Time) (ent *robotsEntry, mine *robotsTask, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ent = c.entries[origin]
	if ent == nil {
		if ent, err = c.load(origin); err != nil {
			return nil, nil, err
		}
	}
	if ent != nil && ent.Fresh(now) {
		return ent, nil, nil
	}
	if t := c.tasks[origin]; t != nil {
		t.waiting = append(t.waiting, it)
		return nil, nil, nil
	}
	t := &robotsTask{origin: origin, queue: it.Queue, url: origin + "/robots.txt", asked: now, waiting: []frontier.Item[job]{it}}
	c.tasks[origin] = t
	return nil, t, nil
}

// load takes an entry from the store; the caller holds the lock.
func (c *robotsCache) load(origin string) (*robotsEntry, error) {
	r, err := c.store.LoadRobots(origin)
	if err != nil || r == nil {
		return nil, err
	}
	entry, err := robots.DecodeEntry(r.Body)
	if err != nil {
		return nil, fmt.Errorf("stored robots.txt: %w", err)
	}
	ent := c.entry(entry)
	ent.loaded = true
	c.put(origin, ent)
	return ent, nil
}

// entry makes an entry ready for use. Without Defer, hosts whose robots.txt can't
// be had count as having none.
func (c *robotsCache) entry(e robots.Entry) *robotsEntry {
	if e.State == robots.Unreachable && !c.cfg.Defer {
		e.State = robots.Missing
	}
	return &robotsEntry{Entry: e, rules: e.Rules(c.cfg.Agents)}
}

func (c *robotsCache) put(origin string, ent *robotsEntry) {
	if len(c.entries) >= maxRobotsEntries {
		for k := range c.entries { // any will do: the store has it
			delete(c.entries, k)
			if len(c.entries) < maxRobotsEntries*9/10 {
				break
			}
		}
	}
	c.entries[origin] = ent
}

// admit decides by robots.txt whether the item may be asked for now. When it
// returns false the item has been taken care of.
func (e *Engine) admit(ctx context.Context, it frontier.Item[job]) (bool, error) {
	if e.cfg.Robots.Allowlist[urlkey.Host(it.URL)] {
		return true, nil
	}
	now := e.deps.Now()
	origin := urlkey.Origin(it.URL)
	ent, task, err := e.robots.lookup(it, origin, now)
	switch {
	case err != nil:
		return false, fmt.Errorf("robots.txt of %s: %w", origin, err)
	case task != nil:
		return false, e.robotsFetch(ctx, task, it)
	case ent == nil: // waits for somebody else's task
		return false, e.release(ctx, e.front.Done(it, now, frontier.NotAsked))
	}
	if until, deferred := ent.Deferred(); deferred {
		if err := e.release(ctx, e.front.Done(it, now, frontier.NotAsked)); err != nil {
			return false, err
		}
		return false, e.giveBack(ctx, it.Payload.item, ReleasedRobots, "", until)
	}
	if d := ent.rules.CrawlDelay; d > 0 {
		if e.tooSlow(d) {
			until := now.Add(24 * time.Hour)
			e.hold(it.Queue, until, string(ReleasedCrawlDelay), now)
			if err := e.release(ctx, e.front.Done(it, now, frontier.NotAsked)); err != nil {
				return false, err
			}
			return false, e.giveBack(ctx, it.Payload.item, ReleasedCrawlDelay, "", until)
		}
		e.front.SetDelay(it.Queue, d, now)
		if since := now.Sub(e.born); ent.loaded && since < d {
			e.front.Hold(it.Queue, now.Add(d-since), "start", now)
			return false, e.release(ctx, e.front.PushBack(it, now, false))
		}
	}
	if v := ent.rules.Check(it.URL); !v.Allowed {
		return false, e.deny(ctx, it, v)
	}
	return true, nil
}

// robotsFetch asks for the task's URL on the slot of it, which waits in the task.
func (e *Engine) robotsFetch(ctx context.Context, t *robotsTask, it frontier.Item[job]) error {
	e.Stats.Robots.Add(1)
	req := &protocol.Request{
		URL: t.url, Kind: protocol.Robots, MaxBytes: e.cfg.Robots.ContentLimit, AllowPrivate: e.allowPrivate(t.url),
	}
	e.sheet(req)
	resp, err := e.deps.Fetcher.Fetch(ctx, req)
	now := e.deps.Now()
	if err != nil {
		// The item stays leased; this process can't go on.
		e.front.Done(it, now, frontier.Answered)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // the end of ctx is for Run to report
		}
		return fmt.Errorf("fetch %s: %w", t.url, err)
	}
	back := e.front.Done(it, now, frontier.Answered)
	if err := e.release(ctx, back); err != nil {
		return err
	}
	if e.cfg.StoreRobots && len(t.waiting) > 0 {
		o := e.outcome(Item{Segment: t.waiting[0].Payload.item.Segment, URL: t.url, Key: urlkey.FromURL(t.url)}, resp, now)
		o.Extra = true
		if err := e.deps.Sink(ctx, o); err != nil {
			return err
		}
	}
	if resp.Status.Code == model.ProtocolMoved || resp.Status.Code == model.ProtocolTempMoved {
		if target, ok := robots.Redirect(t.url, resp.Location, t.hops, e.cfg.Robots.Policy); ok {
			t.hops++
			t.url = target
			// The hop waits for its host's turn like any other request.
			return e.release(ctx, e.front.AddFront(now, e.frontItem(target, urlkey.FromURL(target), job{hop: t})))
		}
	}
	return e.finishRobots(ctx, t, resp)
}

// robotsHop carries out a redirect of a robots.txt.
func (e *Engine) robotsHop(ctx context.Context, it frontier.Item[job]) error {
	return e.robotsFetch(ctx, it.Payload.hop, it)
}

// finishRobots ends a task with the last answer, nil when the host can't be asked,
// and lets the items go that waited for it.
func (e *Engine) finishRobots(ctx context.Context, t *robotsTask, resp *protocol.Response) error {
	now := e.deps.Now()
	c := e.robots
	answer := robots.Answer{Status: model.ProtocolStatus{Code: model.ProtocolException, Message: "the host of a redirect can't be asked"}}
	if resp != nil {
		answer = robots.Answer{
			Status: resp.Status, Body: resp.Body, Truncated: resp.Truncated, RetryAfter: min(resp.RetryAfter, e.cfg.RetryAfterMax),
		}
	}
	c.mu.Lock()
	var before *robots.Entry
	if b := c.entries[t.origin]; b != nil {
		before = &b.Entry
	}
	c.mu.Unlock()
	entry := robots.Update(before, answer, now, e.cfg.Robots.Policy)
	failed := ""
	switch {
	case !entry.FailingSince.IsZero():
		failed = entry.Reason
	case answer.Status.HTTP == 0: // such as an address that is refused
		failed = answer.Status.String()
	}
	if err := e.deps.Robots.SaveRobots(hostdb.Robots{
		Origin: t.origin, Status: answer.Status.HTTP, Body: entry.Encode(), Fetched: now, Expires: entry.Expires, Error: failed,
	}); err != nil {
		return fmt.Errorf("store robots.txt of %s: %w", t.origin, err)
	}
	ent := c.entry(entry)
	until, deferred := ent.Deferred()
	c.mu.Lock()
	c.put(t.origin, ent)
	delete(c.tasks, t.origin)
	waiting := t.waiting
	c.mu.Unlock()
	if !deferred {
		if d := ent.rules.CrawlDelay; d > 0 && !e.tooSlow(d) {
			e.front.SetDelay(t.queue, d, now) // from the end of this request on
		}
		slices.Reverse(waiting) // the last one added comes first
		return e.release(ctx, e.front.AddFront(now, waiting...))
	}
	if err := e.deps.Robots.Hold(t.queue, until, string(ReleasedRobots)); err != nil {
		return fmt.Errorf("hold %s: %w", t.queue, err)
	}
	for _, it := range waiting {
		if err := e.giveBack(ctx, it.Payload.item, ReleasedRobots, failed, until); err != nil {
			return err
		}
	}
	return nil
}

// abandonRobots ends a task whose redirect the frontier gave back unasked, at the
// end of a round: nothing was learned, and the items that waited are released too.
func (e *Engine) abandonRobots(ctx context.Context, t *robotsTask, r frontier.Released[job]) error {
	e.robots.mu.Lock()
	delete(e.robots.tasks, t.origin)
	waiting := t.waiting
	e.robots.mu.Unlock()
	for _, it := range waiting {
		o := e.released(frontier.Released[job]{Item: it, Reason: r.Reason, Until: r.Until})
		if err := e.deps.Sink(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

// tooSlow reports whether a crawl delay is longer than the crawler will wait.
func (e *Engine) tooSlow(d time.Duration) bool {
	return e.cfg.MaxCrawlDelay >= 0 && d > e.cfg.MaxCrawlDelay
}

// ruleText says which line of a robots.txt decided.
func ruleText(v robots.Verdict) string {
	if v.Line == 0 {
		return "robots.txt"
	}
	return fmt.Sprintf("robots.txt:%d: %s (for %s)", v.Line, v.Rule, v.Agent)
}
