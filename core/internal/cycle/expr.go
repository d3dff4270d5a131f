package cycle

import (
	"strings"
	"sync"
	"time"

	"github.com/gonutch/crawler/core/internal/config"
	"github.com/gonutch/crawler/core/internal/db/crawldb"
	"github.com/gonutch/crawler/core/internal/db/hostdb"
	"github.com/gonutch/crawler/core/internal/urlkey"
	"github.com/gonutch/crawler/sdk/hclconf"
	"github.com/gonutch/crawler/sdk/jexl"
)

// compile reads the expressions of section generate.
func (g *GenerateConfig) compile(c *config.Config, records, hosts, count, delay string) error {
	var errs []error
	for _, x := range []struct {
		key, text string
		to        **jexl.Program
		compile   func(string) (*jexl.Program, error)
	}{
		{"generate.expr", records, &g.Expr, jexl.Compile},
		{"generate.hostdb_expr", hosts, &g.HostExpr, jexl.Compile},
		{"generate.max_count_expr", count, &g.MaxCountExpr, jexl.CompileNumber},
		{"generate.fetch_delay_expr", delay, &g.DelayExpr, jexl.CompileNumber},
	} {
		if strings.TrimSpace(x.text) == "" {
			continue
		}
		p, err := x.compile(x.text)
		if err != nil {
			errs = append(errs, c.Problem(x.key, -1, "%v", err))
			continue
		}
		*x.to = p
	}
	g.Signatures = strings.Contains(records, "signature")
	return hclconf.Merge(errs...)
}

// match is GenerateOptions.Match; nil without an expression. An expression that fails
// for a record is false (Nutch's rule).
func (g *GenerateConfig) match(failed func(setting, at string, err error)) func(urlkey.Key, *crawldb.Record) (bool, error) {
	if g.Expr == nil {
		return nil
	}
	return func(k urlkey.Key, r *crawldb.Record) (bool, error) {
		url, err := urlkey.ToURL(k)
		if err != nil {
			return false, err
		}
		yes, err := g.Expr.Run(crawldb.Variables(url, r))
		if err != nil {
			failed("generate.expr", url, err)
		}
		return yes && err == nil, nil
	}
}

// queueRule is GenerateOptions.Queue: sheets, and expressions over the HostDB, of which only
// the hosts are read that a round looks at. With generate.count_mode = "domain" a queue is what
// the HostDB has of the host that is called like the domain.
func (d *deps) queueRule(g *GenerateConfig, failed func(setting, at string, err error)) func(string) (crawldb.QueueRule, error) {
	sheets := d.cfg.Fetch.Sheets
	if g.HostExpr == nil && g.MaxCountExpr == nil && !sheets.Any() {
		return nil
	}
	return func(queue string) (rule crawldb.QueueRule, err error) {
		if s := sheets.Of(queue); s != nil && s.MaxCount.Set() {
			rule.MaxCount = s.MaxCount.V
			if s.MaxCount.V == 0 {
				rule.Reject = crawldb.RejectSheet
				return rule, nil
			}
		}
		if g.HostExpr == nil && (g.MaxCountExpr == nil || rule.MaxCount != 0) {
			return rule, nil
		}
		vars, err := d.hostVariables(queue)
		if err != nil {
			return rule, err
		}
		if g.HostExpr != nil {
			yes, err := g.HostExpr.Run(vars)
			if err != nil {
				failed("generate.hostdb_expr", queue, err)
			}
			if err != nil || !yes {
				rule.Reject = crawldb.RejectHostExpr
				return rule, nil //nolint:nilerr // documented: the host is left out
			}
		}
		if g.MaxCountExpr != nil && rule.MaxCount == 0 {
			n, err := g.MaxCountExpr.Number(vars)
			switch {
			case err != nil:
				failed("generate.max_count_expr", queue, err)
			case n >= 1:
				rule.MaxCount = int(min(n, 1<<31))
			default:
				rule.MaxCount = -1
			}
		}
		return rule, nil
	}
}

// exprFailures returns a function that counts expressions that fail, and one that
// tells of them: a line for each setting, with the first failure.
func (d *deps) exprFailures() (failed func(setting, at string, err error), tell func()) {
	type first struct {
		at  string
		err error
		n   int
	}
	sums := map[string]*first{}
	failed = func(setting, at string, err error) {
		if sums[setting] == nil {
			sums[setting] = &first{at: at, err: err}
		}
		sums[setting].n++
	}
	return failed, func() {
		for setting, f := range sums {
			d.Log.Warn("expression fails", "setting", setting, "count", f.n, "first", f.at, "error", f.err)
		}
	}
}

func (d *deps) hostVariables(host string) (map[string]any, error) {
	counts, err := d.Hosts.Counts(host)
	if err != nil {
		return nil, err
	}
	rec, err := d.Hosts.Get(host)
	if err != nil {
		return nil, err
	}
	return hostdb.Variables(host, counts, rec), nil
}

// Limits of what is remembered of generate.fetch_delay_expr.
const (
	delayHosts = 100_000
	delayTTL   = time.Minute
)

// delays is fetch.Deps.Delay; nil without an expression.
func (d *deps) delays() func(string) (time.Duration, bool) {
	p := d.cfg.Generate.DelayExpr
	if p == nil {
		return nil
	}
	type answer struct {
		delay time.Duration
		ok    bool
		until time.Time
	}
	var mu sync.Mutex
	known := map[string]answer{}
	return func(host string) (time.Duration, bool) {
		mu.Lock()
		defer mu.Unlock()
		now := d.now()
		if a, ok := known[host]; ok && now.Before(a.until) {
			return a.delay, a.ok
		}
		if len(known) >= delayHosts {
			clear(known)
		}
		a := answer{until: now.Add(delayTTL)}
		vars, err := d.hostVariables(host)
		if err != nil {
			d.Log.Warn("host can't be read; the configured delay holds", "host", host, "error", err)
		} else if ms, err := p.Number(vars); err == nil && ms >= 0 {
			a.delay, a.ok = time.Duration(min(ms, maxDelayMillis)*float64(time.Millisecond)), true
		}
		known[host] = a
		return a.delay, a.ok
	}
}

// maxDelayMillis bounds what an expression may ask for: a day.
const maxDelayMillis = 24 * 60 * 60 * 1000
