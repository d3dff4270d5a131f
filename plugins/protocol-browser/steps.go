package protocolbrowser

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// step is something done on a loaded page. Nutch has handlers written in Java for this
// (interactiveselenium.handlers).
type step struct {
	verb     string
	selector string
	text     string         // of type: what; of run: the script
	times    int            // at most
	wait     wait           // of wait
	on       *regexp.Regexp // URLs that the step is for; nil: all
	source   string         // as configured, for messages
}

// maxTimes bounds repeated steps that name no number.
const maxTimes = 50

// parseSteps reads steps in the form of the README.
func parseSteps(list []string) ([]step, error) {
	var out []step
	var on *regexp.Regexp
	for i, text := range list {
		s := step{source: strings.TrimSpace(text), times: maxTimes, on: on}
		verb, rest, _ := strings.Cut(s.source, " ")
		rest = strings.TrimSpace(rest)
		s.verb = verb
		var err error
		switch verb {
		case "on":
			if on, err = regexp.Compile(rest); err != nil {
				return nil, fmt.Errorf("step %d, %q: %w", i+1, text, err)
			}
			continue
		case "scroll", "click", "click_all", "click_while", "type", "wait", "run":
			err = s.parse(rest)
		default:
			err = errors.New("want on, scroll, click, click_all, click_while, type, wait or run")
		}
		if err != nil {
			return nil, fmt.Errorf("step %d, %q: %w", i+1, text, err)
		}
		out = append(out, s)
	}
	return out, nil
}

func (s *step) parse(rest string) (err error) {
	switch s.verb {
	case "scroll":
		if rest != "" {
			if s.times, err = strconv.Atoi(rest); err != nil || s.times < 1 || s.times > 1000 {
				return errors.New("want how often, 1 to 1000")
			}
		}
	case "wait":
		s.wait, err = parseWait(rest)
	case "run":
		if s.text = rest; rest == "" {
			return errors.New("want JavaScript")
		}
	case "type":
		selector, text, ok := strings.Cut(rest, "=>")
		if s.selector, s.text = strings.TrimSpace(selector), strings.TrimSpace(text); !ok || s.selector == "" {
			return errors.New("want a CSS selector, => and a text")
		}
	default:
		if s.selector = rest; rest == "" {
			return errors.New("want a CSS selector")
		}
	}
	return err
}

// act does the steps that the page's URL is for. What can't be done is noted.
func (v *visit) act(ctx context.Context) error {
	for _, s := range v.f.plan.steps {
		if s.on != nil && !s.on.MatchString(v.u.String()) {
			continue
		}
		if !time.Now().Before(v.deadline) {
			v.remark("no time for step " + s.source)
			return nil
		}
		if err := v.step(ctx, s); err != nil {
			var wrong *scriptError
			if !errors.As(err, &wrong) {
				return fmt.Errorf("step %q: %w", s.source, err)
			}
			v.remark("step " + s.source + ": " + wrong.text)
		}
	}
	return nil
}

func (v *visit) step(ctx context.Context, s step) error {
	switch s.verb {
	case "wait":
		_, err := v.wait(ctx, s.wait)
		return err
	case "run":
		return v.then(ctx, false, s.text, nil)
	case "type":
		return v.found(ctx, s, fmt.Sprintf(typeScript, quote(s.selector), quote(s.text)))
	case "click":
		return v.found(ctx, s, fmt.Sprintf(clickScript, quote(s.selector), 0))
	}
	end := v.until()
	last := -1.0
	for i := range s.times {
		var n float64
		var err error
		switch s.verb {
		case "scroll": // until the page grows no more
			err = v.then(ctx, true, scrollScript, &n)
			if err == nil && n == last {
				return nil
			}
			last = n
		case "click_all": // those that are there
			err = v.then(ctx, true, fmt.Sprintf(clickScript, quote(s.selector), i), &n)
		case "click_while": // as long as there is one
			err = v.then(ctx, true, fmt.Sprintf(clickScript, quote(s.selector), 0), &n)
		}
		if err != nil || n == 0 {
			return err
		}
		if !time.Now().Before(end) {
			v.remark("step " + s.source + " was cut short")
			return nil
		}
	}
	return nil
}

// found does something with one element, and notes when there is none.
func (v *visit) found(ctx context.Context, s step, script string) error {
	var n float64
	if err := v.then(ctx, true, script, &n); err != nil {
		return err
	}
	if n == 0 {
		v.remark("step " + s.source + ": no such element")
	}
	return nil
}

// then runs a script, with the time of a wait, and lets what it started come to rest.
func (v *visit) then(ctx context.Context, own bool, script string, out any) error {
	limited, cancel := context.WithDeadline(ctx, v.until())
	err := v.script(limited, own, script, out)
	timedOut := limited.Err() != nil && ctx.Err() == nil
	cancel()
	if err != nil {
		if timedOut {
			return &scriptError{"took longer than wait_timeout"}
		}
		return err
	}
	_, err = v.idle(ctx, v.until())
	return err
}

// Elements that are not shown or disabled are not clicked, as nobody could.
const clickScript = `(() => {
	const l = [...document.querySelectorAll(%s)].filter(e => !e.disabled && (e.offsetParent !== null || e.getClientRects().length > 0));
	const e = l[%d];
	if (!e) return 0;
	e.scrollIntoView({block: 'center'});
	e.click();
	return 1;
})()`

const scrollScript = `(() => {
	const e = document.scrollingElement || document.documentElement;
	window.scrollTo(0, e.scrollHeight);
	return e.scrollHeight;
})()`

const typeScript = `(() => {
	const e = document.querySelector(%s);
	if (!e) return 0;
	e.focus();
	const p = e instanceof HTMLTextAreaElement ? HTMLTextAreaElement.prototype : e instanceof HTMLSelectElement ? HTMLSelectElement.prototype : HTMLInputElement.prototype;
	const d = Object.getOwnPropertyDescriptor(p, 'value');
	if (d && d.set && e instanceof HTMLElement && 'value' in e) d.set.call(e, %s); else e.textContent = %[2]s;
	e.dispatchEvent(new Event('input', {bubbles: true}));
	e.dispatchEvent(new Event('change', {bubbles: true}));
	return 1;
})()`
