package query

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gonutch/crawler/core/internal/urlkey"
	"github.com/gonutch/crawler/sdk/model"
)

// will tells in sentences what happens next with the URL.
func (e *Explanation) will(s *Source) []string {
	var out []string
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	e.willLink(say)
	if e.Record == nil {
		e.willBegin(s, say)
		return out
	}
	e.willFetch(s, say)
	e.willIndex(say)
	return out
}

type sayer func(format string, args ...any)

// dropped is the step that ends the URL's way as a link, or nil.
func (e *Explanation) dropped() (plugin, reason string, ok bool) {
	if e.Normal != "" || len(e.Steps) == 0 {
		return "", "", false
	}
	last := e.Steps[len(e.Steps)-1]
	return last.Plugin, last.Reason, true
}

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return " (" + reason + ")"
}

func (e *Explanation) willLink(say sayer) {
	plugin, reason, dropped := e.dropped()
	switch {
	case dropped && e.Record != nil:
		say("links to it are dropped by %s%s; the record, which was there before, stays until \"crawler db refilter\" removes it", plugin, because(reason))
	case dropped:
		say("links to it are dropped by %s%s: it never gets into the CrawlDB", plugin, because(reason))
	case e.Normal != e.Asked:
		say("links to it become links to %s", e.Normal)
	}
}

// willBegin is about a URL that has no record.
func (e *Explanation) willBegin(s *Source, say sayer) {
	if _, _, dropped := e.dropped(); dropped {
		return
	}
	if e.Pending != nil {
		say("it was found in pages and is added to the CrawlDB before the next fetch list is made")
		return
	}
	followed := slices.ContainsFunc(e.Scope, func(l LinkScope) bool { return l.Verdict == "followed" || l.Verdict == "exempt" })
	switch {
	case len(e.Scope) > 0 && !followed:
		say("pages link to it, but all these links are %s ones, which db.ignore_%s_links leaves out: it stays out of the CrawlDB", e.Scope[0].Verdict, e.Scope[0].Verdict)
	case len(e.Scope) > 0:
		say("pages link to it, but it has no record: it was removed, or db.update_additions_allowed is off")
	default:
		say("no crawled page links to it: it gets into the CrawlDB as a seed (crawler inject) or when a page that links to it is crawled")
	}
	if scheme, ok := served(s, e.URL); !ok {
		say("then its fetch fails: no protocol plugin is chosen for %s", scheme)
		return
	}
	e.willRobots(say, "then ")
}

func (e *Explanation) willRobots(say sayer, then string) {
	r := e.Robots
	switch {
	case r == nil:
	case r.State == "unknown":
		say("%s%s/robots.txt is asked for first", then, r.Origin)
	case r.State == "unreachable" && !r.Allowed:
		say("%s%s/robots.txt can't be had (%s): its host waits; it is asked for again at %s", then, r.Origin, r.Reason, clock(r.Expires))
	case !r.Allowed && r.Line == 0:
		say("%sit is not requested: %s/robots.txt is %s (%s)", then, r.Origin, r.State, r.Reason)
	case !r.Allowed:
		say("%sit is not requested: robots.txt:%d forbids it: %s (for %s)", then, r.Line, r.Rule, r.Agent)
	}
}

// span writes seconds; whole days as such.
func span(seconds int64) string {
	if seconds > 0 && seconds%86400 == 0 {
		return fmt.Sprintf("%d days", seconds/86400)
	}
	return (time.Duration(seconds) * time.Second).String()
}

