package protocolbrowser

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/fetch"
	cdpio "github.com/chromedp/cdproto/io"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"

	"github.com/gonutch/crawler/plugins/internal/libaddr"
	"github.com/gonutch/crawler/sdk/extension/protocol"
	"github.com/gonutch/crawler/sdk/model"
)

// isHTML reports whether an answer is a page to show. Downloads are not, whatever their type.
func isHTML(h model.Metadata) bool {
	if d, _, _ := mime.ParseMediaType(h.First("Content-Disposition")); d == "attachment" {
		return false
	}
	t, _, _ := strings.Cut(h.First("Content-Type"), ";")
	t = strings.ToLower(strings.TrimSpace(t))
	return t == "text/html" || t == "application/xhtml+xml"
}

func (v *visit) limit() int64 {
	limit := int64(v.f.cfg.HTTP.ContentLimit)
	if v.req.MaxBytes != 0 {
		limit = v.req.MaxBytes
	}
	if limit < 0 {
		limit = math.MaxInt64 - 1
	}
	return limit
}

// raw takes the body of an answer that is not to be shown as it came.
func (v *visit) raw(ctx context.Context, ev *fetch.EventRequestPaused, ans *protocol.Response) {
	s, err := cdp.Call(ctx, v.t, fetch.TakeResponseBodyAsStream, fetch.TakeResponseBodyAsStreamParams{RequestID: ev.RequestID})
	if err != nil {
		if ans.Status.HTTP != http.StatusNoContent {
			ans.Truncated = "disconnect"
		}
		return
	}
	limit := v.limit()
	for {
		if time.Now().After(v.deadline) {
			ans.Truncated = "time"
			return
		}
		r, err := cdp.Call(ctx, v.t, cdpio.Read, cdpio.ReadParams{Handle: s.Stream, Size: 256 << 10})
		if err != nil {
			ans.Truncated = "disconnect"
			return
		}
		ans.Body = append(ans.Body, r.Data...)
		if int64(len(ans.Body)) > limit {
			ans.Body, ans.Truncated = ans.Body[:limit], "length"
			return
		}
		if r.EOF {
			return
		}
	}
}

// domScript returns the page as HTML, cut at so many UTF-16 units.
const domScript = `(() => {
	let s = '';
	for (const n of document.childNodes) s += n.nodeType === 1 ? n.outerHTML : new XMLSerializer().serializeToString(n) + '\n';
	return {html: s.slice(0, %d), size: s.length};
})()`

// take fills out with the page as it is now.
func (v *visit) take(ctx context.Context) error {
	var dom struct {
		HTML string `json:"html"`
		Size int64  `json:"size"`
	}
	limit := v.limit()
	text := fmt.Sprintf(domScript, min(limit, 1<<30))
	quick, cancel := context.WithTimeout(ctx, contentGrace/2)
	err := v.script(quick, true, text, &dom)
	cancel()
	if err != nil && ctx.Err() == nil {
		// A script that does not end keeps the page from answering.
		_ = call(ctx, v.t, runtime.TerminateExecution, cdp.Empty{})
		v.remark("a script did not end")
		err = v.script(ctx, true, text, &dom)
	}
	if err != nil {
		return fmt.Errorf("take the page's content: %w", err)
	}
	v.mu.Lock()
	if v.decided {
		v.handOver()
		v.mu.Unlock()
		return nil
	}
	v.decided = true
	v.handOver()
	loaded := v.loaded
	v.mu.Unlock()
	out := v.out
	out.Body = []byte(dom.HTML)
	switch {
	case int64(len(out.Body)) > limit:
		for limit > 0 && !utf8.RuneStart(out.Body[limit]) {
			limit--
		}
		out.Body, out.Truncated = out.Body[:limit], "length"
	case dom.Size > int64(len(dom.HTML)) && dom.Size > limit:
		out.Truncated = "length"
	case !loaded && time.Now().After(v.deadline):
		out.Truncated = "time"
	}
	v.asUTF8()
	return v.picture(ctx)
}

// asUTF8 makes the content type say what the content now is. The one that was sent stays
// under a name of the crawler's.
func (v *visit) asUTF8() {
	was := v.out.ContentType
	t, _, _ := strings.Cut(was, ";")
	now := strings.ToLower(strings.TrimSpace(t)) + "; charset=utf-8"
	v.out.ContentType = now
	if !strings.EqualFold(strings.ReplaceAll(was, " ", ""), strings.ReplaceAll(now, " ", "")) {
		h := v.out.Headers.Clone()
		h.Set("Content-Type", now)
		h.Set("X-Crawler-Content-Type", was)
		v.out.Headers = h
		v.out.RawResponse = bytes.Replace(v.out.RawResponse, []byte(": "+was+"\r\n"), []byte(": "+now+"\r\nX-Crawler-Content-Type: "+was+"\r\n"), 1)
	}
}

// maxPicture is how many pixels high a picture of a whole page is at most.
const maxPicture = 16384

