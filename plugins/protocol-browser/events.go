package protocolbrowser

import (
	"context"
	"fmt"
	"net/http"
	"net/textproto"
	"net/url"
	"strings"
	"time"

	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/inspector"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"

	"github.com/gonutch/crawler/plugins/internal/libaddr"
	"github.com/gonutch/crawler/plugins/internal/libhttp"
	"github.com/gonutch/crawler/sdk/extension/protocol"
	"github.com/gonutch/crawler/sdk/model"
)

// note queues an event; chromedp calls it and must not be kept waiting.
func (v *visit) note(ev any) {
	switch ev.(type) {
	case *fetch.EventRequestPaused, *network.EventRequestWillBeSent, *network.EventLoadingFinished, *network.EventLoadingFailed,
		*network.EventResponseReceived, *network.EventWebSocketCreated, *page.EventLoadEventFired, *page.EventDomContentEventFired,
		*page.EventJavascriptDialogOpening, *inspector.EventTargetCrashed:
	default:
		return
	}
	v.mu.Lock()
	v.queue = append(v.queue, ev)
	if _, crashed := ev.(*inspector.EventTargetCrashed); crashed {
		v.crashed = true
		v.end() // nothing that waits for the page's process is answered any more
	}
	v.mu.Unlock()
	select {
	case v.events <- struct{}{}:
	default:
	}
}

// watch answers events until ctx ends.
func (v *visit) watch(ctx context.Context) {
	for {
		select {
		case <-v.events:
		case <-ctx.Done():
			return
		}
		v.mu.Lock()
		queue := v.queue
		v.queue = nil
		v.mu.Unlock()
		for _, ev := range queue {
			v.handle(ctx, ev)
		}
	}
}

