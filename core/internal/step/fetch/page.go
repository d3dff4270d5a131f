package fetch

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gonutch/crawler/core/internal/db/transition"
	"github.com/gonutch/crawler/core/internal/frontier"
	"github.com/gonutch/crawler/core/internal/mimetype"
	"github.com/gonutch/crawler/core/internal/segment"
	"github.com/gonutch/crawler/core/internal/urlkey"
	"github.com/gonutch/crawler/sdk/extension/protocol"
	"github.com/gonutch/crawler/sdk/extension/publisher"
	"github.com/gonutch/crawler/sdk/model"
)

// page asks for the item's URL and sends the outcome to the sink.
func (e *Engine) page(ctx context.Context, it frontier.Item[job]) error {
	item := it.Payload.item
	if err := e.budget.Acquire(ctx, e.reserv); err != nil {
		e.front.PushBack(it, e.deps.Now(), false)
		return nil //nolint:nilerr // only the end of ctx, which is for Run to report
	}
	held := e.reserv
	e.publish(publisher.Start, item.URL, nil)
	req := e.request(item)
	resp, err := e.deps.Fetcher.Fetch(ctx, req)
	now := e.deps.Now()
	if err != nil {
		e.budget.Release(held)
		e.front.PushBack(it, now, true)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // the end of ctx is for Run to report
		}
		return fmt.Errorf("fetch %s: %w", item.URL, err)
	}
	size := int64(len(resp.Body))
	for i := range resp.Attachments {
		size += int64(len(resp.Attachments[i].Body))
	}
	if more := min(size, e.cfg.MaxBytesInFlight/2) - held; more > 0 {
		if err := e.budget.Acquire(ctx, more); err == nil {
			held += more
		}
	}
	o := e.outcome(item, resp, now)
	var once sync.Once
	o.free = func() { once.Do(func() { e.budget.Release(held) }) }
	result := frontier.Answered
	switch {
	case strings.HasPrefix(it.URL, "file:"):
		result = frontier.NotAsked // no host to be polite to
	case o.RetryAfter > 0:
		e.hold(it.Queue, now.Add(o.RetryAfter), "retry_after", now)
	case resp.Status.Code == model.ProtocolException, resp.Status.Code == model.ProtocolRetry, resp.Status.Code == model.ProtocolFailed:
		result = frontier.Failed
	}
	back := e.front.Done(it, now, result)
	if len(back) > 0 && back[0].Reason == frontier.ReasonExceptions {
		e.hold(it.Queue, now.Add(e.cfg.Queue.BlockFor), "exceptions", now)
	}
	e.Stats.Fetched(o.Fetch.Status, resp)
	e.pace.took(int64(len(resp.Body)), e.cfg.Bandwidth, now)
	e.publish(publisher.End, item.URL, &o.Fetch)
	if err := e.deps.Sink(ctx, o); err != nil {
		o.Free()
		return err
	}
	return e.release(ctx, back)
}

// hold keeps a queue back, in this process and, by the store, in later ones.
func (e *Engine) hold(queue string, until time.Time, why string, now time.Time) {
	e.front.Hold(queue, until, why, now)
	if err := e.deps.Robots.Hold(queue, until, why); err != nil {
		e.deps.Log.Error("store hold of host", "host", queue, "error", err)
	}
}

func (e *Engine) request(item Item) *protocol.Request {
	req := &protocol.Request{URL: item.URL, Kind: item.Kind, MaxBytes: item.MaxBytes, Metadata: item.Hint.Metadata, AllowPrivate: e.allowPrivate(item.URL)}
	e.sheet(req)
	if s := item.Hint.Status; s == model.StatusDBFetched || s == model.StatusDBNotModified || s == model.StatusDBDuplicate {
		req.LastModified, req.ETag = item.Hint.LastModified, item.Hint.ETag
	}
	return req
}

