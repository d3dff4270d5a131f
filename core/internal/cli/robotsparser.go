package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/gonutch/crawler/core/internal/checker"
	"github.com/gonutch/crawler/core/internal/crawl"
	"github.com/gonutch/crawler/core/internal/robots"
	"github.com/gonutch/crawler/core/internal/step/fetch"
	"github.com/gonutch/crawler/core/internal/urlkey"
)

func robotsParserCommand() *command {
	return &command{
		name: "robotsparser", args: "(ROBOTS-FILE | ROBOTS-URL) (URL-FILE | - | URL) [AGENT,AGENT…]", group: "Checkers", nutch: true,
		short: "Say which URLs a robots.txt lets agents fetch, and which line decides",
		prepare: func(inv *invocation) func(context.Context, []string) error {
			return func(ctx context.Context, args []string) error {
				if len(args) < 2 || len(args) > 3 {
					return usagef("want a robots.txt (file or URL), a file with one URL a line (- is standard input), and optionally the agents' names")
				}
				p, err := inv.robotsParser(args)
				if err != nil {
					return err
				}
				in, done, err := inv.urlLines(args[1])
				if err != nil {
					return err
				}
				return errors.Join(p.run(ctx, args[0], in), done())
			}
		},
	}
}

// robotsParser judges URLs by one robots.txt.
type robotsParser struct {
	inv    *invocation
	cfg    fetch.RobotsConfig
	agents []string
}

func (inv *invocation) robotsParser(args []string) (*robotsParser, error) {
	cfg, err := inv.load()
	if err != nil {
		return nil, err
	}
	f, err := fetch.LoadConfig(cfg, nil)
	if err != nil {
		return nil, err
	}
	p := &robotsParser{inv: inv, cfg: f.Robots, agents: f.Robots.Agents}
	if len(args) > 2 { //nolint:mnd // the third is optional
		p.agents = robots.Agents("", strings.Split(args[2], ","))
		if len(p.agents) == 0 && strings.TrimSpace(args[2]) != "*" {
			return nil, usagef("no agent in %q: want names separated by commas, or * for the rules for everybody", args[2])
		}
	} else if len(p.agents) == 0 {
		return nil, usagef("no agent: name agents behind the URLs (* for the rules for everybody), or set http.agent_name")
	}
	return p, nil
}

// urlLines opens what has the URLs: a file, standard input, or a URL itself.
func (inv *invocation) urlLines(name string) (*checkInput, func() error, error) {
	nothing := func() error { return nil }
	switch {
	case name == "-":
		return &checkInput{r: bufio.NewReaderSize(inv.app.Stdin, 64<<10)}, nothing, nil
	case strings.Contains(name, "://"):
		return &checkInput{args: []string{name}}, nothing, nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, nil, fmt.Errorf("read URLs: %w", err)
	}
	return &checkInput{r: bufio.NewReaderSize(f, 64<<10)}, f.Close, nil
}

func (p *robotsParser) run(ctx context.Context, source string, in *checkInput) error {
	if !robots.Governs(source) {
		rules, err := p.file(source)
		if err != nil {
			return err
		}
		out := p.inv.checkOutput()
		return out.close(p.judge(ctx, rules, in, out))
	}
	if u, err := url.Parse(source); err == nil && (u.Path == "" || u.Path == "/") {
		source, _ = robots.URLFor(source)
	}
	return p.inv.check(ctx, []string{source}, &checkFlags{}, func(ctx context.Context, c *crawl.Crawl, _ *checkInput, out *checkOutput) error {
		if err := c.Config.RequireAgent(); err != nil {
			return err
		}
		e, err := checker.Robots(ctx, c, &p.cfg, source)
		if err != nil {
			return err
		}
		if e.State != robots.Found {
			fmt.Fprintf(p.inv.app.Stderr, "robots.txt is %s: %s\n", e.State, e.Reason)
		}
		return p.judge(ctx, e.Rules(p.agents), in, out)
	})
}

// file reads rules from a file; what a host may say at most is read.
func (p *robotsParser) file(name string) (*robots.Rules, error) {
	if u, err := url.Parse(name); err == nil && u.Scheme == "file" {
		name = u.Path
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("read robots.txt: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(f, robots.MaxBytes+1))
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("read robots.txt: %w", err)
	}
	return robots.Parse(text, p.agents), nil
}

// robotsVerdict is the answer to one URL in JSON.
type robotsVerdict struct {
	URL         string `json:"url"`
	Allowed     bool   `json:"allowed"`
	Allowlisted bool   `json:"allowlisted,omitempty"` // by http.robots_rules_allowlist
	Agent       string `json:"agent,omitempty"`       // whose group decided
	Line        int    `json:"line,omitempty"`        // of the rule
	Rule        string `json:"rule,omitempty"`
	Error       string `json:"error,omitempty"`
}

func (p *robotsParser) judge(ctx context.Context, r *robots.Rules, in *checkInput, out *checkOutput) error {
	p.describe(r)
	return checkBatches(ctx, in, out, func(_ context.Context, lines []checkLine) error {
		for _, l := range lines {
			text := strings.TrimSpace(l.text)
			if text == "" || strings.HasPrefix(text, "#") {
				continue
			}
			v := p.verdict(r, text)
			v.Error = l.problem()
			if err := out.put(v, v.String(), v.Error != ""); err != nil {
				return err
			}
		}
		return nil
	})
}

// describe tells people what holds for all URLs.
func (p *robotsParser) describe(r *robots.Rules) {
	var facts []string
	switch r.Agent {
	case "":
		facts = append(facts, "no group applies")
	default:
		facts = append(facts, "the group for "+visible(r.Agent)+" applies")
	}
	if r.CrawlDelay > 0 {
		facts = append(facts, "crawl delay "+r.CrawlDelay.Round(time.Millisecond).String())
	}
	if n := len(r.Sitemaps); n > 0 {
		facts = append(facts, plural(int64(n), "sitemap"))
	}
	if r.Truncated {
		facts = append(facts, fmt.Sprintf("cut at %s", size(robots.MaxBytes)))
	}
	fmt.Fprintf(p.inv.app.Stderr, "robots.txt: %s\n", strings.Join(facts, ", "))
}

func (p *robotsParser) verdict(r *robots.Rules, url string) robotsVerdict {
	v := robotsVerdict{URL: url}
	if p.cfg.Allowlist[urlkey.Host(url)] {
		v.Allowed, v.Allowlisted = true, true
		return v
	}
	x := r.Check(url)
	v.Allowed, v.Agent, v.Line, v.Rule = x.Allowed, x.Agent, x.Line, x.Rule
	return v
}

// String is Nutch's line, and what decided behind another tab.
func (v robotsVerdict) String() string {
	word, why := "not allowed:", "no URL"
	switch {
	case v.Error != "":
		word, why = "!", v.Error
	case v.Allowlisted:
		word, why = "allowlisted:", "http.robots_rules_allowlist"
	case v.Allowed:
		word, why = "allowed:", "no rule matches"
	}
	switch {
	case v.Line > 0:
		why = fmt.Sprintf("line %d: %s", v.Line, v.Rule)
	case v.Rule != "":
		why = v.Rule
	}
	return word + "\t" + visible(cutBytes(v.URL)) + "\t" + visible(why)
}