func (v *visit) handle(ctx context.Context, ev any) {
	switch ev := ev.(type) {
	case *fetch.EventRequestPaused:
		if ev.ResponseStatusCode != 0 || ev.ResponseErrorReason != "" {
			v.response(ctx, ev)
		} else {
			v.request(ctx, ev)
		}
		return
	case *page.EventJavascriptDialogOpening:
		_ = call(ctx, v.t, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{Accept: ev.Type == page.DialogTypeBeforeunload})
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	switch ev := ev.(type) {
	case *network.EventRequestWillBeSent:
		if !strings.HasPrefix(ev.Request.URL, "data:") && !strings.HasPrefix(ev.Request.URL, "blob:") && ev.Type != network.ResourceTypeEventSource {
			v.inflight[string(ev.RequestID)] = true
		}
	case *network.EventLoadingFinished:
		v.over(string(ev.RequestID))
	case *network.EventLoadingFailed:
		v.over(string(ev.RequestID))
	case *network.EventResponseReceived:
		if ev.Type == network.ResourceTypeDocument && ev.FrameID == v.frame && ev.Response != nil {
			v.proto = ev.Response.Protocol
		}
		return
	case *network.EventWebSocketCreated:
		v.count(ev.URL)
	case *page.EventDomContentEventFired:
		v.dom = v.answered
	case *page.EventLoadEventFired:
		v.loaded, v.dom = v.answered, v.answered
	}
	v.touch()
}

// over notes the end of a sub-request; the lock is held.
func (v *visit) over(id string) {
	delete(v.inflight, id)
	if len(v.inflight) == 0 {
		v.quiet = time.Now()
	}
}

// count notes a sub-request to a URL; the lock is held.
func (v *visit) count(rawURL string) {
	v.requests++
	if u, err := url.Parse(rawURL); err == nil && u.Host != "" && !strings.EqualFold(u.Hostname(), v.u.Hostname()) {
		if host := strings.ToLower(u.Hostname()); len(v.hosts) < 1000 || v.hosts[host] > 0 {
			v.hosts[host]++
		}
	}
}

func (v *visit) fail(ctx context.Context, id fetch.RequestID, why network.ErrorReason) {
	_ = call(ctx, v.t, fetch.FailRequest, fetch.FailRequestParams{RequestID: id, ErrorReason: why})
}

// request decides about a request that the page is about to make.
func (v *visit) request(ctx context.Context, ev *fetch.EventRequestPaused) {
	if ev.ResourceType == network.ResourceTypeDocument && ev.FrameID == v.frame {
		v.navigation(ctx, ev)
		return
	}
	v.mu.Lock()
	why := v.refuse(ev)
	if why != "" {
		v.refused[why]++
	}
	v.touch()
	v.mu.Unlock()
	if why != "" {
		v.fail(ctx, ev.RequestID, network.ErrorReasonBlockedByClient)
		return
	}
	_ = call(ctx, v.t, fetch.ContinueRequest, fetch.ContinueRequestParams{RequestID: ev.RequestID})
}

// refuse returns why a sub-request is not made, "" when it is; the lock is held.
func (v *visit) refuse(ev *fetch.EventRequestPaused) string {
	if v.f.plan.block[ev.ResourceType] {
		return "block " + strings.ToLower(string(ev.ResourceType))
	}
	for _, re := range v.f.plan.blockURLs {
		if re.MatchString(ev.Request.URL) {
			return "block_urls"
		}
	}
	u, err := url.Parse(ev.Request.URL)
	if err == nil && ev.ResourceType == network.ResourceTypeOther && u.Path == "/favicon.ico" {
		return "favicon" // asked for by the browser, not by the page
	}
	if err != nil || u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "data" && u.Scheme != "blob" {
		return "scheme"
	}
	if u.Host != "" {
		own, _, _ := libaddr.CanonicalHost(v.u.Hostname())
		host, _, err := libaddr.CanonicalHost(u.Hostname())
		if err != nil || v.f.mayLoad(own, host) != nil {
			return "subrequests"
		}
	}
	if v.requests >= v.f.cfg.Own.MaxRequests {
		return "max_requests"
	}
	if u.Scheme != "data" && u.Scheme != "blob" {
		v.count(ev.Request.URL)
	}
	return ""
}

// navigation decides about a request for the page's own document: the first one, one that
// loads the page again, or one that leads elsewhere, which is a redirect.
func (v *visit) navigation(ctx context.Context, ev *fetch.EventRequestPaused) {
	params := fetch.ContinueRequestParams{RequestID: ev.RequestID}
	v.mu.Lock()
	first := !v.asked
	again := v.asked && ev.Request.Method == http.MethodGet && sameDocument(ev.Request.URL, v.u)
	switch {
	case first:
		v.asked = true
		params.Headers = v.conditions(ev.Request.Headers)
		v.method, v.sent = ev.Request.Method, ev.Request.Headers
	case v.decided:
		again = false
	case again && v.reloads < v.f.cfg.Own.MaxReloads:
		v.reloads++
		v.dom, v.loaded = false, false
	case again:
		again = false
		v.refused["max_reloads"]++
		v.dom, v.loaded = true, true // its parser stops with the attempt
	case v.steps || ev.Request.Method != http.MethodGet:
		v.refused["navigation"]++
		v.dom, v.loaded = true, true
	default:
		v.decided = true
		moved := protocol.Response{Location: ev.Request.URL + ev.Request.URLFragment}
		moved.Status = model.ProtocolStatus{Code: model.ProtocolTempMoved, Message: moved.Location}
		if a := v.answer; a != nil { // the head is that of the page that led there
			moved.Status.HTTP, moved.Headers, moved.IP = a.Status.HTTP, a.Headers, a.IP
			moved.RawRequest, moved.RawResponse = a.RawRequest, a.RawResponse
		}
		v.answer = &moved
	}
	v.touch()
	v.mu.Unlock()
	if !first && !again {
		// No content leaves the page as it is.
		_ = call(ctx, v.t, fetch.FulfillRequest, fetch.FulfillRequestParams{RequestID: ev.RequestID, ResponseCode: http.StatusNoContent})
		return
	}
	_ = call(ctx, v.t, fetch.ContinueRequest, params)
}

// sameDocument reports whether the browser's URL is u, fragments aside.
func sameDocument(rawURL string, u *url.URL) bool {
	o, err := url.Parse(rawURL)
	if err != nil || o.Scheme != u.Scheme || hostPort(o) != hostPort(u) {
		return false
	}
	path := func(u *url.URL) string {
		if p := u.EscapedPath(); p != "" {
			return p
		}
		return "/"
	}
	return path(o) == path(u) && o.RawQuery == u.RawQuery
}

// conditions returns the headers with those that make the request conditional, with
// the cookie of the record and with those that the request names; nil when nothing is added.
func (v *visit) conditions(sent network.Headers) []*fetch.HeaderEntry {
	add := map[string]string{}
	if v.f.cfg.Own.Conditional {
		if v.f.cfg.HTTP.EnableIfModifiedSince {
			add["If-Modified-Since"] = v.req.LastModified
		}
		if v.f.cfg.HTTP.EnableETag {
			add["If-None-Match"] = v.req.ETag
		}
	}
	if v.f.cfg.HTTP.Cookies {
		add["Cookie"] = v.req.Metadata.First("Cookie")
	}
	for name := range v.req.Headers {
		add[name] = v.req.Headers.First(name)
	}
	var extra []*fetch.HeaderEntry
	for name, value := range add {
		if value != "" && !strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			extra = append(extra, &fetch.HeaderEntry{Name: name, Value: value})
		}
	}
	if extra == nil {
		return nil
	}
	for name, value := range sent {
		if _, ours := v.req.Headers[textproto.CanonicalMIMEHeaderKey(name)]; ours {
			continue
		}
		if s, ok := value.(string); ok {
			extra = append(extra, &fetch.HeaderEntry{Name: name, Value: s})
		}
	}
	return extra
}