// picture attaches a screenshot, if that is wanted.
func (v *visit) picture(ctx context.Context) error {
	kind := v.f.cfg.Own.Screenshot
	if kind == "none" {
		return nil
	}
	name, p := "view", page.CaptureScreenshotParams{Format: page.CaptureScreenshotFormatPng}
	if kind == "page" {
		name = "fullPage"
		m, err := cdp.Call(ctx, v.t, page.GetLayoutMetrics, cdp.Empty{})
		if err == nil && m.CSSContentSize != nil {
			beyond := true
			p.CaptureBeyondViewport = &beyond
			p.Clip = &page.Viewport{
				Width: min(max(m.CSSContentSize.Width, float64(v.f.plan.width)), maxPicture), Height: min(max(m.CSSContentSize.Height, 1), maxPicture), Scale: 1,
			}
		}
	}
	ctx, cancel := context.WithTimeout(ctx, contentGrace/2)
	defer cancel()
	shot, err := cdp.Call(ctx, v.t, page.CaptureScreenshot, p)
	switch {
	case err != nil:
		v.remark(fmt.Sprintf("no screenshot: %v", err))
	case int64(len(shot.Data)) > int64(v.f.cfg.Own.ScreenshotLimit):
		v.remark(fmt.Sprintf("screenshot of %d bytes dropped (screenshot_limit)", len(shot.Data)))
	default:
		v.out.Attachments = append(v.out.Attachments, protocol.Attachment{Name: name, ContentType: "image/png", Body: shot.Data})
	}
	return nil
}

// remark notes something for the report.
func (v *visit) remark(text string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.notes) < 20 {
		v.notes = append(v.notes, text)
	}
}

// Headers that say what a page took besides itself.
const (
	headerRequests = "X-Crawler-Browser-Requests" // sub-requests made
	headerHosts    = "X-Crawler-Browser-Hosts"    // other hosts and requests to each
	headerRefused  = "X-Crawler-Browser-Refused"  // requests not made, by reason
	headerNotes    = "X-Crawler-Browser-Notes"    // what went wrong on the page
)

// maxListed bounds the hosts and reasons that a report names.
const maxListed = 20

// report adds to the headers what the page took besides itself.
func (v *visit) report() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.out.Headers == nil {
		return
	}
	for key, err := range v.g.refusals() {
		if key != hostPort(v.u) {
			v.refused["connection to "+key+" ("+why(err)+")"]++
			v.f.cfg.Logger.Debug("connection of a page refused", "url", v.out.URL, "reason", err)
		}
	}
	h := v.out.Headers.Clone()
	add := func(name, value string) {
		if value == "" {
			return
		}
		h.Set(name, value)
		if head, ok := bytes.CutSuffix(v.out.RawResponse, []byte("\r\n\r\n")); ok {
			v.out.RawResponse = fmt.Appendf(nil, "%s\r\n%s: %s\r\n\r\n", head, name, value)
		}
	}
	add(headerRequests, strconv.Itoa(v.requests))
	add(headerHosts, tally(v.hosts))
	add(headerRefused, tally(v.refused))
	add(headerNotes, headerText(strings.Join(v.notes, "; ")))
	v.out.Headers = h
	v.f.cfg.Logger.Debug("page shown", "url", v.out.URL, "requests", v.requests, "hosts", len(v.hosts), "refused", tally(v.refused), "bytes", v.g.bytes.Load())
}

// why is the reason of a refusal in few words.
func why(err error) string {
	if r := (*libaddr.Refused)(nil); errors.As(err, &r) {
		if r.Rule != "" {
			return r.Rule
		}
		return string(r.Class)
	}
	return err.Error()
}

// tally lists what was counted, most first.
func tally(counts map[string]int) string {
	keys := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		if counts[a] != counts[b] {
			return counts[b] - counts[a]
		}
		return strings.Compare(a, b)
	})
	var parts []string
	for i, k := range keys {
		if i == maxListed {
			parts = append(parts, fmt.Sprintf("%d more", len(keys)-i))
			break
		}
		parts = append(parts, fmt.Sprintf("%s=%d", headerText(k), counts[k]))
	}
	return strings.Join(parts, ", ")
}

// headerText is s as something that a header line can carry.
func headerText(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return ' '
		}
		return r
	}, s)
	return s[:min(len(s), 1000)]
}

func reason(status int, text string) string {
	if text == "" {
		return http.StatusText(status)
	}
	return text
}

// textRequest and textResponse write what the browser says of an exchange as HTTP/1.1
// text, which is how exchanges are kept in WARC files.
func textRequest(method string, u *url.URL, h network.Headers) []byte {
	b := fmt.Appendf(nil, "%s %s HTTP/1.1\r\nHost: %s\r\n", method, u.RequestURI(), u.Host)
	for _, name := range slices.Sorted(maps.Keys(h)) {
		if s, ok := h[name].(string); ok {
			b = fmt.Appendf(b, "%s: %s\r\n", name, s)
		}
	}
	return append(b, "\r\n"...)
}

func textResponse(status int, text string, h []*fetch.HeaderEntry) []byte {
	b := fmt.Appendf(nil, "HTTP/1.1 %03d %s\r\n", status, reason(status, text))
	for _, e := range h {
		for _, line := range strings.Split(e.Value, "\n") { // repeated headers come as one
			b = fmt.Appendf(b, "%s: %s\r\n", e.Name, strings.TrimRight(line, "\r"))
		}
	}
	return append(b, "\r\n"...)
}
