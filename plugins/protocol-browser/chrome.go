package protocolbrowser

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/hashicorp/go-hclog"

	"github.com/gonutch/crawler/sdk/fault"
)

// pool starts browsers: one at a time, a fresh one after so many pages or when the last
// one has ended. It is safe for concurrent use.
type pool struct {
	o       *Config
	path    string
	ua      string
	dataDir string

	mu     sync.Mutex
	cur    *chrome
	closed bool
	wg     sync.WaitGroup // of browsers that are being ended
}

// chrome is one running browser.
type chrome struct {
	ctx   context.Context //nolint:containedctx // chromedp keeps the browser in it
	end   func()
	users int // pages open; under the pool's lock
	used  int // pages opened so far
	old   bool
}

// profilePrefix names the folders of profiles in the data folder.
const profilePrefix = "browser-"

func newPool(o *Config, p *plan) (*pool, error) {
	dir := o.DataDir
	if dir == "" {
		dir = os.TempDir()
	} else {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("folder for the browser's profile: %w", err)
		}
		old, _ := filepath.Glob(filepath.Join(dir, profilePrefix+"*")) // of processes that were killed
		for _, d := range old {
			_ = os.RemoveAll(d)
		}
	}
	return &pool{o: o, path: p.path, ua: o.HTTP.UserAgent(), dataDir: dir}, nil
}

// languages turns an Accept-Language value into the list that Chromium takes, which
// makes weights of the order.
func languages(accept string) string {
	var out []string
	for _, part := range strings.Split(accept, ",") {
		tag, _, _ := strings.Cut(part, ";")
		if tag = strings.TrimSpace(tag); tag != "" && tag != "*" {
			out = append(out, tag)
		}
	}
	return strings.Join(out, ",")
}

// acquire returns the running browser, started if need be. The caller calls release
// once when its page is closed.
func (p *pool) acquire() (*chrome, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, fault.Errorf(fault.Shutdown, "the plugin is ending")
	}
	if c := p.cur; c != nil && (c.ctx.Err() != nil || c.used >= p.o.Own.RestartAfter) {
		p.retire(c)
	}
	if p.cur == nil {
		c, err := p.start()
		if err != nil {
			return nil, fault.Errorf(fault.Transient, "start the browser %s: %w", p.path, err)
		}
		p.cur = c
	}
	p.cur.users++
	p.cur.used++
	return p.cur, nil
}

// retire takes c out of use; it ends when its last page has. The lock is held.
func (p *pool) retire(c *chrome) {
	if p.cur == c {
		p.cur = nil
	}
	if !c.old {
		c.old = true
		if c.users == 0 {
			p.wg.Go(c.end)
		}
	}
}

func (p *pool) release(c *chrome) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c.users--
	if c.old && c.users == 0 {
		p.wg.Go(c.end)
	}
}

// close ends the browser whether or not pages are open, and waits until all
// processes are gone.
func (p *pool) close() {
	p.mu.Lock()
	p.closed = true
	if c := p.cur; c != nil {
		p.cur = nil
		if !c.old {
			c.old = true
			c.users = 1 << 30 // whoever has a page open does not end it a second time
			p.wg.Go(c.end)
		}
	}
	p.mu.Unlock()
	p.wg.Wait()
}

// start runs a browser in a profile of its own, whose way into the network is shut: only
// the contexts of pages have gates.
func (p *pool) start() (*chrome, error) {
	dir, err := os.MkdirTemp(p.dataDir, profilePrefix)
	if err != nil {
		return nil, err
	}
	shut, err := openGate(gateRules{
		dial:    func(context.Context, string, uint16) (net.Conn, error) { return nil, errGate("not for a page") },
		host:    func(string) error { return errGate("not for a page") },
		timeout: 10 * time.Second,
	})
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	out := &tail{log: p.o.Logger}
	options := append(chromedp.DefaultExecAllocatorOptions[:len(chromedp.DefaultExecAllocatorOptions):len(chromedp.DefaultExecAllocatorOptions)],
		chromedp.ExecPath(p.path), chromedp.UserDataDir(dir), chromedp.CombinedOutput(out),
		chromedp.Env("HOME="+dir, "XDG_CONFIG_HOME="+dir, "XDG_CACHE_HOME="+dir),
		chromedp.UserAgent(p.ua))
	for name, value := range p.flags(shut) {
		options = append(options, chromedp.Flag(name, value))
	}
	actx, stop := chromedp.NewExecAllocator(context.Background(), options...)
	quiet := func(format string, args ...any) { p.o.Logger.Trace("browser", "message", fmt.Sprintf(format, args...)) }
	ctx, cancel := chromedp.NewContext(actx, chromedp.WithLogf(quiet), chromedp.WithErrorf(quiet))
	end := func() {
		// Gracefully first; stop kills what is left and waits for it.
		grace, done := context.WithTimeout(ctx, 5*time.Second)
		_ = chromedp.Cancel(grace)
		done()
		cancel()
		stop()
		shut.close()
		_ = os.RemoveAll(dir)
	}
	if _, err := chromedp.Run(ctx, chromedp.Navigate("about:blank")); err != nil {
		end()
		if text := out.String(); text != "" {
			err = fmt.Errorf("%w; it said: %s", err, text)
		}
		return nil, err
	}
	p.o.Logger.Debug("browser started", "path", p.path, "pid", chromedp.FromContext(ctx).Browser.Process().Pid)
	return &chrome{ctx: ctx, end: sync.OnceFunc(end)}, nil
}

// flags are the command line besides chromedp's. Whatever could leave the gates is turned
// off twice: by taking away its address (a proxy for everything, no resolver) and by
// name.
func (p *pool) flags(shut *gate) map[string]any {
	f := map[string]any{
		"proxy-server": shut.proxy(), "proxy-bypass-list": "<-loopback>",
		"host-resolver-rules": "MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
		"disable-quic":        true, "dns-prefetch-disable": true, "no-pings": true,
		"webrtc-ip-handling-policy":       "disable_non_proxied_udp",
		"force-webrtc-ip-handling-policy": "disable_non_proxied_udp",
		"disable-component-update":        true, "disable-domain-reliability": true, "no-service-autorun": true,
		"block-new-web-contents": true, "disable-popup-blocking": false, "deny-permission-prompts": true, "no-sandbox": !p.o.Own.Sandbox,
		"disable-gpu": true, "disable-notifications": true, "disable-remote-fonts": false,
		// One target for a page with its frames, so that one listener sees it all.
		"disable-site-isolation-trials": true,
		"disable-features":              "Translate,IsolateOrigins,site-per-process,OptimizationHints,MediaRouter,DialMediaRouteProvider,AutofillServerCommunication,CertificateTransparencyComponentUpdater,InterestFeedContentSuggestions,WebTransport,Prerender2,SpeculationRulesPrefetchProxy",
	}
	if !p.o.HTTP.TLSCertificatesCheck {
		f["ignore-certificate-errors"] = true
	}
	return f
}

// tail keeps the end of what the browser prints, for messages.
type tail struct {
	log hclog.Logger
	mu  sync.Mutex
	b   []byte
}

const tailBytes = 2000

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.log.Trace("browser output", "text", string(bytes.TrimSpace(p)))
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, p...)
	if n := len(t.b) - tailBytes; n > 0 {
		t.b = append(t.b[:0], t.b[n:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Join(strings.Fields(string(t.b)), " ")
}
