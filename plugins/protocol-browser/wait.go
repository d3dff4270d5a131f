package protocolbrowser

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// wait is one thing to be waited for.
type wait struct {
	kind     string        // load, dom, idle, selector, gone, time
	selector string        // of selector and gone
	time     time.Duration // of time
}

// parseWait reads "load", "dom", "idle", "selector CSS", "gone CSS" or a duration.
func parseWait(s string) (wait, error) {
	kind, rest, _ := strings.Cut(strings.TrimSpace(s), " ")
	rest = strings.TrimSpace(rest)
	switch kind {
	case "load", "dom", "idle":
		if rest != "" {
			return wait{}, fmt.Errorf("%q: %s takes nothing", s, kind)
		}
		return wait{kind: kind}, nil
	case "selector", "gone":
		if rest == "" {
			return wait{}, fmt.Errorf("%q: want a CSS selector after %s", s, kind)
		}
		return wait{kind: kind, selector: rest}, nil
	}
	d, err := time.ParseDuration(kind)
	if err != nil || d <= 0 || rest != "" {
		return wait{}, fmt.Errorf("%q: want load, dom, idle, selector CSS, gone CSS or a time such as 500ms", s)
	}
	return wait{kind: "time", time: d}, nil
}

func (w wait) String() string {
	switch w.kind {
	case "selector", "gone":
		return w.kind + " " + w.selector
	case "time":
		return w.time.String()
	}
	return w.kind
}

// until is when a wait or step that begins now is given up.
func (v *visit) until() time.Time {
	return minTime(v.deadline, time.Now().Add(v.f.cfg.Own.WaitTimeout.D()))
}

// wait waits for w, at most as long as a wait may take: what does not come is noted and
// no failure. It is true when the visit has its outcome meanwhile.
func (v *visit) wait(ctx context.Context, w wait) (bool, error) {
	end := v.until()
	var came bool
	var err error
	switch w.kind {
	case "load":
		came, err = v.await(ctx, end, func() bool { return v.loaded })
	case "dom":
		came, err = v.await(ctx, end, func() bool { return v.dom })
	case "idle":
		came, err = v.idle(ctx, end)
	case "time":
		_, err = v.await(ctx, minTime(v.deadline, time.Now().Add(w.time)), func() bool { return false })
		came = true
	default:
		came, err = v.element(ctx, end, w)
	}
	if err != nil {
		return false, err
	}
	if v.settled() {
		return true, nil
	}
	if !came {
		v.remark("waited in vain for " + w.String())
	}
	return false, nil
}

// await waits until f, called under the lock, is true or the outcome is there; false when
// time is up.
func (v *visit) await(ctx context.Context, end time.Time, f func() bool) (bool, error) {
	timer := time.NewTimer(time.Until(end))
	defer timer.Stop()
	for {
		ch := v.change()
		switch {
		case v.is(func() bool { return v.crashed }):
			return false, errEnded
		case v.is(func() bool { return v.decided || f() }):
			return true, nil
		}
		select {
		case <-ch:
		case <-timer.C:
			return false, nil
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
}

// idle waits until nothing has been under way for a while.
func (v *visit) idle(ctx context.Context, end time.Time) (bool, error) {
	quiet := v.f.cfg.Own.IdleTime.D()
	begun := time.Now()
	for {
		if came, err := v.await(ctx, end, func() bool { return len(v.inflight) == 0 }); !came || err != nil {
			return came, err
		}
		var since time.Time
		if v.is(func() bool { since = v.quiet; return v.decided }) {
			return true, nil
		}
		if since.Before(begun) {
			since = begun
		}
		rest := time.Until(since.Add(quiet))
		if rest <= 0 {
			return true, nil
		}
		stop := minTime(end, time.Now().Add(rest))
		if busy, err := v.await(ctx, stop, func() bool { return len(v.inflight) > 0 }); err != nil {
			return false, err
		} else if !busy && !stop.Before(end) {
			return false, nil
		}
	}
}

const elementScript = `new Promise(done => {
	const s = %s, want = %t, now = () => !!document.querySelector(s) === want;
	if (now()) return done(true);
	const o = new MutationObserver(() => { if (now()) { o.disconnect(); done(true) } });
	o.observe(document, {childList: true, subtree: true, attributes: true});
})`

// element waits for an element, or for its absence.
func (v *visit) element(ctx context.Context, end time.Time, w wait) (bool, error) {
	text := fmt.Sprintf(elementScript, quote(w.selector), w.kind == "selector")
	for {
		limited, cancel := context.WithDeadline(ctx, end)
		err := v.script(limited, true, text, nil)
		cancel()
		var wrong *scriptError
		switch {
		case err == nil, v.is(func() bool { return v.decided }):
			return true, nil
		case ctx.Err() != nil:
			return false, ctx.Err()
		case !time.Now().Before(end):
			return false, nil
		case errors.As(err, &wrong):
			v.remark(w.String() + ": " + wrong.text)
			return true, nil
		}
		// The page loads itself again; its new document has the next world.
		if _, err := v.await(ctx, minTime(end, time.Now().Add(50*time.Millisecond)), func() bool { return false }); err != nil {
			return false, err
		}
	}
}

// quote is s as a JavaScript string.
func quote(s string) string {
	b, _ := json.Marshal(s) // strings always work
	return string(b)
}