// allowPrivate returns what the request may reach outside the public net: the
// host:port of the URL when a seed named it by address or as localhost.
func (e *Engine) allowPrivate(rawURL string) []string {
	if len(e.deps.AllowPrivate) == 0 {
		return nil
	}
	hp := urlkey.HostPort(rawURL)
	if !e.deps.AllowPrivate[hp] {
		return nil
	}
	return []string{hp}
}

// Record turns a response into the fetch record.
func Record(cfg Config, url string, resp *protocol.Response, now time.Time) segment.Fetch {
	f := segment.Fetch{
		URL: url, Status: transition.FetchStatus(resp.Status.Code), Protocol: resp.Status,
		FetchTime: resp.FetchTime, Elapsed: resp.Elapsed, ContentType: resp.ContentType, Truncated: resp.Truncated,
		ETag: resp.Headers.First("Etag"), LastModified: resp.Headers.First("Last-Modified"), Location: resp.Location,
		ProtocolVersion: resp.Protocol, Headers: resp.Headers, Size: int64(len(resp.Body)),
	}
	if f.FetchTime.IsZero() || f.FetchTime.After(now) {
		f.FetchTime = now
	}
	f.IP = resp.IP
	cfg.describe(&f, resp)
	if f.Status == model.StatusFetchSuccess {
		f.MIMEType = mimetype.Detect(resp.ContentType, url, resp.Body, cfg.Magic)
	}
	return f
}

// outcome is what a response means for the fetch.
func (e *Engine) outcome(item Item, resp *protocol.Response, now time.Time) *Outcome {
	f := Record(e.cfg, item.URL, resp, now)
	o := &Outcome{Item: item, Response: resp}
	switch f.Status {
	case model.StatusFetchRedirTemp, model.StatusFetchRedirPerm:
		o.Follow = item.Hops < e.cfg.RedirectMax && resp.Location != ""
		o.Exceeded = e.cfg.RedirectMax > 0 && e.cfg.RedirectSkip && item.Hops >= e.cfg.RedirectMax
	case model.StatusFetchRetry:
		// Without an answer it is the plugin that wants to be left alone, such as until it
		// may log in again.
		if h := resp.Status.HTTP; h == 429 || h == 503 || h == 0 && resp.RetryAfter > 0 {
			o.RetryAfter = min(resp.RetryAfter, e.cfg.RetryAfterMax)
			if resp.RetryAfter <= 0 && h == 429 {
				o.RetryAfter = e.cfg.RetryAfterDefault
			}
		}
	}
	if o.RetryAfter > 0 {
		// Kept with the record: a later process, or updatedb, has to know it too.
		if f.Metadata == nil {
			f.Metadata = model.Metadata{}
		}
		f.Metadata.Set(segment.MetaRetryAfter, strconv.FormatInt(int64((o.RetryAfter+time.Second-1)/time.Second), 10))
	}
	o.Fetch = f
	return o
}

// describe adds to the record's metadata what the settings ask for, under
// Nutch's names.
func (c *Config) describe(f *segment.Fetch, resp *protocol.Response) {
	set := func(on bool, key, value string) {
		if !on || value == "" {
			return
		}
		if f.Metadata == nil {
			f.Metadata = model.Metadata{}
		}
		f.Metadata.Set(key, value)
	}
	set(c.StoreRequest, "_request_", string(resp.RawRequest))
	set(c.StoreHeaders, "_response.headers_", string(resp.RawResponse))
	set(c.StoreVersions, "_protocol.versions_", resp.Protocol)
}

func (e *Engine) publish(typ publisher.EventType, rawURL string, f *segment.Fetch) {
	if !e.cfg.Publish {
		return
	}
	ev := publisher.Event{Type: typ, URL: rawURL, Time: e.deps.Now()}
	if f != nil {
		ev.Data = model.Metadata{"status": {f.Status.String()}, "contentType": {f.ContentType}, "size": {strconv.FormatInt(f.Size, 10)}}
	}
	e.deps.Fetcher.Publish(ev)
}
