package protocolbrowser

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"

	"github.com/gonutch/crawler/sdk/extension/protocol"
	"github.com/gonutch/crawler/sdk/model"
)

// visit is one page from its request to its content. The goroutine of run waits and acts;
// that of watch answers the browser's events. They share what the lock guards.
type visit struct {
	f        *Fetcher
	req      *protocol.Request
	out      *protocol.Response
	u        *url.URL
	g        *gate
	deadline time.Time // of waits and steps; the content is taken after it

	t     *chromedp.Target
	frame cdp.FrameID

	end    func()        // ends the page's context
	events chan struct{} // says that the queue has something

	mu       sync.Mutex
	queue    []any
	changed  chan struct{}      // closed and replaced when the state below changes
	asked    bool               // the page's own request has gone out
	answered bool               // its answer is a page that is being shown
	decided  bool               // answer is final, whatever the page does
	answer   *protocol.Response // never changed once it is here
	crashed  bool
	steps    bool // no navigation counts as a redirect any more
	dom      bool
	loaded   bool
	reloads  int
	inflight map[string]bool
	quiet    time.Time // since when nothing is under way
	requests int
	hosts    map[string]int // other hosts' requests
	refused  map[string]int // requests not made, by reason
	notes    []string
	method   string
	sent     network.Headers
	proto    string
}

// errEnded is a browser or page that ended under a visit.
var errEnded = errors.New("the browser ended")

// contentGrace is how long taking the content may go on after the page's time.
const contentGrace = 8 * time.Second

func (v *visit) run(parent context.Context, c *chrome) error {
	ctx, cancel := chromedp.NewContext(c.ctx,
		chromedp.WithNewBrowserContext(func(p *target.CreateBrowserContextParams) {
			p.ProxyServer, p.ProxyBypassList = v.g.proxy(), "<-loopback>"
		}),
		chromedp.WithListener(v.note))
	defer func() { _ = chromedp.Cancel(ctx) }()
	defer cancel()
	v.end = cancel
	hard := time.AfterFunc(time.Until(v.deadline)+contentGrace, cancel)
	defer hard.Stop()
	defer context.AfterFunc(parent, cancel)()

	_, err := chromedp.Run(ctx, func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		v.t, v.frame = t, cdp.FrameID(t.TargetID)
		return chromedp.Void{}, v.prepare(ctx)
	})
	if err != nil {
		return v.lost(parent, c, fmt.Errorf("open a page: %w", err))
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	wg.Go(func() { v.watch(ctx) })
	shown := make(chan error, 1)
	wg.Go(func() {
		res, err := cdp.Call(ctx, v.t, page.Navigate, page.NavigateParams{URL: v.u.String()})
		if err == nil && res.ErrorText != "" {
			err = errors.New(res.ErrorText)
		}
		shown <- err
	})
	if err := v.show(ctx, shown); err != nil {
		return v.lost(parent, c, err)
	}
	v.report()
	return nil
}

// lost turns the end of the page's context into an outcome, unless the caller ended it.
func (v *visit) lost(parent context.Context, c *chrome, err error) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch {
	case parent.Err() != nil:
		return parent.Err()
	case v.decided:
		v.handOver()
	case v.crashed:
		failed(v.out, model.ProtocolException, "the page's process crashed")
	case c.ctx.Err() != nil:
		failed(v.out, model.ProtocolException, "%v while the page was open", errEnded)
	case !time.Now().Before(v.deadline):
		failed(v.out, model.ProtocolException, "the page did not come to an end within page_timeout (%s): %v", v.f.cfg.Own.PageTimeout, err)
	default:
		failed(v.out, model.ProtocolException, "%v", err)
	}
	return nil
}

// prepare sets up the page before its first request.
func (v *visit) prepare(ctx context.Context) error {
	f, all := v.f, "*"
	yes := true
	calls := []func() error{
		func() error {
			return call(ctx, v.t, fetch.Enable, fetch.EnableParams{Patterns: []*fetch.RequestPattern{
				{URLPattern: all, RequestStage: fetch.RequestStageRequest},
				{URLPattern: all, ResourceType: network.ResourceTypeDocument, RequestStage: fetch.RequestStageResponse},
			}})
		},
		func() error {
			return call(ctx, v.t, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
				Width: f.plan.width, Height: f.plan.height, DeviceScaleFactor: 1,
			})
		},
		func() error {
			return call(ctx, v.t, emulation.SetUserAgentOverride, emulation.SetUserAgentOverrideParams{
				UserAgent: f.pool.ua, AcceptLanguage: languages(f.cfg.HTTP.AcceptLanguage),
			})
		},
		func() error {
			return call(ctx, v.t, network.SetBypassServiceWorker, network.SetBypassServiceWorkerParams{Bypass: true})
		},
		func() error {
			return call(ctx, v.t, browser.SetDownloadBehavior, browser.SetDownloadBehaviorParams{
				Behavior: browser.SetDownloadBehaviorBehaviorDeny, BrowserContextID: chromedp.FromContext(ctx).BrowserContextID,
			})
		},
		func() error {
			return call(ctx, v.t, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !f.cfg.Own.JavaScript})
		},
		func() error {
			// UDP and background lives are no business of a crawled page.
			_, err := cdp.Call(ctx, v.t, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{
				Source: hideScript, RunImmediately: &yes,
			})
			return err
		},
	}
	if f.plan.blockSockets {
		calls = append(calls, func() error {
			return call(ctx, v.t, network.SetBlockedURLs, network.SetBlockedURLsParams{URLPatterns: []*network.BlockPattern{
				{URLPattern: "ws://*:*/*", Block: true}, {URLPattern: "wss://*:*/*", Block: true},
			}})
		})
	}
	for _, c := range calls {
		if err := c(); err != nil {
			return err
		}
	}
	return nil
}