func clock(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// willFetch is about the next fetch of a URL with a record.
func (e *Explanation) willFetch(s *Source, say sayer) {
	r := e.Record
	if page := r.InsideOf(e.URL); page != "" {
		say("it is inside of %s: it changes with that page, and is never fetched itself", page)
		return
	}
	switch e.Next {
	case "leased":
		if f, err := s.Crawl.Segs.GetFetch(e.Leased, urlkey.FromURL(e.URL)); err == nil && f != nil {
			say("it was fetched in segment %s: its outcome is applied by the crawl that runs, or else by the next run or updatedb", e.Leased)
			return
		}
		say("it is in the fetch list of segment %s: the crawl that runs, or else the next run, fetches it", e.Leased)
	case "waiting":
		say("it is not fetched before %s%s", clock(r.FetchTime), e.whyThen())
	case "held":
		h := e.Host.Holds[0]
		say("it is due, but %s is held back until %s: %s", h.Queue, clock(h.Until), h.Reason)
	case "due":
		if v := e.sheetValue("max_count"); v != nil && v.Value == "0" {
			say("it is due, but sheet %q (%s) takes no URL of its host", v.Sheet, v.Place)
			return
		}
		say("it is due%s", e.placeText())
	}
	if scheme, ok := served(s, e.URL); !ok {
		say("its fetch fails: no protocol plugin is chosen for %s", scheme)
		return
	}
	e.willRobots(say, "")
	if v := e.sheetValue("crawl_delay"); v != nil {
		say("sheet %q wants %s between two requests to its host", v.Sheet, v.Value)
	}
	if e.Host != nil && e.Host.DelaySeconds > 0 {
		say("robots.txt asks for %gs between two requests to its host", e.Host.DelaySeconds)
	}
}

// whyThen says what put the next fetch where it is.
func (e *Explanation) whyThen() string {
	r := e.Record
	switch {
	case r.Retries > 0:
		return fmt.Sprintf(": its last fetch failed, %d in a row (%s)", r.Retries, r.Protocol)
	case r.StatusName == model.StatusDBGone.String():
		return fmt.Sprintf(": it is gone (%s) and is looked at again then", r.Protocol)
	case r.FixedInterval:
		return fmt.Sprintf(": its seed fixed an interval of %s", span(r.IntervalSeconds))
	case r.PrevFetchTime.IsZero() && e.Host != nil && len(e.Host.Holds) > 0:
		return ": its host is held back (" + e.Host.Holds[0].Reason + ")"
	case r.PrevFetchTime.IsZero() && e.Host != nil && e.Host.FailuresInRow > 0:
		return fmt.Sprintf(": its host failed %d times in a row", e.Host.FailuresInRow)
	case r.PrevFetchTime.IsZero():
		return ""
	}
	text := fmt.Sprintf(": fetched %s, interval %s", clock(r.PrevFetchTime), span(r.IntervalSeconds))
	f := r.Freshness
	switch {
	case f == nil || e.Fresh == nil:
	case f.Visits == 0:
		text += fmt.Sprintf(", as nobody knows yet how often it changes (freshness %q wants a mean age of %v)", f.Target, e.Fresh.Wanted)
	default:
		text += fmt.Sprintf(", as it changes about %.3g times a day and freshness %q wants a mean age of %v", f.ChangesPerDay, f.Target, e.Fresh.Wanted)
	}
	if f != nil && e.Fresh != nil && e.Fresh.Stretch > 0 {
		text += fmt.Sprintf(", lengthened %.3g times to keep its budget of %g visits a day", e.Fresh.Stretch, e.Fresh.Budget)
	}
	return text
}

// sheetValue returns what a sheet sets, or nil.
func (e *Explanation) sheetValue(key string) *SheetValue {
	for i := range e.Sheets {
		if e.Sheets[i].Setting == key {
			return &e.Sheets[i]
		}
	}
	return nil
}

func (e *Explanation) placeText() string {
	p := e.Queue
	if p == nil {
		return ": it goes into a next fetch list"
	}
	more := ""
	if p.More {
		more = "at least "
	}
	text := fmt.Sprintf(": %s%d URLs with a better score go before it, %d are equal, %d of both share its queue %s", more, p.Ahead, p.Equal, p.SameHost, p.Queue)
	if p.MaxCount > 0 {
		text += fmt.Sprintf(", of which a round takes %d", p.MaxCount)
	}
	return text
}

// redirects returns where the page leads instead of having content, or "".
func (e *Explanation) redirects() string {
	switch e.Record.StatusName {
	case model.StatusDBRedirPerm.String(), model.StatusDBRedirTemp.String():
		if n := len(e.History); n > 0 {
			return e.History[n-1].Fetch.Location
		}
	}
	return ""
}

// willIndex is about the page's document.
func (e *Explanation) willIndex(say sayer) {
	d := e.Document
	var held, lacking []string
	for _, w := range e.Index {
		switch {
		case w.Refused != "":
			say("index writer %s refused its document: %s", w.Writer, w.Refused)
		case w.Pending:
			say("index writer %s still has to be sent it%s", w.Writer, because(w.Why))
		case w.Held:
			held = append(held, w.Writer)
		}
	}
	if d == nil {
		if e.Record.StatusName == model.StatusDBUnfetched.String() {
			say("it is not in the index: it was not fetched yet")
		}
		return
	}
	to := e.redirects()
	switch {
	case !d.Indexed && to != "":
		say("it is not in the index: it redirects to %s, which is a page of its own", to)
	case !d.Indexed && e.Record.DuplicateOf != "":
		say("it is not in the index: it has the content of %s, which is kept", e.Record.DuplicateOf)
	case !d.Indexed && d.Delete && len(held) > 0:
		say("the next index step deletes its document from %s: %s", strings.Join(held, ", "), d.Why)
	case !d.Indexed:
		say("it is not in the index: %s", d.Why)
	default:
		for _, w := range d.Writers {
			if !slices.ContainsFunc(e.Index, func(x Indexed) bool { return x.Writer == w }) {
				lacking = append(lacking, w)
			}
		}
		if len(held) > 0 {
			say("its document is in %s", strings.Join(held, ", "))
		}
		if len(lacking) > 0 {
			say("the next index step sends its document to %s", strings.Join(lacking, ", "))
		}
	}
}
