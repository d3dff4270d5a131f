package cycle

import (
	"context"
	"sync"
	"time"

	"github.com/gonutch/crawler/core/internal/step/fetch"
	"github.com/gonutch/crawler/core/internal/step/inject"
	"github.com/gonutch/crawler/core/internal/step/refilter"
	"github.com/gonutch/crawler/core/internal/step/sitemap"
	"github.com/gonutch/crawler/core/internal/urlkey"
	"github.com/gonutch/crawler/sdk/extension/protocol"
	"github.com/gonutch/crawler/sdk/model"
)

// SitemapOptions say which sitemaps are read.
type SitemapOptions struct {
	URLs  []string // sitemaps to read
	Hosts bool     // those of the CrawlDB's hosts
	// Change may change the settings; nil leaves them.
	Change func(*sitemap.Config)
}

// sitemapSegment marks the engine's items that are sitemaps: they belong to no
// segment.
const sitemapSegment = "sitemap"

// mapEngine is the fetch engine for sitemap.Reader.
type mapEngine struct{ *fetch.Engine }

func (e mapEngine) Ask(ctx context.Context, reqs ...sitemap.Request) error {
	items := make([]fetch.Item, len(reqs))
	for i, r := range reqs {
		items[i] = fetch.Item{
			Segment: sitemapSegment, Key: urlkey.FromURL(r.URL), URL: r.URL, Hops: r.Hops, Kind: protocol.Sitemap, MaxBytes: r.MaxBytes,
		}
	}
	return e.Add(ctx, items...)
}

func (d *deps) sitemapReader(eng *fetch.Engine) *sitemap.Reader {
	return sitemap.New(d.cfg.Sitemap, sitemap.Deps{
		DB: d.DB, Hosts: d.Hosts, Plugins: d.Chains, Engine: mapEngine{eng}, Agents: d.cfg.Fetch.Robots.Agents, Rules: d.cfg.Update.Rules, Now: d.now,
	})
}

// sitemapSink counts and logs a request for a sitemap and hands it to its reader.
func (d *deps) sitemapSink(ctx context.Context, r *sitemap.Reader, o *fetch.Outcome) error {
	defer o.Free()
	if o.Extra {
		return nil
	}
	f := &o.Fetch
	a := sitemap.Answer{Request: sitemap.Request{URL: o.Item.URL, Hops: o.Item.Hops}, PutOff: string(o.Released)}
	switch {
	case a.PutOff != "":
		return r.Answer(ctx, a)
	case f.Status == model.StatusFetchSuccess && o.Response != nil:
		a.Content = f.Content(o.Response.Body)
	case f.Status == model.StatusFetchRedirPerm, f.Status == model.StatusFetchRedirTemp:
		a.Redirect = f.Location
		fallthrough
	default:
		a.Failed, a.Retry = f.Protocol.Code.String(), f.Status == model.StatusFetchRetry
	}
	d.logFetch(o)
	if err := d.Store.UpdateNoSync(ctx, hostCounts([]*fetch.Outcome{o})); err != nil {
		return err
	}
	return r.Answer(ctx, a)
}

// Sitemaps is "crawler sitemap": it brings the URLs of sitemaps into the CrawlDB.
// Closing stop ends it gently.
func (c *Cycle) Sitemaps(ctx context.Context, o SitemapOptions, stop <-chan struct{}) (sitemap.Report, error) {
	d := c.d
	if o.Change != nil {
		o.Change(&d.cfg.Sitemap)
	}
	if _, err := refilter.Changed(ctx, d.DB, d.Chains.Fingerprint()); err != nil {
		return sitemap.Report{}, err
	}
	allow, err := inject.AllowPrivate(ctx, d.Store)
	if err != nil {
		return sitemap.Report{}, err
	}
	for _, u := range o.URLs {
		if hp := inject.Private(u); hp != "" {
			allow[hp] = true
		}
	}
	var r *sitemap.Reader
	eng := d.engine(func(ctx context.Context, o *fetch.Outcome) error { return d.sitemapSink(ctx, r, o) }, allow)
	r = d.sitemapReader(eng)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	var ferr error
	wg.Go(func() {
		if ferr = eng.Run(ctx); ferr != nil {
			cancel(ferr)
		}
	})
	err = readSitemaps(ctx, r, o, stop)
	if err != nil {
		cancel(err)
	}
	eng.Stop() // nothing is left, or nothing is wanted
	wg.Wait()
	if err == nil {
		err = ferr
	}
	d.log.flush()
	return r.Report(), err
}

func readSitemaps(ctx context.Context, r *sitemap.Reader, o SitemapOptions, stop <-chan struct{}) error {
	if err := r.Given(ctx, o.URLs...); err != nil {
		return err
	}
	for after, more := "", o.Hosts; more; {
		var err error
		if after, err = r.Hosts(ctx, false, after); err != nil {
			return err
		}
		if err := r.Wait(ctx, stop); err != nil {
			return err
		}
		select {
		case <-stop:
			return nil
		default:
		}
		more = after != ""
	}
	return r.Wait(ctx, stop)
}

// sitemaps asks for the sitemaps of hosts that are due (sitemap.from_hostdb), and waits for
// them unless a round is fetched meanwhile: they wait for their hosts' turns
// in the same engine.
func (r *Runner) sitemaps(ctx context.Context) error {
	s := r.pipe.sitemaps
	start := r.d.now()
	if s == nil || len(r.active) > 0 && start.Before(r.nextMaps) {
		return nil
	}
	if _, err := s.Hosts(ctx, true, ""); err != nil {
		return err
	}
	// Looking through many hosts must not become what a crawl spends its time on.
	took := r.d.now().Sub(start)
	r.nextMaps = start.Add(20*took + time.Second)
	if len(r.active) == 0 {
		r.setStep("sitemap")
		if err := s.Wait(ctx, r.stop); err != nil {
			return err
		}
	}
	rep := s.Report()
	r.sum.change(func(out *Report) { out.Sitemaps = &rep })
	return nil
}
