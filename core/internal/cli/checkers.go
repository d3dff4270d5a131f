package cli

import (
	"context"
	"errors"
	"flag"
	"slices"
	"strings"

	"github.com/gonutch/crawler/core/internal/config"
	"github.com/gonutch/crawler/core/internal/crawl"
	"github.com/gonutch/crawler/sdk/hclconf"
	"github.com/gonutch/crawler/sdk/manifest"
)

// checkFlags are the options of all checkers.
type checkFlags struct {
	plugin string
	stdin  bool
	steps  bool
	points []string          // that the checker is about
	only   map[string]string // point → id of the one plugin that was named
	also   []string          // points whose plugins are started, too
	store  bool              // the crawl directory is needed
}

func (f *checkFlags) register(fs *flag.FlagSet) {
	fs.StringVar(&f.plugin, "plugin", "", "`ID` of the one plugin to check instead of the whole chain; it need not be among the chosen ones")
	fs.BoolVar(&f.stdin, "stdin", false, "check the lines of standard input; one line is printed for each")
}

// check opens the plugins that a checker needs, without a crawl directory, and
// calls do.
func (inv *invocation) check(ctx context.Context, args []string, f *checkFlags,
	do func(context.Context, *crawl.Crawl, *checkInput, *checkOutput) error,
) error {
	in, err := inv.inputOf(args, f.stdin)
	if err != nil {
		return err
	}
	f.stdin = in.r != nil
	cfg, err := inv.loadChosen(f)
	if err != nil {
		return err
	}
	ctx, stop := inv.interruptible(ctx)
	defer stop()
	c, err := crawl.Open(ctx, crawl.Options{
		Config: cfg, Builtins: inv.app.Builtins, Log: inv.quietLog(cfg), Command: "crawler " + inv.cmd, NoStore: !f.store, Only: f.only,
		Version: inv.app.Version, Local: inv.app.local,
	})
	if err != nil {
		return asConfig(err)
	}
	err = startPoints(ctx, c, append(slices.Clone(f.points), f.also...))
	if err == nil {
		out := inv.checkOutput()
		err = out.close(do(ctx, c, in, out))
	}
	return errors.Join(err, c.Close(context.WithoutCancel(ctx)))
}

// interruptible returns a context that the first Ctrl-C ends: there is nothing
// to finish gently.
func (inv *invocation) interruptible(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-inv.app.Interrupts:
			inv.interrupted.Store(true)
			cancel(errors.New("stopped"))
		case <-done:
		}
	}()
	return ctx, func() {
		close(done)
		<-ended
		cancel(nil)
	}
}

// loadChosen reads the configuration. When one plugin was named it is chosen, and
// f.only says that it stands alone at its points.
func (inv *invocation) loadChosen(f *checkFlags) (*config.Config, error) {
	cfg, err := inv.load()
	if err != nil || f.plugin == "" {
		return cfg, err
	}
	manifests, choice, err := inv.plugins(cfg)
	if err != nil {
		return nil, err
	}
	f.only = map[string]string{}
	var found *manifest.Manifest
	var ids []string
	for _, point := range f.points {
		if m := config.Provider(f.plugin, point, manifests); m != nil && (found == nil || found.ID == m.ID) {
			found = m
			f.only[point] = m.ID
		}
		for _, m := range manifests {
			if _, ok := m.Provided(point); ok && !slices.Contains(ids, m.ID) {
				ids = append(ids, m.ID)
			}
		}
	}
	if f.only[manifest.ParseFilter] != "" {
		delete(f.only, manifest.Parser) // its filter is to see documents that others parse
	}
	if found == nil {
		return nil, usagef("there is no plugin %q for %s%s", f.plugin, strings.Join(f.points, " or "), hclconf.DidYouMean(f.plugin, ids))
	}
	if slices.Contains(choice.Plugins, found) {
		return cfg, nil
	}
	var p struct {
		Add []string `hcl:"add"`
	}
	if err := cfg.Decode("plugin", &p); err != nil {
		return nil, err
	}
	inv.sets = append(inv.sets, "plugin.add="+strings.Join(append(p.Add, found.ID), ","))
	return inv.load()
}

// startPoints starts the plugins of the points, so that a mistake in their settings
// shows at once and as one of the configuration.
func startPoints(ctx context.Context, c *crawl.Crawl, points []string) error {
	if c.Host == nil {
		return nil // inside this process
	}
	var ids []string
	for _, pc := range c.Chains.Resolved() {
		if slices.Contains(points, pc.Point) {
			ids = append(ids, pc.Plugins...)
		}
	}
	slices.Sort(ids)
	return asConfig(c.Host.Start(ctx, slices.Compact(ids)))
}