const hideScript = `for (const n of ['RTCPeerConnection','webkitRTCPeerConnection','WebTransport','SharedWorker']) { try { delete self[n] } catch (e) {} }
window.open = () => null
try { Object.defineProperty(Navigator.prototype, 'serviceWorker', {get: () => undefined, configurable: false}) } catch (e) {}`

// call is cdp.Call for commands whose result is nothing.
func call[P, R any](ctx context.Context, s cdp.Session, c cdp.Command[P, R], params P) error {
	_, err := cdp.Call(ctx, s, c, params)
	return err
}

// show waits for the answer, and for the page to be ready, and takes its content.
func (v *visit) show(ctx context.Context, shown <-chan error) error {
	var navigated error
	finished := false
	for !v.is(func() bool { return v.decided || v.answered || v.crashed }) && !finished {
		ch := v.change()
		select {
		case navigated = <-shown:
			finished = true
		case <-ch:
		case <-time.After(time.Until(v.deadline)):
			failed(v.out, model.ProtocolException, "no answer within page_timeout (%s)", v.f.cfg.Own.PageTimeout)
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	switch {
	case v.settled():
		return nil
	case v.is(func() bool { return v.crashed }):
		return errEnded
	case !v.is(func() bool { return v.answered }):
		v.unreachable(navigated)
		return nil
	}
	for _, w := range v.f.plan.wait {
		if done, err := v.wait(ctx, w); err != nil || done {
			return err
		}
	}
	v.mu.Lock()
	v.steps = true
	v.mu.Unlock()
	if err := v.act(ctx); err != nil {
		return err
	}
	if v.settled() {
		return nil
	}
	return v.take(ctx)
}

// settled reports whether the visit has its outcome, and hands it over.
func (v *visit) settled() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.decided {
		v.handOver()
	}
	return v.decided
}

// handOver makes the answer the visit's response; the lock is held.
func (v *visit) handOver() {
	url, start := v.out.URL, v.out.FetchTime
	*v.out = *v.answer
	v.out.URL, v.out.FetchTime, v.out.Protocol = url, start, v.proto
}

// unreachable describes a page that no answer came for.
func (v *visit) unreachable(navigated error) {
	_, err := v.g.peer(hostPort(v.u))
	switch {
	case err != nil && isRefusal(err):
		failed(v.out, model.ProtocolAccessDenied, "%v", err)
	case err != nil:
		failed(v.out, model.ProtocolException, "%v", err)
	case navigated != nil:
		failed(v.out, model.ProtocolException, "%v", navigated)
	default:
		failed(v.out, model.ProtocolException, "no answer")
	}
}

// is asks for the state under the lock.
func (v *visit) is(f func() bool) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return f()
}

// change returns a channel that closes at the next change of the state.
func (v *visit) change() <-chan struct{} {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.changed
}

// touch says that the state changed; the lock is held.
func (v *visit) touch() {
	close(v.changed)
	v.changed = make(chan struct{})
}

// script runs an expression and decodes its value into out, when that is not nil. In a
// world of its own, a page's changes to the DOM's functions do not count.
func (v *visit) script(ctx context.Context, own bool, expression string, out any) error {
	p := runtime.EvaluateParams{Expression: expression}
	yes := true
	p.ReturnByValue, p.AwaitPromise = &yes, &yes
	if own {
		w, err := cdp.Call(ctx, v.t, page.CreateIsolatedWorld, page.CreateIsolatedWorldParams{FrameID: v.frame, WorldName: "crawler"})
		if err != nil {
			return err
		}
		p.ContextID = w.ExecutionContextID
	}
	res, err := cdp.Call(ctx, v.t, runtime.Evaluate, p)
	if err != nil {
		return err
	}
	if d := res.ExceptionDetails; d != nil {
		text := d.Text
		if d.Exception != nil && d.Exception.Description != "" {
			text = d.Exception.Description
		}
		return &scriptError{text}
	}
	if out == nil || res.Result == nil {
		return nil
	}
	return json.Unmarshal(res.Result.Value, out)
}

// scriptError is an exception of JavaScript.
type scriptError struct{ text string }

func (e *scriptError) Error() string { return e.text }
