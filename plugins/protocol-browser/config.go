package protocolbrowser

import (
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/chromedp/cdproto/network"

	"github.com/gonutch/crawler/plugins/internal/libaddr"
	"github.com/gonutch/crawler/plugins/internal/libhttp"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/setting"
)

// Config is everything the plugin can be told.
type Config struct {
	HTTP    libhttp.HTTPConfig
	Own     OwnConfig
	DataDir string       // for the browser's profile; "": the system's temporary folder
	Logger  hclog.Logger // not nil
	// Lookup resolves host names; nil is the system's resolver. For tests.
	Lookup libaddr.LookupFunc

	machine sandbox
}

// OwnConfig is the plugin's own block.
type OwnConfig struct {
	Path            string           `json:"path"`
	Sandbox         bool             `json:"sandbox"`
	Pages           int              `json:"pages"`
	RestartAfter    int              `json:"restart_after"`
	PageTimeout     setting.Duration `json:"page_timeout"`
	Wait            []string         `json:"wait"`
	WaitTimeout     setting.Duration `json:"wait_timeout"`
	IdleTime        setting.Duration `json:"idle_time"`
	Steps           []string         `json:"steps"`
	JavaScript      bool             `json:"javascript"`
	Block           []string         `json:"block"`
	BlockURLs       []string         `json:"block_urls"`
	SubRequests     string           `json:"subrequests"`
	MaxRequests     int              `json:"max_requests"`
	MaxPageBytes    setting.Size     `json:"max_page_bytes"`
	MaxReloads      int              `json:"max_reloads"`
	Conditional     bool             `json:"conditional"`
	Window          string           `json:"window"`
	Screenshot      string           `json:"screenshot"`
	ScreenshotLimit setting.Size     `json:"screenshot_limit"`
}

// DefaultConfig returns the defaults, which are those of nutch-default.hcl and
// plugin.hcl; it has no agent and so does not validate.
func DefaultConfig() Config {
	return Config{
		HTTP:   libhttp.DefaultConfig().HTTP,
		Logger: hclog.NewNullLogger(), machine: thisMachine(),
		Own: OwnConfig{
			Sandbox: true, Pages: 4, RestartAfter: 500, PageTimeout: setting.Duration(40 * time.Second),
			Wait: []string{"load", "idle"}, WaitTimeout: setting.Duration(10 * time.Second), IdleTime: setting.Duration(500 * time.Millisecond),
			Steps: []string{}, JavaScript: true, Block: []string{"image", "media", "font"}, BlockURLs: []string{}, SubRequests: "all",
			MaxRequests: 500, MaxPageBytes: 64 << 20, MaxReloads: 2, Window: "1280x1024", Screenshot: "none", ScreenshotLimit: 8 << 20,
		},
	}
}

// plan is what the settings say, ready for use.
type plan struct {
	path          string
	wait          []wait
	steps         []step
	block         map[network.ResourceType]bool
	blockSockets  bool
	blockURLs     []*regexp.Regexp
	width, height int64
}

func invalid(format string, args ...any) error {
	return fault.Errorf(fault.Invalid, "plugin \"protocol-browser\": "+format, args...)
}

// candidates are the names that browsers which speak the DevTools protocol go by.
func candidates() []string {
	return []string{"chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome", "headless-shell"}
}

// FindBrowser returns the file of the browser that the setting path names, or of the first
// that the search path has. The error says what to install or set.
func FindBrowser(path string) (string, error) {
	if path != "" {
		file, err := exec.LookPath(path)
		if err != nil {
			return "", invalid("path = %q: %w", path, err)
		}
		return file, nil
	}
	for _, name := range candidates() {
		if file, err := exec.LookPath(name); err == nil {
			return file, nil
		}
	}
	return "", invalid("there is no browser: none of %s is in the search path; install Chromium (Debian: apt-get install chromium) or set path", strings.Join(candidates(), ", "))
}