// response takes the answer for a document: that of a frame goes on; the page's own is
// shown only when it is HTML and a success.
func (v *visit) response(ctx context.Context, ev *fetch.EventRequestPaused) {
	mine := ev.FrameID == v.frame && ev.ResourceType == network.ResourceTypeDocument
	if !mine || ev.ResponseErrorReason != "" || v.is(func() bool { return v.decided }) {
		_ = call(ctx, v.t, fetch.ContinueRequest, fetch.ContinueRequestParams{RequestID: ev.RequestID})
		return
	}
	ans := v.head(ev)
	show := false
	switch {
	case ans.Status.Code == model.ProtocolMoved, ans.Status.Code == model.ProtocolTempMoved:
		if ans.Location = libhttp.Resolve(v.u, ans.Headers.First("Location")); ans.Location == "" {
			ans.Status.Code, ans.Status.Message = model.ProtocolException, "a redirect without a usable Location"
		} else {
			ans.Status.Message = ans.Location
		}
	case ans.Status.Code == model.ProtocolSuccess && isHTML(ans.Headers):
		show = true
	case ans.Status.Code == model.ProtocolNotModified:
	default:
		v.raw(ctx, ev, ans)
	}
	v.mu.Lock()
	v.answer, v.answered, v.decided = ans, show, !show
	v.touch()
	v.mu.Unlock()
	if show {
		_ = call(ctx, v.t, fetch.ContinueRequest, fetch.ContinueRequestParams{RequestID: ev.RequestID})
		return
	}
	v.fail(ctx, ev.RequestID, network.ErrorReasonAborted)
}

// head returns what the head of an answer says.
func (v *visit) head(ev *fetch.EventRequestPaused) *protocol.Response {
	ans := &protocol.Response{Headers: model.Metadata{}}
	for _, h := range ev.ResponseHeaders {
		ans.Headers.Add(textproto.CanonicalMIMEHeaderKey(h.Name), h.Value)
	}
	ans.ContentType = ans.Headers.First("Content-Type")
	status := int(ev.ResponseStatusCode)
	ans.Status = model.ProtocolStatus{Code: libhttp.CodeOf(status, v.f.cfg.Own.Conditional && v.req.LastModified+v.req.ETag != ""), HTTP: status}
	if ans.Status.Code != model.ProtocolSuccess && ans.Status.Code != model.ProtocolNotModified {
		ans.Status.Message = strings.TrimSpace(fmt.Sprintf("%d %s", status, reason(status, ev.ResponseStatusText)))
		ans.RetryAfter = libhttp.RetryAfter(ans.Headers.First("Retry-After"), ans.Headers.First("Date"), time.Now())
	}
	if ip, _ := v.g.peer(hostPort(v.u)); v.f.cfg.HTTP.ProxyHost == "" {
		ans.IP = ip
	}
	v.mu.Lock()
	ans.RawRequest = textRequest(v.method, v.u, v.sent)
	v.mu.Unlock()
	ans.RawResponse = textResponse(status, ev.ResponseStatusText, ev.ResponseHeaders)
	return ans
}
