package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/gonutch/crawler/core/internal/cycle"
	"github.com/gonutch/crawler/core/internal/step/inject"
	"github.com/gonutch/crawler/core/internal/step/sitemap"
)

func sitemapCommand() *command {
	return &command{
		name: "sitemap", args: "[SITEMAPS…]", short: "Bring the URLs of sitemaps into the CrawlDB", group: "Single steps", nutch: true,
		prepare: func(inv *invocation) func(context.Context, []string) error {
			var lists multi
			inv.fs.Var(&lists, "sitemap-urls", "`FILE`, folder or - with URLs of sitemaps, or such a URL, instead of known hosts' sitemaps; repeatable")
			hosts := inv.fs.Bool("hosts", false, "besides named sitemaps read those of all known hosts")
			hostdb := inv.fs.String("hostdb", "", "the same, as Nutch has it; `PATH` does not matter")
			threads := inv.fs.Int("threads", 0, "requests at once (default: fetcher.threads_fetch)")
			noStrict := inv.fs.Bool("no-strict", false, "sitemaps may name URLs anywhere")
			noFilter := inv.fs.Bool("no-filter", false, "leave the URL filters out")
			noNormalize := inv.fs.Bool("no-normalize", false, "leave the normalizers out")
			overwrite := inv.fs.Bool("overwrite", false, "known URLs take score, interval and modification time, too")
			return func(ctx context.Context, args []string) error {
				if len(args) > 0 && isDir(args[0]) { // Nutch: <crawldb>
					inv.positionalDir(args[0])
					args = args[1:]
				}
				inv.override("fetcher.threads_fetch", *threads)
				urls, err := sitemapURLs(append(lists, args...), inv.app.Stdin)
				if err != nil {
					return err
				}
				return inv.sitemaps(ctx, cycle.SitemapOptions{
					URLs: urls, Hosts: len(urls) == 0 || *hosts || *hostdb != "",
					Change: func(c *sitemap.Config) {
						c.Strict = c.Strict && !*noStrict
						c.Filter = c.Filter && !*noFilter
						c.Normalize = c.Normalize && !*noNormalize
						c.Overwrite = c.Overwrite || *overwrite
					},
				})
			}
		},
	}
}

// sitemapURLs reads lists of sitemaps, which look like lists of seeds.
func sitemapURLs(sources []string, stdin io.Reader) ([]string, error) {
	if len(sources) == 0 {
		return nil, nil
	}
	list, err := inject.Read(sources, stdin)
	if err != nil {
		return nil, err
	}
	var urls []string
	for _, s := range list {
		urls = append(urls, s.URL)
	}
	return urls, nil
}

func (inv *invocation) sitemaps(ctx context.Context, o cycle.SitemapOptions) error {
	cfg, err := inv.load()
	if err != nil {
		return err
	}
	if err := cfg.RequireAgent(); err != nil {
		return err
	}
	s, err := inv.open(ctx, cfg, len(o.URLs) == 0)
	if err != nil {
		return err
	}
	end := s.serve(ctx, nil, true)
	rep, err := s.cycle.Sitemaps(ctx, o, inv.app.Interrupts)
	if perr := inv.print(rep, func(w io.Writer) { (&reportPrinter{w: w}).sitemaps(&rep) }); err == nil {
		err = perr
	}
	end()
	err = errors.Join(err, s.close(ctx))
	if err != nil {
		return err
	}
	switch {
	case rep.Sitemaps > 0:
		return nil
	case len(o.URLs) > 0:
		return fmt.Errorf("none of the sitemaps could be read")
	}
	return errNothing
}