// check validates c and prepares it for use.
func (c *Config) check() (*plan, error) {
	o, p := &c.Own, &plan{}
	var err error
	if p.path, err = FindBrowser(o.Path); err != nil {
		return nil, err
	}
	if o.Sandbox {
		if err := c.machine.usable(p.path); err != nil {
			return nil, invalid("%w", err)
		}
	} else {
		c.Logger.Warn("pages run without Chromium's sandbox (sandbox = false): one that breaks out of the browser has the rights of the crawler's user")
	}
	if err := o.checkNumbers(); err != nil {
		return nil, err
	}
	for _, w := range o.Wait {
		parsed, err := parseWait(w)
		if err != nil {
			return nil, invalid("wait: %w", err)
		}
		p.wait = append(p.wait, parsed)
	}
	if p.steps, err = parseSteps(o.Steps); err != nil {
		return nil, invalid("steps: %w", err)
	}
	if err := p.blocked(o); err != nil {
		return nil, err
	}
	if _, err := fmt.Sscanf(o.Window, "%dx%d", &p.width, &p.height); err != nil || p.width < 1 || p.height < 1 || p.width > 10_000 || p.height > 10_000 {
		return nil, invalid("window = %q: want width and height in pixels, such as \"1280x1024\"", o.Window)
	}
	if !slices.Contains([]string{"none", "window", "page"}, o.Screenshot) {
		return nil, invalid("screenshot = %q: want \"none\", \"window\" or \"page\"", o.Screenshot)
	}
	if !slices.Contains([]string{"all", "domain", "host"}, o.SubRequests) {
		return nil, invalid("subrequests = %q: want \"all\", \"domain\" or \"host\"", o.SubRequests)
	}
	return p, nil
}

func (o *OwnConfig) checkNumbers() error {
	for name, v := range map[string]int{"pages": o.Pages, "restart_after": o.RestartAfter} {
		if v < 1 || v > 1_000_000 {
			return invalid("%s = %d: must be between 1 and 1000000", name, v)
		}
	}
	for name, v := range map[string]int{"max_requests": o.MaxRequests, "max_reloads": o.MaxReloads} {
		if v < 0 {
			return invalid("%s = %d: must not be negative", name, v)
		}
	}
	for name, d := range map[string]setting.Duration{"page_timeout": o.PageTimeout, "wait_timeout": o.WaitTimeout, "idle_time": o.IdleTime} {
		if d <= 0 {
			return invalid("%s = %q: must be more than nothing, such as \"10s\"", name, d)
		}
	}
	for name, s := range map[string]setting.Size{"max_page_bytes": o.MaxPageBytes, "screenshot_limit": o.ScreenshotLimit} {
		if s <= 0 {
			return invalid("%s = %q: must be more than nothing, such as \"8MiB\"", name, s)
		}
	}
	return nil
}

func (p *plan) blocked(o *OwnConfig) error {
	types := map[string]network.ResourceType{
		"image": network.ResourceTypeImage, "media": network.ResourceTypeMedia, "font": network.ResourceTypeFont,
		"stylesheet": network.ResourceTypeStylesheet, "script": network.ResourceTypeScript, "xhr": network.ResourceTypeXHR,
		"fetch": network.ResourceTypeFetch, "eventsource": network.ResourceTypeEventSource, "websocket": network.ResourceTypeWebSocket,
		"manifest": network.ResourceTypeManifest, "ping": network.ResourceTypePing, "document": network.ResourceTypeDocument,
		"other": network.ResourceTypeOther,
	}
	p.block = map[network.ResourceType]bool{}
	for _, name := range o.Block {
		t, ok := types[strings.ToLower(name)]
		if !ok {
			return invalid("block: %q is no type of request; want one of image, media, font, stylesheet, script, xhr, fetch, eventsource, websocket, manifest, ping, document, other", name)
		}
		p.block[t] = true
		p.blockSockets = p.blockSockets || t == network.ResourceTypeWebSocket
	}
	for _, text := range o.BlockURLs {
		re, err := regexp.Compile(text)
		if err != nil {
			return invalid("block_urls: %w", err)
		}
		p.blockURLs = append(p.blockURLs, re)
	}
	return nil
}
